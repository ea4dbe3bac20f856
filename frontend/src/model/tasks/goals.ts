/** A goal as its panel shows it: its aim, how far it is, and a line for each turn. Reads the stream; no React. */

import type { StreamModel } from "../stream/stream.ts";
import {
  GOAL_ANSWER_SUFFIX,
  type GoalTurn,
  type GroupRecord,
  type Job,
  type ModelCall,
  type TaskSpec,
} from "../types.ts";
import { bytes, codeTitle, duration, money, plural } from "../words/words.ts";
import { head, resultOf, taskView } from "./selectors.ts";

export interface GoalCall {
  task: string;
  /** The tool with its arguments; empty for the answer. */
  text: string;
  /** One line of what came back, or the state of the call. */
  card: string;
}

interface GoalLine {
  key: string;
  /** `3` for a step, else the kind of the turn. */
  mark: string;
  note: string;
  /** `1,200 tokens, 0.0031 dollars, 2.1 s`; empty where no model was called for it. */
  cost: string;
  calls: GoalCall[];
}

interface GoalSeen {
  aim: string;
  /** `3 of 20 steps, 4,120 tokens, 0.0031 dollars`, and the tier that makes the turns where there are several. */
  spent: string;
  lines: GoalLine[];
  /** Whether a hint is taken now. */
  open: boolean;
  /** Why it ended without an answer; empty if it did not. */
  unmet: string;
}

const ARGS_MOST = 90;
const CARD_MOST = 140;
const MARKS: Record<string, string> = {
  refused: "not taken",
  told: "gets nowhere",
  hint: "hint",
  escalated: "next tier",
  handed: "hands over to a person",
};

export function goalSeen(model: StreamModel, fleet: StreamModel, group: string): GoalSeen | null {
  const spec = model.one<TaskSpec>(`spec/${group}`);
  if (!spec?.goal) return null;
  const round = model.one<GroupRecord>(`group/${group}`)?.round ?? 1;
  const named = `${group}/${round}`;
  const job = [...model.kind<Job>("job").values()].find((one) => one.kind === "goal" && one.tasks?.[0] === named);
  const turns = job?.goal?.turns ?? [];
  const steps = turns.reduce((used, turn) => used + (turn.kind === "step" ? (turn.uses ?? 1) : 0), 0);
  const most = (spec.goal.steps ?? 20) * (1 + (job?.goal?.more ?? 0));
  const tokens = (job?.tokens ?? 0).toLocaleString("en");
  const tier = job?.goal?.tier ? `, tier ${job.goal.tier}` : "";
  const state = head(model)?.state;
  return {
    aim: spec.goal.aim,
    spent: `${steps} of ${plural(most, "step")}, ${tokens} tokens${money(job?.micros ?? 0)}${tier}`,
    lines: lines(model, fleet, group, turns, job),
    open:
      Boolean(job) && job?.state !== "done" && job?.state !== "ending" && (state === "active" || state === "paused"),
    unmet: job?.fault?.reason ?? "",
  };
}

function lines(
  model: StreamModel,
  fleet: StreamModel,
  group: string,
  turns: readonly GoalTurn[],
  job: Job | undefined,
): GoalLine[] {
  const asked = callsByTurn(model, turns, job);
  let number = 0;
  const found = turns.map((turn, index): GoalLine => {
    if (turn.kind === "step") number += 1;
    return {
      key: `${index}`,
      mark: turn.kind === "step" ? `${number}` : (MARKS[turn.kind] ?? turn.kind),
      note: turn.tier ? `${turn.note ?? ""}; ${turn.tier} goes on` : (turn.note ?? ""),
      cost: costOf(asked[index] ?? []),
      calls: (turn.tasks ?? []).map((task) => ({ task, text: callOf(model, task), card: cardOf(model, fleet, task) })),
    };
  });
  const answer = group + GOAL_ANSWER_SUFFIX;
  if (model.one<TaskSpec>(`spec/${answer}`)) {
    const call = { task: answer, text: "", card: cardOf(model, fleet, answer) };
    found.push({ key: "answer", mark: "answer", note: "", cost: costOf(asked[turns.length] ?? []), calls: [call] });
  }
  return found;
}

/**
 * The calls of the model for each turn; those after the last turn stand behind it, and were for the answer.
 *
 * No record names the turn of a call. The model is asked before its turn is taken, so a call belongs to the next turn
 * that it can have led to; a hint may come while the model is asked.
 */
function callsByTurn(model: StreamModel, turns: readonly GoalTurn[], job: Job | undefined): ModelCall[][] {
  const found: ModelCall[][] = [...turns, null].map(() => []);
  for (const call of model.kind<ModelCall>("call").values()) {
    if (call.job !== job?.id) continue;
    const turn = turns.findIndex((one) => one.kind !== "hint" && one.at_ms >= call.asked_ms);
    found[turn < 0 ? turns.length : turn]?.push(call);
  }
  return found;
}

function costOf(calls: readonly ModelCall[]): string {
  if (calls.length === 0) return "";
  const sum = (figure: (call: ModelCall) => number | undefined) =>
    calls.reduce((whole, call) => whole + (figure(call) ?? 0), 0);
  const tokens = sum((call) => call.input_tokens) + sum((call) => call.output_tokens);
  const time = duration(sum((call) => call.took_ms));
  return `${tokens.toLocaleString("en")} tokens${money(sum((call) => call.micros))}, ${time}`;
}

/** The head of what a call gave, in one line; its state as long as it gave nothing. */
function cardOf(model: StreamModel, fleet: StreamModel, task: string): string {
  const view = taskView(model, fleet, task);
  if (!view) return "not in the plan";
  const { attempt, record, shown } = view;
  if (record?.state !== "succeeded") {
    const why = record?.state === "failed" ? attempt?.detail || codeTitle(record.code ?? attempt?.code) : "";
    return oneLine(why ? `${shown.word}: ${why}` : shown.word);
  }
  const value = resultOf(view);
  if (value !== null) return oneLine(value);
  return attempt?.artifact ? `a file of ${bytes(attempt.bytes ?? 0)}` : oneLine(attempt?.detail || "no value");
}

function oneLine(text: string): string {
  const line = text.slice(0, CARD_MOST + 1).replaceAll("\n", " ");
  return line.length > CARD_MOST ? `${line.slice(0, CARD_MOST)}…` : line;
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
