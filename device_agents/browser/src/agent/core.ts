/**
 * The agent's own decisions: which leases it holds, what to start and stop, what to answer. Pure.
 *
 * The twin of `starloom_agent.work.core`. `step` changes the given state and returns actions in order; it knows no clock,
 * socket, store or tool. Times are readings, in seconds, of a clock that runs during sleep.
 */
import type {
  Cancel,
  Code,
  Dispatch,
  EffectSeen,
  LeaseRef,
  Outcome,
  PlanEntry,
  Renew,
  Repeatability,
} from "../generated/protocol.ts";
import { callDigest } from "../protocol/callDigest.ts";

export const FENCES_KEPT = 20_000;
const REPEATABLE: readonly string[] = ["pure", "idempotent"] satisfies Repeatability[];
export type Fence = readonly [incarnation: number, attempt: number];

/** A lease held here. `fenceAt` null: no fence. `stopping` is why it is being ended, empty while it may go on. */
interface Held {
  dispatch: Dispatch;
  running: boolean;
  fenceAt: number | null;
  /** When the first answered `alive` was sent that named it as running. */
  renewedAt?: number;
  stopping: string;
}

/**
 * All that the agent decides on. `baseAt` is the sending of the last answered `alive` (or of the proof). `begun` has the
 * fence of the highest attempt that began here, for each task that must not be repeated. `ending` is why nothing begins
 * here any more, once all leases were given back.
 */
export interface AgentState {
  slots: number;
  baseAt: number;
  begun: Map<string, Fence>;
  ending: string;
  fences: Map<string, Fence>;
  held: Map<string, Held>;
  waiting: string[];
  running: number;
}

export function newState(
  slots: number,
  fences = new Map<string, Fence>(),
  begun = new Map<string, Fence>(),
): AgentState {
  return { slots, baseAt: 0, begun, ending: "", fences, held: new Map(), waiting: [], running: 0 };
}

export type AgentEvent =
  | Dispatch
  | Cancel
  | Renew
  | { t: "proved"; at: number }
  | { t: "resumed"; entries: PlanEntry[] }
  | { t: "taken_up"; dispatch: Dispatch; fenceAt: number | null }
  | { t: "call_ended"; at: LeaseRef; stopped: boolean }
  | { t: "end_all"; why: string };

export interface SayReceipt {
  a: "say_receipt";
  at: LeaseRef;
  known: boolean;
  /** null: what the ended call itself said */
  effect: EffectSeen | null;
}

/** An end that needs no call: refused, never started, interrupted. */
export interface SayResult {
  a: "say_result";
  at: LeaseRef;
  outcome: Outcome;
  code: Code | null;
  detail: string;
  effect: EffectSeen;
}

export type Action =
  | { a: "start"; dispatch: Dispatch; fenceAt: number | null }
  | { a: "stop"; at: LeaseRef; why: string }
  | { a: "move_fence"; at: LeaseRef; fenceAt: number }
  | SayReceipt
  | SayResult
  | { a: "say_end"; at: LeaseRef }
  /**
   * Send again what the ledger has for this attempt; `absent` is what to do where it has nothing. A dispatch is named
   * by its `call`, and `other` is the answer where the ledger has another call under this name.
   */
  | { a: "answer_from_ledger"; at: LeaseRef; absent: SayReceipt | SayResult | null; call?: string; other?: SayResult }
  /** Tell the hub of an attempt that it does not know, whose work must not begin again as `at`. */
  | { a: "say_begun"; at: LeaseRef; begun: LeaseRef };

export function leaseKey(at: LeaseRef): string {
  return `${taskKey(at)}/${at.incarnation}.${at.attempt}`;
}

export function taskKey(at: LeaseRef): string {
  return `${at.constellation}/${at.task}`;
}

/** Whether the work of a call may be done twice. */
export function isRepeatable({ repeatability }: Dispatch): boolean {
  return REPEATABLE.includes(repeatability);
}

/** Whether the first fence is above the second. */
export function above(one: Fence, other: Fence): boolean {
  return one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]);
}

/** Apply one event; total over every order of events a hub may send. */
export function step(state: AgentState, event: AgentEvent): Action[] {
  switch (event.t) {
    case "dispatch":
      return dispatched(state, event);
    case "call_ended":
      return callEnded(state, event.at, event.stopped);
    case "renew":
      return renewed(state, event);
    case "cancel":
      return cancelled(state, event.at);
    case "resumed":
      return event.entries.flatMap((entry) => resume(state, entry));
    case "taken_up":
      return takenUp(state, event.dispatch, event.fenceAt);
    case "proved":
      state.baseAt = Math.max(state.baseAt, event.at);
      return [];
    case "end_all":
      state.ending = event.why;
      return [...state.held.keys()].flatMap((key) => end(state, key, event.why));
  }
}

