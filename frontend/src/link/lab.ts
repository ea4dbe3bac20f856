/** The endpoints of the lab, there only where the hub was started with it. The hub's OpenAPI is the authority. */
import type { FaultKind, FaultState, FaultTarget } from "../model/lab.ts";
import type { Rest } from "./rest.ts";

export type BreakableTarget = "device" | "link";

/** A simulated device, and what can be broken of it now. */
export interface BreakableRow {
  id: string;
  name: string;
  can: Partial<Record<FaultTarget, FaultKind[]>>;
  why_not: string | null;
}

export interface StoryLine {
  at_s: number;
  kind: "fault" | "healed" | "engine" | "note";
  text: string;
}

/** What became of one constellation that a fault met. */
export interface MetRow {
  constellation: string;
  name: string;
  state: string;
  ended: boolean;
  story: StoryLine[];
  begun: Record<string, Record<string, number>>;
}

export interface FaultRow {
  id: string;
  state: FaultState;
  report: MetRow[];
}

export interface Wish {
  target: BreakableTarget;
  device: string;
  kind: FaultKind;
  for_s: number;
}

export type RunState = "starting" | "running" | "met" | "not_met" | "stopped" | "failed";

export interface ScenarioRow {
  name: string;
  title: string;
  about: string;
  devices: string[];
  faults: { target: FaultTarget; kind: FaultKind; device: string | null; for_s: number }[];
  expect: { state: string; within_s: number };
  latest: { id: string; state: RunState; ended_at: string | null } | null;
}

export interface RunRow {
  id: string;
  scenario: string;
  state: RunState;
  began_at: string;
  ended_at: string | null;
  story: StoryLine[];
  said: string[];
  why: string;
  misses: string[];
  effects: Record<string, Record<string, number>>;
  took_s: number | null;
  end: string | null;
}

const at = encodeURIComponent;

export class Lab {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  faults = (signal?: AbortSignal) => this.rest.get<{ devices: BreakableRow[] }>("/lab/faults", signal);
  fault = (id: string, signal?: AbortSignal) => this.rest.get<FaultRow>(`/lab/faults/${at(id)}`, signal);
  wound = (wish: Wish) => this.rest.create<FaultRow>("/lab/faults", wish);
  heal = (id: string) => this.rest.delete<FaultRow>(`/lab/faults/${at(id)}`);

  scenarios = (signal?: AbortSignal) => this.rest.get<{ items: ScenarioRow[] }>("/lab/scenarios", signal);
  start = (scenario: string) => this.rest.create<RunRow>(`/lab/scenarios/${at(scenario)}/runs`, {});
  run = (scenario: string, run: string, signal?: AbortSignal) =>
    this.rest.get<RunRow>(`/lab/scenarios/${at(scenario)}/runs/${at(run)}`, signal);
  stop = (scenario: string, run: string) => this.rest.delete<RunRow>(`/lab/scenarios/${at(scenario)}/runs/${at(run)}`);
}
