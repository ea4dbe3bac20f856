/**
 * The running agent of this tab: feeds events to the core and carries out its actions with ledger, tools and link.
 *
 * What happens in one turn is put down by one flush of the ledger, and only then do calls begin and reports leave. A
 * lost connection changes nothing of the work; nor does a reload, for calls that wait for a person
 * (docs/decisions/device-channel.md).
 */
import {
  type Alive,
  CLOCK_OFF_S,
  type Dispatch,
  type LeaseRef,
  type LedgerEntry,
  type ReportFrame,
  type Welcome,
} from "../generated/protocol.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { Outbox } from "../ledger/outbox.ts";
import type { Frame } from "../protocol/codec.ts";
import type { Surroundings, Told, Tool } from "../tools/interface.ts";
import type { HttpSession } from "./artifacts.ts";
import { type CallEnd, ended, RunningCall } from "./call.ts";
import { Chatter } from "./chatter.ts";
import { Connection, type Ended, isRemoved, type Peer, type Socket } from "./connection.ts";
import * as core from "./core.ts";
import { leaseKey } from "./core.ts";
import type { Identity } from "./identity.ts";
import { judge } from "./judging.ts";
import { lookUp } from "./laterFacts.ts";
import { leaveHub } from "./leaving.ts";
import { Link } from "./link.ts";
import { makeOffer, SLOTS } from "./offer.ts";
import type { Policy } from "./policy.ts";
import { Questions } from "./questions.ts";
import { reportEnd, reportReceipt, reportStart } from "./reporting.ts";
import type { View } from "./view.ts";

export interface AgentParts {
  identity: Identity;
  hub: { key: string; name: string };
  ledger: Ledger;
  tools: readonly Tool[];
  policy: Policy;
  around: () => Surroundings;
  facts: Record<string, string>;
  dial: () => Socket;
  /** Seconds, of a clock that runs during sleep and over reloads. */
  clock: () => number;
  after: (s: number, act: () => void) => () => void;
  every: (s: number, act: () => void) => () => void;
  pause: (s: number, signal: AbortSignal) => Promise<void>;
  request: typeof fetch;
  jitter?: () => number;
}

interface Kept {
  dispatch: Dispatch;
  durable: boolean;
  running: RunningCall | null;
  end: CallEnd | null;
  tail: string;
  told: Told;
}

const RECENT = 30;
const DISK_AGAIN_S = 1;
const NOTICES_MOST = 20;
/** So many open questions are told to the hub; a person answers them one by one. */
const TAPS_MOST = 16;

/** The seconds that the clock of this device is ahead of its hub's, where they are not few. */
function clockFact(ownS: number, hubMs: number): { clock?: string } {
  const aheadS = Math.round(ownS - hubMs / 1000);
  return hubMs > 0 && Math.abs(aheadS) > CLOCK_OFF_S ? { clock: String(aheadS) } : {};
}