/** What `alive` names: every lease that is held, those that wait for a slot here included. */
export function runningRefs(state: AgentState): LeaseRef[] {
  return [...state.held.values()].filter((lease) => !lease.stopping || lease.running).map((lease) => lease.dispatch.at);
}

function noteFence(state: AgentState, at: LeaseRef): void {
  const key = taskKey(at);
  const fence: Fence = [at.incarnation, at.attempt];
  const highest = state.fences.get(key);
  // Set again after a delete, so that the order of the map is that of use and the oldest go first.
  state.fences.delete(key);
  state.fences.set(key, highest !== undefined && above(highest, fence) ? highest : fence);
  for (const oldest of state.fences.keys()) {
    if (state.fences.size <= FENCES_KEPT) break;
    state.fences.delete(oldest);
    state.begun.delete(oldest);
  }
}

/** Note the beginning of work that must not be repeated: attempts of a task only rise within one history. */
export function noteBegun(begun: Map<string, Fence>, at: LeaseRef): void {
  const highest = begun.get(taskKey(at));
  if (highest === undefined || at.attempt >= highest[1]) begun.set(taskKey(at), [at.incarnation, at.attempt]);
}

/**
 * The attempt of this work that began here under another history, as before a backup was restored: a hub that hands
 * out an attempt again under another incarnation has lost what came of it.
 */
function begunBefore(state: AgentState, dispatch: Dispatch): LeaseRef | null {
  const { at } = dispatch;
  const fence = state.begun.get(taskKey(at));
  if (fence === undefined || isRepeatable(dispatch)) return null;
  const [incarnation, attempt] = fence;
  return incarnation === at.incarnation || at.attempt > attempt ? null : { ...at, incarnation, attempt };
}

function dispatched(state: AgentState, dispatch: Dispatch): Action[] {
  const { at } = dispatch;
  const key = leaseKey(at);
  if (state.held.has(key)) return [];
  const earlier = begunBefore(state, dispatch);
  if (earlier !== null) return [{ a: "say_begun", at, begun: earlier }];
  const highest = state.fences.get(taskKey(at));
  if (highest !== undefined && !above([at.incarnation, at.attempt], highest)) {
    const detail = `a newer attempt of this task than ${at.attempt} was already taken here`;
    const absent = result(at, "refused", "fenced", detail);
    return [{ a: "answer_from_ledger", at, absent, call: callDigest(dispatch), other: ofAnotherCall(dispatch) }];
  }
  noteFence(state, at);
  if (state.ending) return [result(at, "never_started", null, `it came too late here: ${state.ending}`)];
  const fenceAt = dispatch.fence_after_s > 0 ? state.baseAt + dispatch.fence_after_s : null;
  // An older attempt of the same task that still runs has been given away: it ends before this one begins.
  const older = [...state.held].filter(([, lease]) => taskKey(lease.dispatch.at) === taskKey(at));
  state.held.set(key, { dispatch, running: false, fenceAt, stopping: "" });
  state.waiting.push(key);
  return [...older.flatMap(([olderKey]) => end(state, olderKey, "replaced")), ...startWaiting(state)];
}

/**
 * The answer to a call under whose name the ledger has another one, as a hub with an older history may send it. Work
 * that may be repeated is given back, and begins under a higher fence; of any other the hub asks a person.
 */
function ofAnotherCall(dispatch: Dispatch): SayResult {
  const other = "this tab carried out another call under this name";
  return isRepeatable(dispatch)
    ? result(dispatch.at, "never_started", null, `${other}; it begins as the next attempt`)
    : result(dispatch.at, "interrupted", "interrupted", `${other}; the hub's history is older`, "maybe");
}

/** An attempt that an earlier life of this tab began goes on: it holds its slot again, and nothing is started. */
function takenUp(state: AgentState, dispatch: Dispatch, fenceAt: number | null): Action[] {
  noteFence(state, dispatch.at);
  state.held.set(leaseKey(dispatch.at), { dispatch, running: true, fenceAt, stopping: "" });
  state.running += 1;
  return [];
}

