/** Words of a recipe's last runs. Pure. */
import { type TrendRun, WAITS } from "../types.ts";
import { constellationShown, duration } from "../words/words.ts";

export const stateWord = (run: TrendRun): string => constellationShown(run.state).word;

/** What a run waited for longest; empty where it did not wait. */
export function waitWords(run: TrendRun): string {
  const words = run.wait ? WAITS[run.wait] : undefined;
  return words && run.wait_ms > 0 ? `${duration(run.wait_ms)} ${words}` : "";
}
