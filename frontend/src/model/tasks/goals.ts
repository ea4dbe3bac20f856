/** A goal as its panel shows it: its aim, how far it is, and a line for each turn. Reads the stream; no React. */

import type { StreamModel } from "../stream/stream.ts";
import type { GoalTurn, GroupRecord, Job, TaskSpec } from "../types.ts";
import { plural } from "../words/words.ts";
import { head } from "./selectors.ts";

export interface GoalLine {
  key: string;
  /** `3` for a step, else the kind of the turn. */
  mark: string;
  note: string;
  /** The calls of a step: the task, and the tool with its arguments. */
  calls: { task: string; text: string }[];
}

export interface GoalSeen {
  aim: string;
  /** `3 of 20 steps, 4,120 tokens`, and the tier that makes the turns where there are several. */
  spent: string;
  lines: GoalLine[];
  /** Whether a hint is taken now. */
  open: boolean;
  /** Why it ended without an answer; empty if it did not. */
  unmet: string;
}

const ARGS_MOST = 90;
const MARKS: Record<string, string> = {
  refused: "not taken",
  told: "gets nowhere",
  hint: "hint",
  escalated: "next tier",
  handed: "hands over to a person",
};

export function goalSeen(model: StreamModel, group: string): GoalSeen | null {
  const spec = model.one<TaskSpec>(`spec/${group}`);
  if (!spec?.goal) return null;
  const round = model.one<GroupRecord>(`group/${group}`)?.round ?? 1;
  const named = `${group}/${round}`;
  const job = [...model.kind<Job>("job").values()].find((one) => one.kind === "goal" && one.tasks?.[0] === named);
  const turns = job?.goal?.turns ?? [];
  const steps = turns.reduce((used, turn) => used + (turn.kind === "step" ? (turn.uses ?? 1) : 0), 0);
  const most = (spec.goal.steps ?? 20) * (1 + (job?.goal?.more ?? 0));
  const tokens = (job?.tokens ?? 0).toLocaleString("en");
  const state = head(model)?.state;
  return {
    aim: spec.goal.aim,
    spent: `${steps} of ${plural(most, "step")}, ${tokens} tokens${job?.goal?.tier ? `, tier ${job.goal.tier}` : ""}`,
    lines: lines(model, turns),
    open:
      Boolean(job) && job?.state !== "done" && job?.state !== "ending" && (state === "active" || state === "paused"),
    unmet: job?.fault?.reason ?? "",
  };
}

function lines(model: StreamModel, turns: readonly GoalTurn[]): GoalLine[] {
  let number = 0;
  return turns.map((turn, index) => {
    if (turn.kind === "step") number += 1;
    return {
      key: `${index}`,
      mark: turn.kind === "step" ? `${number}` : (MARKS[turn.kind] ?? turn.kind),
      note: turn.tier ? `${turn.note ?? ""}; ${turn.tier} goes on` : (turn.note ?? ""),
      calls: (turn.tasks ?? []).map((task) => ({ task, text: callOf(model, task) })),
    };
  });
}

function callOf(model: StreamModel, task: string): string {
  const spec = model.one<TaskSpec>(`spec/${task}`);
  if (!spec) return task;
  const args = spec.args && spec.args !== "{}" ? ` ${spec.args}` : "";
  const text = `${spec.tool ?? ""}${args}`;
  return text.length > ARGS_MOST ? `${text.slice(0, ARGS_MOST)}…` : text;
}

/** Whether a task is a step or the answer of a goal, which is steered as a whole. */
export const isOfGoal = (model: StreamModel, spec: TaskSpec): boolean =>
  Boolean(spec.group && model.one<TaskSpec>(`spec/${spec.group}`)?.goal);
