/** The constellations that Home lists as running: none that only repeats a question which is shown above. */
import type { ConstellationRow } from "../../model/types.ts";
import { goesOn } from "../../model/words/words.ts";

/** Those to list; `asked` are the constellations of all open questions. */
export function withoutRepeatedQuestions(
  running: readonly ConstellationRow[],
  asked: ReadonlySet<string>,
): ConstellationRow[] {
  // In a list of what runs, one that waits for a question shows how far its other tasks are.
  const hasWork = running.some(goesOn);
  return running.filter((row) => {
    if (!asked.has(row.id)) return true;
    return row.state !== "awaiting_approval" && (hasWork || !waitsForItsQuestion(row));
  });
}

/** Whether nothing but a question holds it up: other causes have no question above. */
const waitsForItsQuestion = ({ attention = [] }: ConstellationRow): boolean =>
  attention.length > 0 && attention.every((one) => one === "question_open");
