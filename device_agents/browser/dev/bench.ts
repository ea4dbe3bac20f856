/** One tab's agent over a store that outlives it, with a clock that the test moves. */
import { z } from "zod";
import { Agent, type AgentParts } from "../src/agent/agent.ts";
import { loadOrMake } from "../src/agent/identity.ts";
import { FIRST_POLICY } from "../src/agent/policy.ts";
import type { OpenQuestion } from "../src/agent/questions.ts";
import { Ledger } from "../src/ledger/ledger.ts";
import { Store } from "../src/ledger/store.ts";
import { type Call, type Tool, tool } from "../src/tools/interface.ts";
import { FakeHub, HUB_KEY } from "./fakeHub.ts";

let stores = 0;

/** Timers that fire when the test says that time has passed. */
class FakeTime {
  now = 1_000_000;
  #timers = new Map<number, { due: number; act: () => void; every: number }>();
  #next = 0;

  readonly clock = (): number => this.now;
  readonly after = (s: number, act: () => void): (() => void) => this.#add(s, act, 0);
  readonly every = (s: number, act: () => void): (() => void) => this.#add(s, act, s);
  readonly pause = (s: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      this.after(s, resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });

  #add(s: number, act: () => void, every: number): () => void {
    const id = this.#next++;
    this.#timers.set(id, { due: this.now + s, act, every });
    return () => this.#timers.delete(id);
  }

  pass(s: number): void {
    this.now += s;
    for (const [id, timer] of [...this.#timers]) {
      if (timer.due > this.now || !this.#timers.has(id)) continue;
      if (timer.every > 0) timer.due = this.now + timer.every;
      else this.#timers.delete(id);
      timer.act();
    }
  }
}

/** A tool whose body a test writes. */
export function made(name: string, run: (call: Call) => Promise<unknown>, more: Partial<Tool> = {}): Tool {
  return tool({
    name,
    title: name,
    capability: "ask",
    args: z.looseObject({}),
    effects: ["read"],
    repeatability: "never",
    resumes: false,
    gives: z.unknown(),
    probe: () => null,
    run,
    ...more,
  } as Tool<z.ZodObject>);
}

export class Bench {
  readonly hub = new FakeHub();
  readonly time = new FakeTime();
  readonly #name: string;
  readonly #more: Partial<AgentParts>;

  constructor(more: Partial<AgentParts> = {}) {
    stores += 1;
    this.#name = `bench-${stores}`;
    this.#more = more;
  }

  store(): Promise<Store> {
    return Store.open(this.#name);
  }

  /** One life of the tab: opened, recovered, connected. A second call is the tab after a reload. */
  async life(tools: Tool[]): Promise<Agent> {
    const store = await this.store();
    const agent = new Agent({
      identity: await loadOrMake(store),
      hub: { key: HUB_KEY, name: "phone" },
      ledger: await Ledger.open(store, () => this.time.now * 1000),
      tools,
      policy: FIRST_POLICY,
      around: () => ({ secure: true, navigator: {}, notifications: "absent", hasWasm: true }),
      facts: {},
      dial: this.hub.dial,
      clock: this.time.clock,
      after: this.time.after,
      every: this.time.every,
      pause: this.time.pause,
      request: () => Promise.reject(new TypeError("no network in this test")),
      jitter: () => 0,
      ...this.#more,
    });
    await agent.recover();
    void agent.run();
    const before = this.hub.heard.length;
    await this.hub.until((hub) => hub.heard.slice(before).some((frame) => frame.t === "offer"));
    return agent;
  }

  /** The tab is gone from one moment to the next: nothing more is written or said. */
  kill(agent: Agent): void {
    this.hub.cut();
    agent.halt();
  }

  async question(agent: Agent): Promise<OpenQuestion> {
    for (;;) {
      const [open] = agent.view().questions;
      if (open !== undefined) return open;
      await new Promise<void>((resolve) => {
        const stop = agent.subscribe(() => {
          stop();
          resolve();
        });
      });
    }
  }
}