function startWaiting(state: AgentState): Action[] {
  const actions: Action[] = [];
  const busy = new Set<string>();
  for (const lease of state.held.values()) if (lease.running) busy.add(taskKey(lease.dispatch.at));
  const left: string[] = [];
  for (const key of state.waiting) {
    const lease = state.held.get(key);
    if (lease === undefined) continue;
    if (state.running >= state.slots || busy.has(taskKey(lease.dispatch.at))) {
      left.push(key);
      continue;
    }
    lease.running = true;
    state.running += 1;
    if (!isRepeatable(lease.dispatch)) noteBegun(state.begun, lease.dispatch.at);
    actions.push({ a: "start", dispatch: lease.dispatch, fenceAt: lease.fenceAt });
  }
  state.waiting = left;
  return actions;
}

function release(state: AgentState, key: string): Held | undefined {
  const lease = state.held.get(key);
  state.held.delete(key);
  if (lease?.running) state.running -= 1;
  state.waiting = state.waiting.filter((item) => item !== key);
  return lease;
}

function callEnded(state: AgentState, at: LeaseRef, stopped: boolean): Action[] {
  const lease = release(state, leaseKey(at));
  if (lease === undefined) return [];
  // Fenced, replaced, gone or ended by its owner: the hub may know it or not; it gets the report in both cases.
  const ending: Action =
    stopped && lease.stopping === "cancel" ? { a: "say_receipt", at, known: true, effect: null } : { a: "say_end", at };
  return [ending, ...startWaiting(state)];
}

function end(state: AgentState, key: string, why: string): Action[] {
  const lease = state.held.get(key);
  if (lease === undefined) return [];
  const { at } = lease.dispatch;
  if (lease.running) {
    if (lease.stopping) return [];
    lease.stopping = why;
    return [{ a: "stop", at, why }];
  }
  release(state, key);
  if (why === "cancel") return [{ a: "say_receipt", at, known: true, effect: "none" }];
  return [result(at, "never_started", null, `it waited for a slot and was ended: ${why}`)];
}

function cancelled(state: AgentState, at: LeaseRef): Action[] {
  const lease = state.held.get(leaseKey(at));
  if (lease === undefined) {
    noteFence(state, at);
    const absent: SayReceipt = { a: "say_receipt", at, known: false, effect: "none" };
    return [{ a: "answer_from_ledger", at, absent }];
  }
  if (lease.stopping) {
    lease.stopping = "cancel";
    return [];
  }
  return end(state, leaseKey(at), "cancel");
}

function renewed(state: AgentState, renew: Renew): Action[] {
  const sentAt = renew.sent_ms / 1000;
  state.baseAt = Math.max(state.baseAt, sentAt);
  const actions: Action[] = [];
  for (const at of renew.granted) {
    const lease = state.held.get(leaseKey(at));
    if (lease === undefined || lease.fenceAt === null) continue;
    if (lease.running) lease.renewedAt ??= sentAt;
    const ranS = sentAt - (lease.renewedAt ?? sentAt);
    // Whole seconds, never rounded up: the hub waits for a tenth of the time that it knows the attempt to have run.
    const patienceS = Math.max(Math.min(Math.floor(ranS / 10), lease.dispatch.patience_most_s ?? 0), 0);
    const fenceAt = sentAt + lease.dispatch.fence_after_s + patienceS;
    if (fenceAt <= lease.fenceAt) continue;
    lease.fenceAt = fenceAt;
    if (lease.running) actions.push({ a: "move_fence", at, fenceAt });
  }
  for (const at of renew.gone ?? []) actions.push(...end(state, leaseKey(at), "gone"));
  return actions;
}

function resume(state: AgentState, entry: PlanEntry): Action[] {
  const { at } = entry;
  if (entry.action === "cancel") return cancelled(state, at);
  if (state.held.has(leaseKey(at))) return [];
  // From now on it never begins here. What the hub saw begin and the ledger does not know was pure work, or the
  // ledger is another one: `maybe` is right for both. An end that is asked for again and is not here is left to a
  // person.
  noteFence(state, at);
  const detail = "the tab was opened anew and this device has no trace of the attempt";
  const lost = result(at, "interrupted", "interrupted", detail, "maybe");
  return [{ a: "answer_from_ledger", at, absent: entry.action === "continue" ? lost : null }];
}

function result(
  at: LeaseRef,
  outcome: Outcome,
  code: Code | null,
  detail: string,
  effect: EffectSeen = "none",
): SayResult {
  return { a: "say_result", at, outcome, code, detail, effect };
}
