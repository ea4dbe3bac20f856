/**
 * How a state is shown: looked up in the generated table of the vocabulary and nowhere else.
 * `LOOK` joins the table's glyph and tone to the page's style classes.
 */
import { PRESENTATION, REASON_WORDS, TASK_STATE_WORDS } from "../../generated/protocol.ts";
import type { Glyph, Reason, TaskState, Tone } from "../types.ts";

export interface Shown {
  word: string;
  glyph: Glyph;
  tone: Tone;
  /** Hatched: stuck, so never behind text. */
  stuck: boolean;
}

/** How many stand where: a piece of a state bar. */
export interface Count {
  shown: Shown;
  count: number;
}

const LISTED = new Map(
  PRESENTATION.map((row) => [
    keyOf(row.state, row.reason, row.checked),
    { word: row.word, glyph: row.glyph, tone: row.tone, stuck: row.glyph === "barrier" || row.glyph === "broken_arc" },
  ]),
);
const TABLE = new Map<string, Shown>();
// The list leaves out what is shown like the same state with less said.
for (const state of TASK_STATE_WORDS)
  for (const reason of [null, ...REASON_WORDS])
    for (const checked of [false, true]) {
      const key = keyOf(state, reason, checked);
      const less = [key, keyOf(state, reason, false), keyOf(state, null, checked), keyOf(state, null, false)];
      const shown = less.map((one) => LISTED.get(one)).find((one) => one !== undefined);
      if (shown) TABLE.set(key, shown);
    }
const WORDED = new Map<string, Shown>();

/** The twin of `vocabulary.presentation`. */
export function presentation(
  state: TaskState,
  reason: Reason | null | undefined,
  more: { attempt?: number; checked?: boolean; by?: string; until?: string } = {},
): Shown {
  const shown = TABLE.get(keyOf(state, reason, more.checked ?? false));
  if (!shown) throw new Error(`the vocabulary shows no ${state}/${reason}: the page is older than the hub, reload it`);
  if (state === "succeeded" && reason === "marked" && more.by) return worded(shown, `Marked done by ${more.by}`);
  if (reason === "moment" && more.until) return worded(shown, `Waiting, begins at ${more.until}`);
  const attempt = more.attempt ?? 0;
  if (attempt < 2 || shown.glyph !== "turning_arc") return shown;
  return worded(shown, `${shown.word}, attempt ${attempt}`);
}

function keyOf(state: TaskState, reason: Reason | null | undefined, checked: boolean): string {
  return `${state}/${reason ?? ""}/${checked}`;
}

/** A presentation with words of its own: the same object for the same words. */
function worded(shown: Shown, word: string): Shown {
  let made = WORDED.get(word);
  if (!made) {
    made = { ...shown, word };
    WORDED.set(word, made);
  }
  return made;
}

/** The order in which states stand in a bar and in a summary: settled first, ahead last. */
export const GLYPH_ORDER: readonly Glyph[] = [
  "tick",
  "double_tick",
  "cross",
  "question",
  "alarm",
  "turning_arc",
  "open_arc",
  "ringed_square",
  "broken_arc",
  "barrier",
  "hand",
  "dotted_ring",
  "ring",
  "chevrons",
  "square",
];
