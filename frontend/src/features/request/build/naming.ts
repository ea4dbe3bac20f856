/** The name of a plan that nobody has named: what its first rows do, in the words of their tools. */

import type { ToolView } from "../../../model/fleet/tools.ts";
import { EMPTY, type Fields, textOf } from "../../../model/rows/document.ts";
import { rowsOf } from "../../../model/rows/row.ts";

const NAMED_BY = 2;
const LONGEST = 80;

/** The plan under a name that says what it does; a name that somebody gave stays. */
export function named(plan: Fields, tools: ReadonlyMap<string, Pick<ToolView, "title">>): Fields {
  if (textOf(plan.name) !== textOf(EMPTY.plan.name)) return plan;
  const titles = rowsOf(plan).map(
    (row) => (row.kind === "tool" ? tools.get(row.what)?.title || row.what : row.what) || row.id,
  );
  if (titles.length === 0) return plan;
  const first = titles.slice(0, NAMED_BY).map((title, at) => (at === 0 ? title : lowered(title)));
  const rest = titles.length - first.length;
  const words = first.join(", then ") + (rest > 0 ? ` and ${rest} more` : "");
  return { ...plan, name: words.length > LONGEST ? `${words.slice(0, LONGEST - 1)}\u2026` : words };
}

/** `List files` in the middle of a name; what begins with two capitals, as a short form does, stays. */
const lowered = (title: string): string =>
  /^.[a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title;
