/** The calls of schedules. Their types are those of the contract. */
import type { BodyOf, Rest } from "./rest.ts";

type NewSchedule = BodyOf<"post", "/schedules">;
type ClockAsked = BodyOf<"post", "/schedule-preview">;
type PatchSchedule = BodyOf<"patch", "/schedules/{schedule}">;

/** The work of a schedule: exactly one of words, a recipe, and an earlier constellation. */
export type Runs = Pick<NewSchedule, "request" | "recipe" | "params" | "from_constellation">;
/** When a schedule fires, and what happens around a firing. */
export type Terms = Required<
  Pick<NewSchedule, "cron" | "zone" | "except_days" | "name" | "overlap" | "catch_up" | "notify" | "notify_device">
>;
export type ScheduleAction = "pause" | "resume" | "run";

export class Schedules {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  /** The last runs of a schedule beside each other, and what has changed over them. */
  runs = (id: string, signal?: AbortSignal) =>
    this.rest.get("/schedule-runs/{schedule}", { path: { schedule: id }, signal });
  list = (signal?: AbortSignal) => this.rest.get("/schedules", { signal });
  preview = (body: ClockAsked, signal?: AbortSignal) => this.rest.post("/schedule-preview", { body, signal });
  make = (body: NewSchedule) => this.rest.create("/schedules", { body });
  change = (id: string, body: PatchSchedule) =>
    this.rest.patch("/schedules/{schedule}", { path: { schedule: id }, body });
  control = (id: string, action: ScheduleAction) =>
    this.rest.post("/schedules/{schedule}/{action}", { path: { schedule: id, action } });
  /** Marks the notices of schedules as seen by who asks, in one request. */
  seen = (schedules: string[]) => this.rest.post("/schedule-notices/seen", { body: { schedules } });
  remove = (id: string) => this.rest.delete("/schedules/{schedule}", { path: { schedule: id } });
}
