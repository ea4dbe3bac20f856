/** The calls of a device over a stretch of time, from the record of its work: when each began, how it ended. Pure. */
import type { ActivityRow } from "../types.ts";
import { duration, timeOfDay } from "../words/words.ts";

type Deed = Pick<ActivityRow, "kind" | "at" | "stream" | "about" | "stream_name">;
type CallEnd = "done" | "failed" | "stopped" | "unknown";

export interface DeviceCall {
  task: string;
  constellation: string;
  /** The name of the constellation. */
  of: string;
  fromMs: number;
  /** 0 while it goes on. */
  toMs: number;
  end: CallEnd | null;
  /** False where its beginning is not told: it stands at its end, and nobody knows how long it took. */
  whole: boolean;
}

const ENDS: Record<string, CallEnd> = {
  attempt_ended: "stopped",
  task_cancelled: "stopped",
  task_failed: "failed",
  task_succeeded: "done",
  task_unknown: "unknown",
};
const END_WORDS: Record<CallEnd, string> = { done: "done", failed: "failed", stopped: "stopped", unknown: "unknown" };
const SAID_MOST = 3;

/**
 * The calls in the order in which they began, from deeds in any order. The record gives the newest deeds: after many
 * tasks at once these are ends alone.
 */
export function callsOf(deeds: readonly Deed[]): DeviceCall[] {
  const found: DeviceCall[] = [];
  const open = new Map<string, DeviceCall>();
  const told = deeds.map((deed) => ({ ...deed, atMs: Date.parse(deed.at ?? "") }));
  for (const { kind, atMs, stream, about, stream_name } of told.sort((a, b) => a.atMs - b.atMs)) {
    const key = `${stream}/${about}`;
    const running = open.get(key);
    const end = ENDS[kind] ?? (running && kind === "task_started" ? "stopped" : null);
    if (running && end) {
      running.toMs = atMs;
      running.end = end;
      open.delete(key);
    }
    const call = { task: about, constellation: stream, of: stream_name, fromMs: atMs };
    if (!running && end) found.push({ ...call, toMs: atMs, end, whole: false });
    if (kind !== "task_started") continue;
    const begun: DeviceCall = { ...call, toMs: 0, end: null, whole: true };
    open.set(key, begun);
    found.push(begun);
  }
  return found;
}

/** The calls that were under way in a stretch of time, those that failed first. */
export function callsAt(calls: readonly DeviceCall[], fromMs: number, toMs: number): DeviceCall[] {
  return calls
    .filter((call) => call.fromMs < toMs && (call.toMs === 0 || call.toMs >= fromMs))
    .sort((a, b) => Number(b.end === "failed") - Number(a.end === "failed"));
}

/** `done in 1.2 s`, `running for 3.0 s`. */
export function callEndWords(call: DeviceCall, nowMs: number): string {
  if (!call.end) return `running for ${duration(nowMs - call.fromMs)}`;
  if (!call.whole) return END_WORDS[call.end];
  return `${END_WORDS[call.end]} ${call.end === "done" ? "in" : "after"} ${duration(call.toMs - call.fromMs)}`;
}

/** `send.3 failed after 0.4 s; list done in 1.2 s; and 4 more`. */
export function callsWords(calls: readonly DeviceCall[], nowMs: number): string {
  const said = calls.slice(0, SAID_MOST).map((call) => `${call.task} ${callEndWords(call, nowMs)}`);
  if (calls.length > SAID_MOST) said.push(`and ${calls.length - SAID_MOST} more`);
  return said.join("; ");
}

/** `12 calls, 1 failed`. */
export function callCounts(calls: readonly DeviceCall[]): string {
  const failed = calls.filter((call) => call.end === "failed").length;
  return `${calls.length} ${calls.length === 1 ? "call" : "calls"}${failed ? `, ${failed} failed` : ""}`;
}

/** The times of the calls in one sentence, for a person who does not see them. */
export function callsSentence(calls: readonly DeviceCall[], nowMs: number): string {
  const took = calls.filter((call) => call.whole).map((call) => (call.toMs || nowMs) - call.fromMs);
  const failed = calls.filter((call) => call.end === "failed").map((call) => timeOfDay(call.fromMs).slice(0, 5));
  const span = took.length ? `, from ${duration(Math.min(...took))} to ${duration(Math.max(...took))}` : "";
  const range = `Calls: ${callCounts(calls)}${span}`;
  return failed.length ? `${range}, failed at ${[...new Set(failed)].slice(0, 5).join(", ")}` : range;
}
