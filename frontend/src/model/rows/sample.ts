/** Output of a row as a tree to pick from, and values read by pointer. Real outputs only; nothing is invented here. */
import { isFields, type Json } from "./document.ts";

export interface Sample {
  value: Json;
  /** The device that gave it, and when. Empty and 0 for the tool's example. */
  device: string;
  atMs: number;
}

export interface Branch {
  pointer: string;
  name: string;
  words: string;
  kind: "list" | "map" | "text" | "number" | "yes_no" | "nothing";
  depth: number;
  /** The branch lies inside an item of a list: only the first item is shown, as what each looks like. */
  inItem: boolean;
  /** The list and the pointer within its items, where a row can run for each of them; null in lists of lists. */
  item: { list: string; inner: string } | null;
}

const DEPTH_MOST = 4;
const BRANCHES_MOST = 60;

const escaped = (step: string): string => step.replaceAll("~", "~0").replaceAll("/", "~1");

function kindOf(value: Json): Branch["kind"] {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "list";
  if (isFields(value)) return "map";
  return typeof value === "string" ? "text" : typeof value === "number" ? "number" : "yes_no";
}

/** A value in a few words: `list of 8`, `Pictures/Harbour`, `9c41e07a..., 64 letters`. */
export function shortWords(value: Json): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return `list of ${value.length}`;
  if (isFields(value)) return `${Object.keys(value).length} fields`;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number")
    return Math.abs(value) < 10_000 ? String(value) : value.toLocaleString("en").replaceAll(",", " ");
  const line = value.split("\n", 1)[0] ?? "";
  return line.length > 40 ? `${line.slice(0, 32)}..., ${value.length} letters` : line || "empty text";
}

/** An output in a few words: of a map the longest list, else its first plain value. */
export function outputWords(value: Json): string {
  if (!isFields(value)) return shortWords(value);
  const lists = Object.entries(value).filter(([, one]) => Array.isArray(one)) as [string, Json[]][];
  const longest = lists.sort((a, b) => b[1].length - a[1].length)[0];
  if (longest) return counted(longest[1].length, longest[0].replaceAll("_", " "));
  const plain = Object.entries(value).find(([, one]) => one !== null && typeof one !== "object");
  return plain ? `${plain[0].replaceAll("_", " ")} ${shortWords(plain[1])}` : shortWords(value);
}

/** `3 files`, `1 file`: lists are named in the plural. */
function counted(count: number, many: string): string {
  return `${count} ${count === 1 ? many.replace(/ies$/, "y").replace(/([^s])s$/, "$1") : many}`;
}

/** The tree of a value, depth first. Of a list the first item stands for all. */
export function branches(value: Json): Branch[] {
  const found: Branch[] = [];
  const walk = (one: Json, pointer: string, name: string, depth: number, lists: readonly string[]) => {
    if (found.length >= BRANCHES_MOST) return;
    const [list, ...inner] = lists;
    const item = list !== undefined && !inner.length ? { list, inner: pointer.slice(list.length + "/0".length) } : null;
    found.push({ pointer, name, words: shortWords(one), kind: kindOf(one), depth, inItem: lists.length > 0, item });
    if (depth >= DEPTH_MOST) return;
    if (Array.isArray(one)) {
      const first = one[0];
      if (isFields(first)) {
        for (const [inner, part] of Object.entries(first))
          walk(part, `${pointer}/0/${escaped(inner)}`, inner, depth + 1, [...lists, pointer]);
      }
    } else if (isFields(one)) {
      for (const [inner, part] of Object.entries(one))
        walk(part, `${pointer}/${escaped(inner)}`, inner, depth + 1, lists);
    }
  };
  walk(value, "", "everything", 0, []);
  return found;
}

/** What a pointer finds; undefined if nothing. */
export function at(value: Json, pointer: string): Json | undefined {
  let found: Json | undefined = value;
  if (!pointer) return found;
  for (const raw of pointer.slice(1).split("/")) {
    const step = raw.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(found)) found = /^\d+$/.test(step) ? found[Number(step)] : undefined;
    else if (isFields(found)) found = step in found ? found[step] : undefined;
    else return undefined;
  }
  return found;
}

/** Fields in which a tool says what it did not take: nobody means them by a value that a row needs. */
const NOT_TAKEN = new Set(["left_out", "left_out_names", "not_there", "skipped"]);

/**
 * Which branches are a natural value for a field of that kind, best first: a list of rows for rows, a text for a text,
 * one of the same name before all others. A person may still choose what a tool did not take.
 */
export function suitable(branches: readonly Branch[], field: { name: string; kind: string }): Branch[] {
  const wanted =
    field.kind === "text"
      ? ["text"]
      : field.kind === "number"
        ? ["number"]
        : field.kind === "yes_no"
          ? ["yes_no"]
          : ["list", "map"];
  const fitting = branches.filter(
    (branch) => branch.pointer && !branch.inItem && wanted.includes(branch.kind) && !NOT_TAKEN.has(branch.name),
  );
  const rank = (branch: Branch) => (branch.name === field.name ? 0 : branch.kind === "list" ? 1 : 2);
  return fitting.sort((a, b) => rank(a) - rank(b) || a.depth - b.depth);
}
