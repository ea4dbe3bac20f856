/**
 * Files that an answer names: which they are, how each may be shown, and text that is a table.
 * Pure; what a file says about itself is never believed further than how it is shown.
 */
import { known } from "../words/known.ts";
import { isRow, type TableValue, tableOfLines } from "./table.ts";

export interface FileRef {
  artifact: string;
  name: string;
  media: string;
  bytes: number;
  /** The thing is only this part of the JSON value in the file. */
  pointer?: string;
  /** How the plan wants that part to be shown. */
  show?: string;
}

export type Shown = "text" | "markdown" | "csv" | "json" | "image" | "pdf" | "html" | "none";

/** The part of a value at a pointer (RFC 6901); undefined where there is none. */
export function partAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (at === null || typeof at !== "object" || !Object.hasOwn(at, name)) return undefined;
    if (Array.isArray(at) && !/^\d+$/.test(name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

const HASH = /^[0-9a-f]{64}$/;

const BY_ENDING: Record<string, string> = {
  csv: "text/csv",
  gif: "image/gif",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  log: "text/plain",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain",
  webp: "image/webp",
};

const SHOWN: Record<string, Shown> = {
  "application/json": "json",
  "application/pdf": "pdf",
  "image/gif": "image",
  "image/jpeg": "image",
  "image/png": "image",
  "image/svg+xml": "image",
  "image/webp": "image",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "markdown",
  "text/plain": "text",
};

/** The media type that a file is shown as: the one it was given with, else what its name ends with. */
export function mediaOf(name: string, media?: string | null): string {
  const given = (media ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (given && given !== "application/octet-stream") return given;
  return known(BY_ENDING, name.split(".").pop()?.toLowerCase() ?? "") ?? "application/octet-stream";
}

export const shownAs = (media: string): Shown => known(SHOWN, media) ?? "none";

/** A name to save it under; one without an ending gets that of its media type. */
export function saveName(name: string, media: string): string {
  if (/\.\w{1,5}$/.test(name)) return name;
  const ending = Object.keys(BY_ENDING).find(
    (known) => BY_ENDING[known] === media && known !== "log" && known !== "htm",
  );
  return ending ? `${name}.${ending === "jpeg" ? "jpg" : ending}` : name;
}

/** The files in a value: one, a list of them, or a `files` field with them. Null if it names none at the hub. */
export function filesIn(value: unknown): FileRef[] | null {
  const list = isRow(value) && Array.isArray(value.files) ? value.files : Array.isArray(value) ? value : [value];
  const files = list.map(fileOf);
  return files.length > 0 && files.every((file) => file !== null) ? files : null;
}

function fileOf(value: unknown): FileRef | null {
  if (!isRow(value) || typeof value.artifact !== "string" || !HASH.test(value.artifact)) return null;
  const name = text(value.name) || text(value.path).split(/[\\/]/).pop() || value.artifact.slice(0, 12);
  return {
    artifact: value.artifact,
    name,
    media: mediaOf(name, text(value.media)),
    bytes: typeof value.bytes === "number" ? value.bytes : 0,
  };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Each row has a cell for each, and a head of commas has a hundred thousand. */
const CSV_COLUMNS_MAX = 20;

/** The table of a CSV text with a header; quotes as in RFC 4180. `whole` says whether the last line may be cut off. */
export function readCsv(source: string, whole: boolean): TableValue | null {
  const lines = records(source);
  if (!whole) lines.pop();
  const [head = [], ...rest] = lines;
  return rest.length > 0 ? tableOfLines(head, rest, CSV_COLUMNS_MAX) : null;
}

function records(source: string): string[][] {
  const found: string[][] = [];
  let line: string[] = [];
  let cell = "";
  let quoted = false;
  const endLine = () => {
    line.push(cell);
    cell = "";
    if (line.length > 1 || line[0] !== "") found.push(line);
    line = [];
  };
  for (let at = source.startsWith("\uFEFF") ? 1 : 0; at < source.length; at++) {
    const char = source[at];
    if (quoted) {
      if (char !== '"') cell += char;
      else if (source[at + 1] === '"') cell += source[++at];
      else quoted = false;
    } else if (char === '"' && cell === "") quoted = true;
    else if (char === ",") {
      line.push(cell);
      cell = "";
    } else if (char === "\n") endLine();
    else if (char !== "\r") cell += char;
  }
  if (cell !== "" || line.length > 0) endLine();
  return found;
}
