/**
 * What must survive the tab: attempts with their fences, the outbox of reports, steps that a person has taken,
 * decisions of the policy.
 *
 * Everything is read once, into memory; writes are collected and put down by one `flush`. Nothing that depends on a
 * write may leave the agent, and no effect may begin, before the flush returned. Reports of `pure` work stay in
 * memory: lost with the tab, they are made again.
 */
import type { Fence } from "../agent/core.ts";
import { above, FENCES_KEPT, isRepeatable, leaseKey, noteBegun, taskKey } from "../agent/core.ts";
import type { Dispatch, EffectSeen, LeaseRef, Receipt, ReportFrame, ResultFrame } from "../generated/protocol.ts";
import { callDigest } from "../protocol/callDigest.ts";
import type { Store, Write } from "./store.ts";

const NUMBERS_RESERVED = 1_000;
/** A hub may be restored from a backup of some weeks ago and ask for results of then. */
const RESULTS_KEPT_MS = 60 * 24 * 3600 * 1000;
const DECISIONS_KEPT = 2_000;
/** So many attempts are told to a hub whose history may be older, in one frame: what began since its last backup. */
const BEGUN_TOLD = 128;

export type AttemptState = "accepted" | "started" | "finished";

/**
 * One attempt. `effect` is what it counts as if it never reports again; `fenceAt` in seconds, null: no fence. `once`:
 * it began, and its work must not be repeated. `call` is the digest of its call. Rows of an older page have neither.
 */
export interface AttemptRow {
  at: LeaseRef;
  state: AttemptState;
  tool: string;
  effect: EffectSeen;
  begunMs: number;
  changedMs: number;
  dispatch: Dispatch | null;
  fenceAt: number | null;
  result: ResultFrame | Receipt | null;
  once?: boolean;
  call?: string;
}

export interface DecisionRow {
  atMs: number;
  lease: string;
  tool: string;
  allowed: boolean;
  reason: string;
}

interface Meta {
  id: string;
  reserved: number;
}

export class Ledger {
  readonly id: string;
  readonly #store: Store;
  readonly #nowMs: () => number;
  readonly #attempts = new Map<string, AttemptRow>();
  readonly #steps = new Map<string, { value: unknown }>();
  readonly #reports = new Map<number, ReportFrame>();
  #next: number;
  #reserved: number;
  #pending: Write[] = [];
  #flushing: Promise<void> = Promise.resolve();

  private constructor(store: Store, nowMs: () => number, meta: Meta) {
    this.id = meta.id;
    this.#store = store;
    this.#nowMs = nowMs;
    this.#next = meta.reserved;
    this.#reserved = meta.reserved;
  }

  /** @throws StoreFault if the browser's store does not let itself be read or written. */
  static async open(store: Store, nowMs: () => number = Date.now): Promise<Ledger> {
    const meta = await store.get<Meta>("meta", "ledger");
    const ledger = new Ledger(store, nowMs, meta ?? { id: newId(), reserved: 1 });
    for (const [key, row] of await store.all<AttemptRow>("attempts")) ledger.#attempts.set(String(key), row);
    for (const [key, row] of await store.all<{ value: unknown }>("steps")) ledger.#steps.set(String(key), row);
    for (const [key, frame] of await store.all<ReportFrame>("reports")) ledger.#reports.set(Number(key), frame);
    ledger.#reserve();
    ledger.#prune();
    await ledger.flush();
    return ledger;
  }

  // Numbers: they rise for the life of the store; a block is put down before its numbers are used.

  get nextReport(): number {
    return this.#next;
  }

  takeNumber(): number {
    const number = this.#next;
    this.#next += 1;
    if (this.#next > this.#reserved - NUMBERS_RESERVED / 2) this.#reserve();
    return number;
  }

  #reserve(): void {
    this.#reserved = this.#next + NUMBERS_RESERVED;
    this.#write({ table: "meta", key: "ledger", value: { id: this.id, reserved: this.#reserved } satisfies Meta });
  }