export class Agent implements Peer {
  readonly outbox: Outbox;
  readonly state: core.AgentState;
  readonly #parts: AgentParts;
  readonly #ledger: Ledger;
  readonly #link: Link;
  readonly #chatter: Chatter;
  readonly #tools: Map<string, Tool>;
  readonly #calls = new Map<string, Kept>();
  readonly #listeners = new Set<() => void>();
  readonly #ends = new Set<Promise<void>>();
  #halted = false;
  #shown = 0;
  #diskFailed = false;
  readonly #questions = new Questions(() => {
    this.#showCalls();
    this.#tellTaps();
  });
  #taps = "";
  #toBegin: string[] = [];
  #turn: Promise<void> | null = null;
  #http: HttpSession | null = null;
  #view: View;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.#ledger = parts.ledger;
    this.outbox = new Outbox(parts.ledger);
    this.state = core.newState(SLOTS, parts.ledger.fences(), parts.ledger.begun());
    this.#tools = new Map(parts.tools.map((tool) => [tool.name, tool]));
    this.#chatter = new Chatter({ push: (frames) => this.#link.push(frames), after: parts.after });
    this.#link = new Link({
      dial: () => this.#dial(),
      jitter: parts.jitter,
      pause: parts.pause,
      status: (link) => this.#show({ link }),
    });
    this.#view = {
      link: { state: "connecting" },
      name: parts.hub.name,
      policy: parts.policy,
      questions: [],
      running: [],
      recent: parts.ledger.recent(RECENT),
      notices: [],
      trouble: "",
    };
  }

  readonly view = (): View => this.#view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The owner moved a switch; the hub hears of it at once. Calls that run already go on. */
  allow(policy: Policy): void {
    this.#show({ policy });
    this.offerAgain();
  }

  /** Show what went wrong outside of any task. */
  complain(trouble: string): void {
    this.#show({ trouble });
  }

  /** The person has read a notice. */
  dismiss(id: number): void {
    this.#show({ notices: this.#view.notices.filter((notice) => notice.id !== id) });
  }

  /** What the browser allows has changed, or may have. */
  offerAgain(): void {
    this.#link.push([this.#offer()]);
  }

  /** Somebody looks at the page again, or the network is back. */
  hurry(): void {
    this.#link.hurry();
  }

  /** Tell the hub whether this tab is about to be put to sleep by its system. */
  suspending(asleep: boolean): void {
    this.#link.push([{ t: "condition", facts: { suspending: String(asleep) } }]);
  }

  /** Tell the hub's lines the charge in percent; nobody decides by it, and away from the hub it is not kept. */
  charged(percent: number): void {
    this.#link.push([{ t: "vitals", battery_percent: percent }]);
  }

  #show(change: Partial<View>): void {
    this.#view = { ...this.#view, ...change };
    for (const listener of this.#listeners) listener();
  }

  /** The attempts that wait for their person, as the hub is told of them. */
  #tapsNow(): string {
    const asking = this.#questions.open.slice(0, TAPS_MOST);
    return [...new Set(asking.map(({ at }) => `${at.constellation}/${at.task}/${at.attempt}`))].join(" ");
  }

  /** Tell the hub which attempts wait for a tap, where that has changed; a new connection begins with it. */
  #tellTaps(): void {
    const now = this.#tapsNow();
    if (now === this.#taps) return;
    this.#taps = now;
    this.#link.push([{ t: "condition", facts: { tap: now } }]);
  }

  #showCalls(): void {
    const asking = new Set(this.#questions.open.map(({ at }) => leaseKey(at)));
    const running = [...this.#calls.values()].flatMap(({ dispatch: { at, tool }, running, end, told }) =>
      running === null || end !== null || asking.has(leaseKey(at))
        ? []
        : [{ at, tool, told, stop: () => running.decline() }],
    );
    this.#show({ running, questions: this.#questions.open, recent: this.#ledger.recent(RECENT) });
  }

  /**
   * Judge every attempt that an earlier life of this tab left open: what waits for a person is taken up again, all
   * else has ended there and is reported.
   */
  async recover(): Promise<void> {
    for (const row of this.#ledger.unfinished()) {
      const tool = this.#tools.get(row.tool);
      if (tool?.resumes && row.dispatch !== null && row.state === "started" && row.effect === "none") {
        // The date may have been set back since: no fence is further off than a renewal of now would put it.
        const now = this.#parts.clock();
        const furthest = now + row.dispatch.fence_after_s + (row.dispatch.patience_most_s ?? 0);
        const fenceAt = row.fenceAt === null ? null : Math.min(row.fenceAt, furthest);
        this.#do({ t: "taken_up", dispatch: row.dispatch, fenceAt });
        this.#calls.set(leaseKey(row.at), this.#callOf(row.dispatch, true));
        this.#begin(row.dispatch.at, { begunAt: Math.min(row.begunMs / 1000, now), touched: false });
        continue;
      }
      const detail = "the tab was closed or reloaded in the middle of it";
      const end = ended("interrupted", { code: "interrupted", detail, effect: row.effect });
      reportEnd(this.outbox, this.#ledger, row.at, end, { durable: true, tail: "", tool: row.tool });
    }
    await this.#ledger.pruneDecisions();
    await this.#settled();
  }

  /** Serve until `leave`, or until the hub says that trying again will not help; returns that. */
  async run(): Promise<Ended | null> {
    const end = await this.#link.run();
    if (end !== null && isRemoved(end)) await this.#forgetWork();
    return end;
  }

  /** A person who holds a removed device sees nothing more of what the hub gave it, not even after a reload. */
  async #forgetWork(): Promise<void> {
    this.#letGo("removed");
    this.#show({ running: [], questions: [], recent: [], notices: [] });
    try {
      await this.#ledger.empty();
    } catch (error) {
      this.complain(`what ran here could not be erased: ${String(error)}. Press Join again, or clear this site's data`);
    }
  }

  /**
   * Give back every lease, say goodbye, return from `run`, and have the hub let this device go.
   * @throws JoinRefused where the hub has not heard the last of these; the rest is done.
   */
  async leave(): Promise<void> {
    this.#do({ t: "end_all", why: "agent_stopped" });
    await Promise.all(this.#ends);
    await this.#settled();
    this.#link.leave("the tab was told to leave the hub");
    const { identity, hub, request } = this.#parts;
    await leaveHub(identity, hub.key, request);
  }

  /** Another tab is the device now: let go of everything at once and write nothing more. */
  halt(): void {
    this.#link.leave("another tab of this browser took over");
    this.#letGo("halted");
  }

  #letGo(why: string): void {
    this.#halted = true;
    this.#toBegin = [];
    for (const call of this.#calls.values()) call.running?.stop(why);
  }

  #dial(): Connection {
    const { identity, hub, dial, clock, every } = this.#parts;
    return new Connection({ dial, identity, hubKey: hub.key, ledger: this.#ledger.id, peer: this, clock, every });
  }

  nextReport(): number {
    return this.#ledger.nextReport;
  }

  welcomed(welcome: Welcome, terms: { provedAt: number; httpKey: Uint8Array }): Frame[] {
    this.#http = { token: welcome.http_token, key: terms.httpKey };
    this.#link.opened();
    this.#do({ t: "proved", at: terms.provedAt });
    this.outbox.connected(welcome.received);
    this.#show({ name: welcome.device_name });
    this.#taps = this.#tapsNow();
    const offer = this.#offer();
    const facts = { ...clockFact(this.#parts.clock(), welcome.hub_time_ms), suspending: "false", tap: this.#taps };
    return [...this.#begunLately(), offer, { t: "condition", facts }];
  }

  /** Tell what began here of work that must not be repeated: a hub whose history is older takes it up. */
  #begunLately(): Frame[] {
    const begun = this.#ledger.begunLately();
    return begun.length > 0 ? [this.#begunReport(begun)] : [];
  }

  #begunReport(begun: LeaseRef[]): Frame {
    const entries = begun.map((at) => ({ at, state: "begun" }));
    return { t: "ledger", calls: begun.map((at) => this.#ledger.callOf(at)), entries };
  }

  received(frames: Frame[]): void {
    for (const frame of frames) this.#receive(frame);
  }

  reports(): ReportFrame[] {
    return this.outbox.unsent();
  }

  alive(): Alive {
    return { t: "alive", running: core.runningRefs(this.state), sent_ms: Math.floor(this.#parts.clock() * 1000) };
  }

  #offer(): Frame {
    return makeOffer(this.#parts.tools, this.#view.policy, this.#parts.around(), this.#parts.facts);
  }

  #receive(frame: Frame): void {
    switch (frame.t) {
      case "dispatch":
      case "cancel":
      case "renew":
        this.#do(frame);
        return;
      case "resume_plan":
        this.#do({ t: "resumed", entries: frame.entries });
        return;
      case "ack":
        this.outbox.acknowledged(frame.durable);
        this.#schedule();
        return;
      case "query": {
        const entries = frame.attempts.map((at) => this.#entry(at));
        this.#link.push([{ t: "ledger", entries }]);
        return;
      }
      case "fetch_facts":
        this.#link.push([lookUp(frame, this.outbox.endOf(frame.at) ?? this.#ledger.resultOf(frame.at))]);
        return;
      case "name":
        this.#show({ name: frame.name });
        return;
      case "ping":
        this.#link.push([{ t: "pong", at_ms: frame.at_ms }]);
        return;
      default:
        // `drain` needs nothing here, `pong` neither, an `answer` has no question: a tab asks its person in the tab, and a new version of the page comes with the next reload.
        return;
    }
  }

  #entry(at: LeaseRef): LedgerEntry {
    const lease = this.state.held.get(leaseKey(at));
    const state = lease === undefined ? this.#ledger.stateOf(at) : lease.running ? "started" : "accepted";
    return { at, state };
  }

  #do(event: core.AgentEvent): void {
    for (const action of core.step(this.state, event)) this.#act(action);
    this.#schedule();
  }

  #act(action: core.Action): void {
    switch (action.a) {
      case "start":
        this.#start(action.dispatch, action.fenceAt);
        return;
      case "stop":
        this.#stop(action.at, action.why);
        return;
      case "move_fence":
        this.#ledger.fenceMoved(action.at, action.fenceAt);
        this.#calls.get(leaseKey(action.at))?.running?.moveFence(action.fenceAt);
        return;
      case "say_end": {
        const call = this.#calls.get(leaseKey(action.at));
        this.#calls.delete(leaseKey(action.at));
        if (call?.end != null) {
          const { durable, tail, dispatch } = call;
          reportEnd(this.outbox, this.#ledger, action.at, call.end, { durable, tail, tool: dispatch.tool });
        }
        return;
      }
      case "say_receipt":
        {
          const call = this.#calls.get(leaseKey(action.at));
          this.#calls.delete(leaseKey(action.at));
          const effect = action.effect ?? call?.end?.effect ?? "maybe";
          const terms = { effect, known: action.known, tool: call?.dispatch.tool ?? "" };
          reportReceipt(this.outbox, this.#ledger, action.at, terms);
        }
        return;
      case "say_result":
        this.#sayResult(action, { durable: true });
        return;
      case "answer_from_ledger":
        this.#answer(action);
        return;
      case "say_begun":
        this.#sayBegun(action.at, action.begun);
        return;
    }
  }

  #sayBegun(at: LeaseRef, earlier: LeaseRef): void {
    this.#link.push([this.#begunReport([earlier])]);
    if (this.#ledger.stateOf(at) !== "unknown") return;
    // A hub that takes up the earlier attempt has closed this lease by then; for an older hub this is in doubt.
    const detail = `this tab began attempt ${earlier.attempt} of it before; the hub's history is older`;
    this.#act({ a: "say_result", at, outcome: "interrupted", code: "interrupted", detail, effect: "maybe" });
  }

  #callOf(dispatch: Dispatch, durable: boolean): Kept {
    return { dispatch, durable, running: null, end: null, tail: "", told: {} };
  }

  #start(dispatch: Dispatch, fenceAt: number | null): void {
    const key = leaseKey(dispatch.at);
    const durable = dispatch.repeatability !== "pure";
    this.#calls.set(key, this.#callOf(dispatch, durable));
    const tool = this.#tools.get(dispatch.tool);
    const refused = judge(dispatch, tool, this.#view.policy, this.#parts.around(), (allowed, reason) => {
      const atMs = this.#parts.clock() * 1000;
      this.#ledger.decided({ atMs, lease: key, tool: dispatch.tool, allowed, reason });
    });
    if (refused !== null) {
      this.#callEnded(dispatch.at, refused);
      return;
    }
    if (durable) this.#ledger.started(dispatch, { effect: "none", fenceAt });
    reportStart(this.outbox, dispatch.at, { durable });
    this.#toBegin.push(key);
  }

  #stop(at: LeaseRef, why: string): void {
    const key = leaseKey(at);
    const call = this.#calls.get(key);
    if (call?.running != null) {
      call.running.stop(why);
      return;
    }
    this.#toBegin = this.#toBegin.filter((item) => item !== key);
    this.#callEnded(at, ended("interrupted", { code: "interrupted", detail: why, stopped: why }));
  }

  #sayResult({ at, outcome, code, detail, effect }: core.SayResult, { durable }: { durable: boolean }): void {
    const end = ended(outcome, { code, detail, effect });
    reportEnd(this.outbox, this.#ledger, at, end, { durable, tail: "", tool: "" });
  }

  #answer({ at, absent, call, other }: Extract<core.Action, { a: "answer_from_ledger" }>): void {
    if (other !== undefined && !["", call].includes(this.#ledger.callOf(at))) {
      // What the ledger has stays as it is: it is the record of the other call.
      this.#sayResult(other, { durable: false });
      return;
    }
    const pending = this.outbox.endOf(at);
    if (pending !== null) {
      this.outbox.sendAgain(pending.report);
      return;
    }
    const earlier = this.#ledger.resultOf(at);
    if (earlier !== null) this.outbox.add((report) => ({ ...earlier, report }), { durable: true });
    else if (this.#ledger.stateOf(at) === "unknown" && absent !== null) this.#act(absent);
  }

  // The end of a turn: one flush, then effects.

  /** Everything that was decided so far is on disk, and may leave. */
  async #settled(): Promise<void> {
    this.#schedule();
    while (this.#turn !== null) await this.#turn;
  }

  #schedule(): void {
    if (this.#halted) return;
    this.#turn ??= Promise.resolve().then(() => this.#putDown());
  }

  async #putDown(): Promise<void> {
    const newest = this.outbox.newest;
    const begin = this.#toBegin;
    this.#toBegin = [];
    try {
      await this.#ledger.flush();
    } catch (error) {
      this.#toBegin = [...begin, ...this.#toBegin];
      this.#turn = null;
      this.#diskFailed = true;
      this.#show({ trouble: `${String(error)}; nothing begins and no report leaves until it can be written` });
      this.#parts.after(DISK_AGAIN_S, () => this.#schedule());
      return;
    }
    this.#turn = null;
    if (this.#halted) return;
    this.outbox.mayLeave(newest);
    for (const key of begin) {
      const call = this.#calls.get(key);
      if (call !== undefined && call.end === null) {
        this.#begin(call.dispatch.at, { begunAt: this.#parts.clock(), touched: false });
      }
    }
    this.#link.wake();
    if (this.#diskFailed) this.#show({ trouble: "" });
    this.#diskFailed = false;
    this.#showCalls();
    if (this.#toBegin.length > 0 || this.outbox.newest > newest) this.#schedule();
  }

  #begin(at: LeaseRef, terms: { begunAt: number; touched: boolean }): void {
    const key = leaseKey(at);
    const call = this.#calls.get(key);
    const lease = this.state.held.get(key);
    const tool = call && this.#tools.get(call.dispatch.tool);
    if (call === undefined || lease === undefined || tool === undefined || lease.stopping) return;
    const { clock, after, pause, request } = this.#parts;
    this.#chatter.begin(at);
    call.running = new RunningCall(
      tool,
      call.dispatch,
      { ...terms, fenceAt: lease.fenceAt, durable: call.durable },
      {
        ledger: this.#ledger,
        clock,
        after,
        pause,
        request,
        http: () => (this.#link.isOpen ? this.#http : null),
        ask: (question, signal) => this.#questions.ask(call.dispatch, question, signal),
        say: (stream, text) => this.#chatter.said(at, stream, text),
        show: (title, text) => {
          this.#shown += 1;
          const notice = { id: this.#shown, title, text };
          this.#show({ notices: [notice, ...this.#view.notices].slice(0, NOTICES_MOST) });
        },
        progress: (progress) => {
          this.#chatter.progress(at, progress);
          call.told = progress;
          this.#showCalls();
        },
      },
    );
    const over = call.running.run().then((end) => {
      call.tail = this.#chatter.end(at);
      this.#ends.delete(over);
      if (!this.#halted) this.#callEnded(at, end);
    });
    this.#ends.add(over);
  }

  #callEnded(at: LeaseRef, end: CallEnd): void {
    const call = this.#calls.get(leaseKey(at));
    if (call !== undefined) call.end = end;
    this.#do({ t: "call_ended", at, stopped: end.stopped !== "" });
  }
}
