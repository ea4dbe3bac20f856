/**
 * The parts of an answer as a page shows them: one for each thing given back, and one for all children of a group.
 * Pure; decides what kind a part is and which leads, never how it is drawn.
 */

import type { Answer, AnswerItem, TaskSpec } from "../types.ts";
import { parseExact } from "../words/exact.ts";
import { type FileRef, filesIn, mediaOf, shownAs } from "./files.ts";
import { isRow, type Row, readTable, withoutRows } from "./table.ts";

export type PartKind = "picture" | "table" | "text" | "markdown" | "page" | "pdf" | "change" | "files" | "value";

export interface AnswerPart {
  /** Stands in the address of the part: the task, the group, or one of several results of it. */
  key: string;
  title: string;
  kind: PartKind;
  /** Whose result it is: a task or a group. */
  from: string;
  checked: boolean;
  /** There is nothing in it: an empty table, list or text, none of something, or the file of an empty table. */
  empty: boolean;
  /** The files that it is or names; null for a value. */
  files: FileRef[] | null;
  /** Canonical text; null for files. */
  text: string | null;
  /** Where there is no value: the tasks that it waited for and that gave nothing. */
  lacks: string;
  /** How many results of a group it holds, and how many the group has; 0 for the result of one task. */
  shown: number;
  of: number;
}

/** One side of a change: a text, or a file of the hub's store. */
export type Side = string | FileRef;

/** So many parts have a chip or a tab. */
const NAMED_MAX = 6;
/** Up to so many children of a group are parts of their own; more of them are one. */
const APART_MAX = 8;

type Specs = ReadonlyMap<string, TaskSpec>;

export function partsOf(answer: Answer | undefined, specs: Specs): AnswerPart[] {
  const parts: AnswerPart[] = [];
  const used = new Map<string, number>();
  const keyFor = (from: string): string => {
    const count = (used.get(from) ?? 0) + 1;
    used.set(from, count);
    return count === 1 ? from : `${from}~${count}`;
  };
  for (const run of runsOf(answer?.items ?? [], specs)) {
    const group = run.length > APART_MAX ? specs.get(run[0]?.task ?? "")?.group : null;
    if (group) parts.push(folded(run, group, keyFor(group), specs));
    else for (const item of run) parts.push(partOf(item, keyFor(item.task)));
  }
  return withHollow(parts);
}

/** The file of an empty table has its titles alone. */
function withHollow(parts: readonly AnswerPart[]): AnswerPart[] {
  const hollow = new Set(parts.filter((part) => part.empty && part.kind === "table").map((part) => part.from));
  return parts.map((part) =>
    part.files && part.kind === "table" && hollow.has(part.from) ? { ...part, empty: true } : part,
  );
}

/** Parts with something in them in their order, then the empty ones. */
export const fullFirst = (parts: readonly AnswerPart[]): AnswerPart[] => [
  ...parts.filter((part) => !part.empty),
  ...parts.filter((part) => part.empty),
];

/** Neighbours that are the same result of the children of one group. */
function runsOf(items: readonly AnswerItem[], specs: Specs): AnswerItem[][] {
  const runs: AnswerItem[][] = [];
  let seen = new Set<string>();
  let last: string | null = null;
  for (const item of items) {
    const group = specs.get(item.task)?.group ?? null;
    const run = runs[runs.length - 1];
    if (run && group !== null && group === last && !seen.has(item.task)) {
      run.push(item);
      seen.add(item.task);
    } else {
      runs.push([item]);
      seen = new Set([item.task]);
    }
    last = group;
  }
  return runs;
}

function partOf(item: AnswerItem, key: string): AnswerPart {
  const files = filesOf(item);
  const text = files || item.value === "null" ? null : (item.value ?? null);
  return {
    key,
    title: item.title,
    kind: files ? kindOfFiles(files, item.show) : kindOfText(text, item.show),
    from: item.task,
    checked: item.checked ?? false,
    empty: files ? files.length === 0 : isNothing(parsed(text ?? "null")),
    files,
    text,
    lacks: item.lacks ?? "",
    shown: 0,
    of: 0,
  };
}

function folded(run: AnswerItem[], group: string, key: string, specs: Specs): AnswerPart {
  const first = run[0] as AnswerItem;
  const title = titleOf(first, group);
  const each = run.map(filesOf);
  const files = each.every((found) => found !== null) ? each.flat() : null;
  const children = [...specs.values()].filter((spec) => spec.group === group).length;
  return {
    key,
    title,
    kind: files ? kindOfFiles(files, first.show) : "table",
    from: group,
    checked: run.every((item) => item.checked),
    empty: files?.length === 0,
    files,
    text: files ? null : JSON.stringify(run.map((item) => rowOf(item, title))),
    lacks: "",
    shown: run.length,
    of: Math.max(run.length, children),
  };
}

