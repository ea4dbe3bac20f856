/** The lenses on a constellation, and the one that is shown when none is asked for. */
export type Lens = "planning" | "answer" | "graph" | "list" | "timeline" | "conversation";

export const LENS: Record<Lens, string> = {
  planning: "Planning",
  answer: "Answer in full",
  graph: "Graph",
  list: "List",
  timeline: "Timeline",
  conversation: "Conversation",
};

/** Above this many tasks outside of groups the list is shown first. */
const LOOSE_TASKS_MAX = 500;

/**
 * The lens that is shown: the one asked for, else the answer once there is one, else graph or list. Where a task is
 * open, or the work failed and its plan names no answer, so that there are bare results, one of them has to be asked for.
 */
export function lensOf(
  asked: string | null,
  has: { planning: boolean; answer: boolean; part: boolean; task: boolean; failed: boolean; listed: boolean },
): Lens {
  if (has.planning && (asked === null || asked === "planning")) return "planning";
  if (asked === "answer" && has.answer) return "answer";
  if (asked === "graph" || asked === "list" || asked === "timeline" || asked === "conversation") return asked;
  if (has.answer && (has.part || !(has.task || has.failed))) return "answer";
  return has.listed ? "list" : "graph";
}

/** Whether so many tasks stand outside of groups that a list says more than a drawing of all of them. */
export const manyLoose = (loose: number): boolean => loose > LOOSE_TASKS_MAX;