  #write(write: Write): void {
    this.#pending.push(write);
  }

  #put(row: AttemptRow): void {
    const key = leaseKey(row.at);
    this.#attempts.set(key, row);
    this.#write({ table: "attempts", key, value: row });
  }

  /** An attempt begins; its effect may begin once this is flushed. */
  started(dispatch: Dispatch, terms: { effect: EffectSeen; fenceAt: number | null }): void {
    // Secrets are for this life of the tab only: an attempt that has them is not taken up again.
    const stored = Object.keys(dispatch.secrets ?? {}).length > 0 ? null : dispatch;
    const { at } = dispatch;
    const { tool } = dispatch;
    const now = this.#nowMs();
    const since = { begunMs: now, changedMs: now, once: !isRepeatable(dispatch), call: callDigest(dispatch) };
    this.#put({ at, state: "started", tool, dispatch: stored, result: null, ...since, ...terms });
  }

  /** From now on the attempt counts as one that may have had its effect. */
  touched(at: LeaseRef): void {
    const row = this.#attempts.get(leaseKey(at));
    if (row !== undefined) this.#put({ ...row, effect: "maybe" });
  }

  fenceMoved(at: LeaseRef, fenceAt: number): void {
    const row = this.#attempts.get(leaseKey(at));
    if (row !== undefined) this.#put({ ...row, fenceAt });
  }

  /** The attempt has ended; its last report is kept to answer a repeated dispatch. */
  finished(at: LeaseRef, result: ResultFrame | Receipt, tool = ""): void {
    const before = this.#attempts.get(leaseKey(at));
    const now = this.#nowMs();
    this.#put({
      at,
      state: "finished",
      tool: before?.tool ?? tool,
      effect: "none",
      begunMs: before?.begunMs ?? now,
      changedMs: now,
      dispatch: null,
      fenceAt: null,
      result,
      once: before?.once ?? false,
      call: before?.call ?? "",
    });
    this.#dropSteps(at);
  }

  /** What a step of a call came to, so that a later life of the tab does not take it again. Blobs may be in it. */
  stepTaken(at: LeaseRef, name: string, value: unknown): void {
    const key = stepKey(at, name);
    this.#steps.set(key, { value });
    this.#write({ table: "steps", key, value: { value } });
  }

  #dropSteps(at: LeaseRef): void {
    const prefix = stepKey(at, "");
    for (const key of this.#steps.keys()) {
      if (!key.startsWith(prefix)) continue;
      this.#steps.delete(key);
      this.#write({ table: "steps", key });
    }
  }

  keep(report: ReportFrame): void {
    this.#reports.set(report.report, report);
    this.#write({ table: "reports", key: report.report, value: report });
  }

  /** The hub has every report up to this number in its durable log. */
  dropReports(upTo: number): void {
    for (const number of this.#reports.keys()) {
      if (number > upTo) continue;
      this.#reports.delete(number);
      this.#write({ table: "reports", key: number });
    }
  }

  decided(row: DecisionRow): void {
    this.#write({ table: "decisions", key: null, value: row });
  }

  /**
   * Put down everything that was collected before the call, after earlier flushes.
   * @throws StoreFault if the browser refuses; the writes stay collected, in order.
   */
  flush(): Promise<void> {
    const after = this.#flushing.catch(() => {});
    this.#flushing = after.then(async () => {
      const writes = this.#pending;
      this.#pending = [];
      try {
        await this.#store.write(writes);
      } catch (error) {
        this.#pending = [...writes, ...this.#pending];
        throw error;
      }
    });
    return this.#flushing;
  }

  /** The highest fence of every task, the longest unused first. */
  fences(): Map<string, Fence> {
    const rows = [...this.#attempts.values()].sort((a, b) => a.changedMs - b.changedMs);
    const fences = new Map<string, Fence>();
    for (const { at } of rows) {
      const fence: Fence = [at.incarnation, at.attempt];
      const highest = fences.get(taskKey(at));
      fences.delete(taskKey(at));
      fences.set(taskKey(at), highest !== undefined && above(highest, fence) ? highest : fence);
    }
    return fences;
  }

  /** The highest attempt that began of each task that must not be repeated. */
  begun(): Map<string, Fence> {
    const fences = new Map<string, Fence>();
    for (const row of this.#attempts.values()) if (row.once) noteBegun(fences, row.at);
    return fences;
  }

  /** The newest attempts that began of work that must not be repeated, the newest first. */
  begunLately(): LeaseRef[] {
    return this.recent(Number.POSITIVE_INFINITY)
      .filter((row) => row.once)
      .slice(0, BEGUN_TOLD)
      .map((row) => row.at);
  }

  unfinished(): AttemptRow[] {
    return [...this.#attempts.values()].filter((row) => row.state !== "finished");
  }

  /** What was asked of this device, the newest first. */
  recent(count: number): AttemptRow[] {
    return [...this.#attempts.values()].sort((a, b) => b.changedMs - a.changedMs).slice(0, count);
  }

  stateOf(at: LeaseRef): AttemptState | "unknown" {
    return this.#attempts.get(leaseKey(at))?.state ?? "unknown";
  }

  /** The digest of the call of an attempt; empty where an older page noted none. */
  callOf(at: LeaseRef): string {
    return this.#attempts.get(leaseKey(at))?.call ?? "";
  }

  resultOf(at: LeaseRef): ResultFrame | Receipt | null {
    return this.#attempts.get(leaseKey(at))?.result ?? null;
  }

  /** What `stepTaken` noted; undefined if that step was not taken yet. */
  step(at: LeaseRef, name: string): { value: unknown } | undefined {
    return this.#steps.get(stepKey(at, name));
  }

  /** The outbox in order of its numbers. */
  reports(): ReportFrame[] {
    return [...this.#reports].sort(([a], [b]) => a - b).map(([, report]) => report);
  }

  decisions(last = 50): Promise<DecisionRow[]> {
    return this.#store.last<DecisionRow>("decisions", last);
  }

  /** Erase all work, after what is being written; number and id of the ledger stay. @throws StoreFault as `flush`. */
  async empty(): Promise<void> {
    for (const table of [this.#attempts, this.#steps, this.#reports]) table.clear();
    this.#pending = [];
    await this.flush();
    await this.#store.empty(["attempts", "steps", "reports", "decisions"]);
  }

  /**
   * Drop results of two months ago, and attempts beyond the fences that the agent has in mind: a date that was set
   * forward must not take those, since they bar a repetition.
   */
  #prune(): void {
    const before = this.#nowMs() - RESULTS_KEPT_MS;
    for (const [index, row] of this.recent(Number.POSITIVE_INFINITY).entries()) {
      if (row.state !== "finished") continue;
      const key = leaseKey(row.at);
      if (index >= FENCES_KEPT) {
        this.#attempts.delete(key);
        this.#write({ table: "attempts", key });
      } else if (row.result !== null && row.changedMs < before) this.#put({ ...row, result: null });
    }
  }

  /** Drop all but the newest decisions. */
  async pruneDecisions(): Promise<void> {
    const rows = await this.#store.all<DecisionRow>("decisions");
    for (const [key] of rows.slice(0, Math.max(0, rows.length - DECISIONS_KEPT))) {
      this.#write({ table: "decisions", key: Number(key) });
    }
  }
}

function stepKey(at: LeaseRef, name: string): string {
  return `${leaseKey(at)} ${name}`;
}

function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
