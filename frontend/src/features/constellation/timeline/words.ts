/** The words of a timeline: of lanes, bars, tasks to come, moments, and the part of a run that is shown. Pure. */
import { devices, nameOfDevice, taskNamed } from "../../../model/fleet/fleet.ts";
import type { Ghost } from "../../../model/run/ghosts.ts";
import type { Bar, Lane, Window } from "../../../model/run/lanes.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { duration } from "../../../model/words/words.ts";
import { copyOf } from "./WhatIf.tsx";

const LANE_WORDS: Record<Lane["kind"], string> = { device: "", you: "You", queue: "Waiting", model: "Planner" };

/** How much of the run the canvas shows. */
export function windowWords(window: Window, whole: Window): string {
  const [shown, all] = [window.toMs - window.fromMs, whole.toMs - whole.fromMs];
  return shown < all ? `${duration(shown)} of ${duration(all)}` : duration(all);
}

export const lengthOf = (bar: Bar, nowMs: number): number => Math.max(0, Math.min(bar.toMs, nowMs) - bar.fromMs);

export function laneName(fleet: StreamModel, lane: Lane): string {
  if (lane.kind !== "device") return LANE_WORDS[lane.kind];
  const copied = copyOf(lane.device);
  if (copied !== null) return `${nameOfDevice(fleet, copied)}, one more`;
  const known = devices(fleet).get(lane.device);
  return known ? `${known.tag} ${known.device.name}` : nameOfDevice(fleet, lane.device);
}

export function phaseWords(fleet: StreamModel, { span }: Bar, cause: string): string {
  if (cause) return `waited ${cause}`;
  const where = span.device ? ` on ${nameOfDevice(fleet, span.device)}` : "";
  const again = span.hedge ? ", a second attempt" : span.attempt > 1 ? `, attempt ${span.attempt}` : "";
  return `${span.phase === "starting" ? "started" : span.phase === "stopping" ? "stopped" : "worked"}${where}${again}`;
}

export function ghostWords(fleet: StreamModel, lanes: readonly Lane[], ghost: Ghost, nowMs: number): string {
  const lane = lanes[ghost.lane];
  const where = lane ? ` on ${laneName(fleet, lane)}` : "";
  const begins = ghost.fromMs > nowMs ? `in ${duration(ghost.fromMs - nowMs)}` : "now";
  const then = ghost.changed ? " after the change" : "";
  return `should begin ${begins}${where}${then}, for ${duration(ghost.toMs - ghost.fromMs)}`;
}

export const barWords = (fleet: StreamModel, bar: Bar, cause: string, nowMs: number): string =>
  `${taskNamed(fleet, bar.span.task)}: ${phaseWords(fleet, bar, cause)}, ${duration(lengthOf(bar, nowMs))}`;

export function momentWords(fleet: StreamModel, moment: { kind: string; text: string }): string {
  if (moment.kind === "failed") return `${taskNamed(fleet, moment.text)} failed`;
  if (moment.kind === "lost") return `an attempt of ${taskNamed(fleet, moment.text)} was lost`;
  return moment.text;
}