/** The title that the plan gives: the hub adds the child's name after a comma. */
function titleOf(item: AnswerItem, group: string): string {
  for (const added of [`, ${item.task}`, `, ${group} on `]) {
    const at = item.title.lastIndexOf(added);
    if (at > 0) return item.title.slice(0, at);
  }
  return item.title;
}

function rowOf(item: AnswerItem, title: string): Row {
  const name = item.title.startsWith(`${title}, `) ? item.title.slice(title.length + 2) : item.task;
  const value = parsed(item.value ?? "null");
  return isRow(value) ? { Result: name, ...value } : { Result: name, Value: item.artifact ? item.title : value };
}

/** The files that an item is or names; null for a value. */
function filesOf(item: AnswerItem): FileRef[] | null {
  if (item.artifact) {
    const { artifact, title: name, bytes: size = 0, pointer, show } = item;
    const file = { artifact, name, media: mediaOf(name, item.media), bytes: size };
    return [pointer ? { ...file, pointer, show } : file];
  }
  return filesIn(parsed(item.value ?? "null"));
}

function kindOfFiles(files: readonly FileRef[], show: string): PartKind {
  const shown = new Set(files.map((file) => shownAs(file.media)));
  if (shown.size === 1 && shown.has("image")) return "picture";
  const only = files.length === 1 ? files[0] : undefined;
  if (!only) return "files";
  switch (shownAs(only.media)) {
    case "pdf":
      return "pdf";
    case "html":
      return "page";
    case "csv":
      return "table";
    case "json":
      return show === "table" ? "table" : "value";
    case "markdown":
      return "markdown";
    case "text":
      return "text";
    default:
      return "files";
  }
}

function kindOfText(text: string | null, show: string): PartKind {
  const value = parsed(text ?? "null");
  if (changeIn(value)) return "change";
  if (show === "table" || readTable(value)) return "table";
  if (typeof value !== "string") return "value";
  return show === "markdown" ? "markdown" : "text";
}

/** Whether a value has nothing to show: null, 0, an empty text, list or row, a table without rows. */
function isNothing(value: unknown): boolean {
  if (value === null || value === 0) return true;
  if (typeof value === "string") return value.trim() === "";
  if (Array.isArray(value)) return value.length === 0;
  if (!isRow(value)) return false;
  return withoutRows(value) || readTable(value)?.rows.length === 0 || Object.keys(value).length === 0;
}

/** The two sides of a change that a value holds: two texts, or two files. Null for any other value. */
export function changeIn(value: unknown): { before: Side; after: Side; name: string } | null {
  if (!isRow(value)) return null;
  const before = sideOf(value.before);
  const after = sideOf(value.after);
  if (before === null || after === null) return null;
  const name = [value.path, value.name].find((one) => typeof one === "string");
  return { before, after, name: typeof name === "string" ? name : "" };
}

const sideOf = (value: unknown): Side | null =>
  typeof value === "string" ? value : (isRow(value) && filesIn(value)?.[0]) || null;

const LARGE: ReadonlySet<PartKind> = new Set(["picture", "table", "page", "pdf", "change", "markdown"]);

/**
 * The part that is shown first: the first with something in it that is to be looked at, else the first value; the band
 * already says a short text.
 */
export const leading = (parts: readonly AnswerPart[]): AnswerPart | undefined => {
  const full = parts.filter((part) => !part.empty);
  return full.find((part) => LARGE.has(part.kind)) ?? full.find((part) => part.kind !== "text") ?? full[0] ?? parts[0];
};

/** A JSON text's value; a text that is none is itself the value. */
export function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

/**
 * The parts that have a chip or a tab; all of them stand on the answer's own page. Where there are too many, one of those
 * in which nothing is has a tab: it tells that nothing was left out, and more would push away what a person came for.
 */
export function named(parts: readonly AnswerPart[], shown?: AnswerPart): AnswerPart[] {
  if (parts.length <= NAMED_MAX) return [...parts];
  const empty = parts.find((part) => part.empty);
  const found = parts.filter((part) => !part.empty || part === empty || part === shown).slice(0, NAMED_MAX);
  return !shown || found.includes(shown) ? found : [...found.slice(0, NAMED_MAX - 1), shown];
}
