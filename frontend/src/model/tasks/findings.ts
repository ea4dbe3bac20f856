/** The finding that an input by topic has taken, and how old it was when its task began. */
import type { StreamModel } from "../stream/stream.ts";
import type { Finding } from "../types.ts";
import { duration } from "../words/words.ts";
import type { TaskView } from "./selectors.ts";

export interface Taken {
  /** Absent where the plan's value stands in place of a finding. */
  finding?: Finding;
  age: string;
}

/** Undefined as long as the input has taken nothing. */
export function findingTaken(model: StreamModel, view: TaskView, input: string): Taken | undefined {
  const number = view.record?.took?.[input];
  if (number === undefined) return undefined;
  const finding = number ? model.one<Finding>(`finding/${number}`) : undefined;
  if (!finding) return { age: "" };
  const then = view.attempt?.leased_ms ?? view.record?.since_ms ?? finding.at_ms;
  return { finding, age: duration(Math.max(then - finding.at_ms, 0)) };
}
