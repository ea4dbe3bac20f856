/** The constellations that Home lists as running: each that waits is shown once, by its question where it has one. */
import type { ConstellationRow } from "../../model/types.ts";

/** Those that are not shown by the question that they wait for; `asked` are the constellations of all open questions. */
export function beyondQuestions(running: readonly ConstellationRow[], asked: ReadonlySet<string>): ConstellationRow[] {
  return running.filter((row) => !(asked.has(row.id) && waitsForItsQuestion(row)));
}

/** Whether nothing but a question holds it up: other causes have no card of their own above. */
const waitsForItsQuestion = ({ state, attention = [] }: ConstellationRow): boolean =>
  state === "awaiting_approval" || (attention.length > 0 && attention.every((one) => one === "question_open"));
