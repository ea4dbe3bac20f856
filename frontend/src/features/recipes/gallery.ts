/** The gallery of recipes: its sections in their order, and what keeps a recipe from being tried. Pure. */
import type { RecipeRow } from "../../model/types.ts";
import { PURPOSE_WORDS, type Purpose } from "../../model/types.ts";

const TITLES: Record<Purpose, { title: string; says: string }> = {
  backup: { title: "Keep it safe", says: "Backups, checked, and the proof that they can be restored." },
  files: { title: "Find and move files", says: "Between your devices, without a cloud." },
  health: { title: "See how things are", says: "Machines, disks, logs and sites. These only look." },
  upkeep: { title: "Look after machines", says: "Commands, updates and restarts, with proof." },
  build: { title: "Build, test and compute", says: "On all of your machines at once." },
};

interface GallerySection {
  key: string;
  title: string;
  says: string;
  items: RecipeRow[];
}

/** Those on trial first, then one's own, then the built-in ones by purpose; empty sections are left out. */
export function sections(rows: readonly RecipeRow[]): GallerySection[] {
  const trial = rows.filter((row) => row.trust?.trial);
  const saved = rows.filter((row) => row.built_in === false && !row.trust?.trial);
  const own = saved.filter((row) => !isByAssistant(row));
  const given = rows.filter((row) => row.built_in !== false);
  const known = PURPOSE_WORDS.map((purpose) => ({
    key: purpose as string,
    ...TITLES[purpose],
    items: given.filter((row) => row.purpose === purpose),
  }));
  const others = given.filter((row) => !row.purpose || !PURPOSE_WORDS.includes(row.purpose));
  return [
    { key: "trial", title: "On trial", says: "Kept from what worked. Their words show the plan first.", items: trial },
    { key: "own", title: "Yours", says: "Saved on this hub.", items: own },
    {
      key: "assistant",
      title: "Saved by an assistant",
      says: "No person has saved them since. Running one asks what a plan of the assistant would ask.",
      items: saved.filter(isByAssistant),
    },
    ...known,
    { key: "others", title: "Others", says: "", items: others },
  ].filter((section) => section.items.length > 0);
}

/** Whether a model wrote a recipe as it is now. */
export const isByAssistant = (row: Pick<RecipeRow, "trust">): boolean =>
  row.trust?.author?.startsWith("assistant:") ?? false;

/** How far the trial of a recipe is; empty for one that is on none. */
export function trialProgress(row: Pick<RecipeRow, "trust">): string {
  return row.trust?.trial ? `${row.trust.in_a_row} of ${row.trust.needed} clean runs` : "";
}

/** Whether a recipe has all of these words in its name, title, phrases or sentence. */
export function hasWords(row: RecipeRow, typed: string): boolean {
  const text = `${row.name} ${row.title} ${(row.phrases ?? []).join(" ")} ${row.sentence?.words ?? ""}`.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => text.includes(word));
}

/** Why no device fits a recipe: each reason once, as a sentence without its end. */
export const lackWords = (lacks: readonly { reason: string }[]): string[] => [
  ...new Set(lacks.map(({ reason }) => reason.charAt(0).toUpperCase() + reason.slice(1))),
];

export type Try = { words: string; why: null } | { words: null; why: string };

/** The words that try a recipe with the demo devices, or why that is not possible and what to do. */
export function tryOf(row: RecipeRow, demos: { all: number; online: number }): Try | null {
  if (!row.demo) return null;
  if (row.demo.words) return { words: row.demo.words, why: null };
  if (demos.all === 0) {
    return {
      words: null,
      why: "There are no demo devices here: to have them, stop the hub and start it with `starloom up --demo`.",
    };
  }
  if (demos.online === 0) {
    return { words: null, why: "The demo devices are not running. `starloom up --demo` starts them with the hub." };
  }
  return { words: null, why: "The demo devices that run now do not offer what it needs." };
}

/** How many recipes could be tried if the demo devices were there, and what to do; null where none is kept from it. */
export function untriedOf(
  rows: readonly RecipeRow[],
  demos: { all: number; online: number },
): { count: number; why: string } | null {
  const kept = rows.map((row) => tryOf(row, demos)).filter((one) => one?.words === null);
  const why = kept[0]?.why;
  return why ? { count: kept.length, why } : null;
}
