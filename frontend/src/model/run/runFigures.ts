/** The figures of a run in words for a row: few, the most telling first. Pure. */
import type { RunReport } from "../types.ts";
import { FOR_A_PERSON, WAITS } from "../types.ts";
import { duration } from "../words/words.ts";

interface Figure {
  name: string;
  value: string;
  /** What it means, for who points at it. */
  about: string;
}

/** The cause of a wait for a device, where that device is away; the report's own word is *for a free device*. */
export const FOR_ONE_AWAY = "for a device that is away";

/** `away`: a task waited for a device that was away, which the report counts as a wait for a free one. */
export function figuresOf(report: RunReport, away = false): Figure[] {
  const { model, recoveries } = report;
  const figures: Figure[] = [
    {
      name: report.ended ? "Took" : "So far",
      value: duration(report.makespan_ms),
      about: "From the request to the end, or until now.",
    },
  ];
  if (report.gain > 0) {
    figures.push({
      name: "One at a time",
      value: `${duration(report.one_at_a_time_ms)} (${Math.round(report.gain * 100)} % saved)`,
      about: "The time of all tasks on devices, one after the other, and the time in which no device worked.",
    });
  }
  figures.push(
    {
      name: "Critical path",
      value: duration(report.path_ms),
      about: "The time on devices of the longest chain of tasks that followed each other.",
    },
    {
      name: "Work",
      value: duration(report.work_ms),
      about: `The time of all tasks on devices, added up; ${report.parallelism} times the longest chain.`,
    },
    {
      name: "At once",
      value: `${report.width_mean} on average, ${report.width_most} at most`,
      about: "Tasks on devices at the same time.",
    },
  );
  if (report.for_person_ms > 0) {
    figures.push({
      name: "Waited for you",
      value: duration(report.for_person_ms),
      about: "The time in which at least one task waited for something that a person ends.",
    });
  }
  for (const wait of report.waits.filter((one) => !FOR_A_PERSON.has(one.cause)).slice(0, 2)) {
    figures.push({
      name: `Waited ${away && wait.cause === "queue" ? FOR_ONE_AWAY : (WAITS[wait.cause] ?? "")}`,
      value: `${duration(wait.wall_ms)}, ${wait.tasks === 1 ? "1 task" : `${wait.tasks} tasks`}`,
      about: `${duration(wait.total_ms)} added up over these tasks.`,
    });
  }
  const mended = Object.values(recoveries).reduce((sum, count) => sum + count, 0);
  if (mended > 0) {
    const words = Object.entries(recoveries).filter(([, count]) => count > 0);
    figures.push({
      name: "Recovered",
      value: String(mended),
      about: words.map(([rung, count]) => `${RUNGS[rung] ?? rung}: ${count}`).join(", "),
    });
  }
  if (!model.calls && model.time_ms) {
    figures.push({ name: "Planned in", value: duration(model.time_ms), about: "No model was asked." });
  }
  if (model.calls) {
    const dollars = ((model.micros ?? 0) / 1_000_000).toFixed(2);
    figures.push({
      name: "Model",
      value: `${duration(model.time_ms ?? 0)}, $${dollars}`,
      about: `${model.calls} calls, ${(model.tokens ?? 0).toLocaleString("en-US")} tokens.`,
    });
  }
  if (model.spared) {
    figures.push({
      name: "Planner calls saved",
      value: String(model.spared),
      about: "Tasks that succeeded by another call of the plan or of the owner, without a new plan by a model.",
    });
  }
  const turns = Object.entries(model.turns ?? {});
  if (turns.length > 0) {
    figures.push({
      name: "Turns of goals",
      value: turns.map(([tier, count]) => `${count} by ${tier}`).join(", "),
      about: `How often a next tier went on: ${model.escalations ?? 0}.`,
    });
  }
  return figures;
}

const RUNGS: Record<string, string> = {
  retried: "tried again on the same device",
  moved: "moved to another device",
  hedged: "finished first by a second attempt",
  rerouted: "gone round by another call",
  verified: "settled by a look at what had happened",
  edited: "mended by a change of the plan",
  person: "settled by a person",
};
