/** The endpoints of schedules, with their shapes. The hub's OpenAPI is the authority. */
import type { CatchUp, ConstellationState, NotifyWhen, Overlap, ScheduleState } from "../model/types.ts";
import type { Preview } from "./endpoints.ts";
import type { Rest } from "./rest.ts";

export interface ScheduleRow {
  id: string;
  name: string;
  state: ScheduleState;
  cron: string;
  zone: string;
  /** The clock in words: `At 02:30 every day`. */
  in_words: string;
  /** The next five firings, in the schedule's own zone. */
  next: string[];
  overlap: Overlap;
  catch_up: CatchUp;
  notify: NotifyWhen;
  notify_device: string | null;
  request: string;
  recipe: string | null;
  running: string[];
  waiting: string[];
  fired: number;
  skipped: number;
  last: { constellation: string; due_at: string; ended_at: string; state: ConstellationState } | null;
  notice: { at: string; constellation: string | null; count: number; text: string } | null;
  stopped: { code: string; reason: string; hint?: string } | null;
  approved: { by: string; devices: string[]; effects: string[]; plan_hash: string } | null;
}

/** What is to run: exactly one of words, a recipe, and what a constellation ran. */
export interface Runs {
  request?: string;
  recipe?: string;
  params?: Record<string, unknown>;
  from_constellation?: string;
}

export interface ClockBody {
  cron: string;
  zone: string;
}

export interface Terms extends ClockBody {
  name: string;
  overlap: Overlap;
  catch_up: CatchUp;
  notify: NotifyWhen;
  notify_device: string | null;
}

export interface SchedulePreview {
  next: string[];
  in_words: string;
  zone: string;
  /** Null where nothing was said to run. */
  plan: Preview | null;
}

export type ScheduleAction = "pause" | "resume" | "run" | "seen";

const at = encodeURIComponent;

export class Schedules {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  list = (signal?: AbortSignal) => this.rest.get<{ items: ScheduleRow[] }>("/schedules", signal);
  preview = (body: Runs & ClockBody, signal?: AbortSignal) =>
    this.rest.post<SchedulePreview>("/schedule-preview", body, signal);
  make = (body: Runs & Terms & { plan_hash?: string }, key: string) =>
    this.rest.create<ScheduleRow>("/schedules", body, key);
  change = (id: string, body: Partial<Terms>) => this.rest.patch<ScheduleRow>(`/schedules/${at(id)}`, body);
  control = (id: string, action: ScheduleAction) => this.rest.post<ScheduleRow>(`/schedules/${at(id)}/${action}`);
  remove = (id: string) => this.rest.delete<{ name: string; running: string[] }>(`/schedules/${at(id)}`);
}
