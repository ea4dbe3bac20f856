/**
 * Tables that tools give: `data.table` names columns with titles and units; bare rows have the names of their fields.
 * Pure: what a value says, never how it looks.
 */
import { known } from "../words/known.ts";
import { readable } from "../words/readable.ts";
import { bytes, dateTime, duration } from "../words/words.ts";

export type Row = Record<string, unknown>;

interface Column {
  field: string;
  title: string;
  show: string;
}

export interface TableValue {
  columns: Column[];
  rows: Row[];
  /** Some rows say whether they differ from the usual one. */
  marked: boolean;
  /** Columns that are there and not among these. */
  more: number;
}

const COLUMNS_MAX = 10;
/** Rows by which the fields and units of a table are told: as many as one sees. */
const LOOKED_AT = 200;
/** A tool names those that its person asked for; a device that lies, as many as its result has room for. */
const DECLARED_COLUMNS_MAX = 200;
const MARK = "differs";

export const isRow = (value: unknown): value is Row =>
  value !== null && typeof value === "object" && !Array.isArray(value);
const areRows = (value: unknown): value is Row[] => Array.isArray(value) && value.every(isRow);

/** The table in a value: rows, or columns with rows. Null for anything else, and for an empty list. */
export function readTable(value: unknown): TableValue | null {
  if (areRows(value)) {
    if (value.length === 0) return null;
    const columns = fieldsOf(value);
    return tableOf(columns.slice(0, COLUMNS_MAX), value, columns.length);
  }
  if (!isRow(value) || !areRows(value.rows) || !areRows(value.columns)) return null;
  const rows = value.rows;
  const columns = value.columns.slice(0, DECLARED_COLUMNS_MAX).map((column) => {
    const field = String(column.field ?? "");
    const hashes = rows.length > 0 && rows.every((row) => isHash(row[field]));
    const values = rows.slice(0, LOOKED_AT).map((row) => row[field]);
    const show = hashes ? "hash" : String(column.show || unitOf(field, values));
    const title = String(column.title ?? field);
    // A column of a plan that gives it no title has the name of its field there.
    return { field, title: title === field ? titleOf(field) : title, show };
  });
  return tableOf(columns, rows, value.columns.length);
}

const tableOf = (columns: Column[], rows: Row[], all: number): TableValue => ({
  columns,
  rows,
  marked: rows.some((row) => typeof row[MARK] === "boolean"),
  more: all - columns.length,
});

/** The table of a file: its columns as they stand there, also where two have one name. Cells are texts. */
export function tableOfLines(head: readonly string[], lines: readonly string[][], most: number): TableValue {
  const rows = lines.map((cells) => Object.fromEntries(head.slice(0, most).map((_, at) => [at, cells[at] ?? ""])));
  const columns = head.slice(0, most).map((name, at) => {
    const values = rows.slice(0, LOOKED_AT).map((row) => row[at]);
    const show = values.length > 0 && values.every(isHash) ? "hash" : unitOf("", values);
    return { field: String(at), title: titleOf(name.trim()) || `column ${at + 1}`, show };
  });
  return { columns, rows, marked: false, more: head.length - columns.length };
}

/** Whether a value is a list of rows that has none, and says nothing beside that. */
export const withoutRows = (value: unknown): boolean =>
  isRow(value) &&
  Array.isArray(value.rows) &&
  Object.values(value).every((one) => !one || (Array.isArray(one) && one.length === 0));

export const differs = (row: Row): boolean => row[MARK] === true;

function fieldsOf(rows: Row[]): Column[] {
  const looked = rows.slice(0, LOOKED_AT);
  const names = new Set(looked.flatMap((row) => Object.keys(row)));
  if (looked.every((row) => row[MARK] === undefined || typeof row[MARK] === "boolean")) names.delete(MARK);
  // An artifact is named by its hash, which is said once.
  if (rows.every((row) => row.artifact === row.sha256)) names.delete("sha256");
  const columns = [...names].map((field) => {
    const found = looked.map((row) => row[field]);
    return { field, title: titleOf(field), show: found.every(isHash) ? "hash" : unitOf(field, found) };
  });
  // The field that names a row comes first, though the hub sorts fields by their names; a hash tells a person least.
  const naming = namingOf([...names], rows);
  const place = ({ field, show }: Column) => (field === naming ? 0 : show === "hash" ? 2 : 1);
  return columns.sort((a, b) => place(a) - place(b));
}

/** The fields by which tools name things, the likeliest first. */
const NAMING = ["name", "device", "title", "path"];

/** The field that names rows: one that tools use for it, else the first text that no two rows share. */
function namingOf(fields: string[], rows: Row[]): string | undefined {
  const apart = (field: string) =>
    rows.every((row) => typeof row[field] === "string" && !isHash(row[field])) &&
    new Set(rows.map((row) => row[field])).size === rows.length;
  return NAMING.find((field) => fields.includes(field)) ?? fields.find(apart);
}

/** A SHA-256 in hex, by which artifacts are named. */
export const isHash = (value: unknown): boolean => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const HASH_SHOWN = 12;

const UNIT = /_(?:s|ms|bytes|percent)$/;
const TITLES: Record<string, string> = { mtime_s: "modified", bytes: "size" };
/** A moment as programs write it, with its zone. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;
const isMoment = (value: unknown): value is string =>
  typeof value === "string" && MOMENT.test(value) && !Number.isNaN(Date.parse(value));
/** A number of seconds from here on is a time since 1970 (2001 and later); a smaller one beside none is a duration. */
const TIME_FROM_S = 1e9;
/** Fields that hold moments, also those before 2001. */
const OF_TIME = /(?:^|_)(?:mtime|at|since|until)_m?s$/;

/** The name of a field as people read it: its unit stands with the value. */
export const titleOf = (field: string): string =>
  known(TITLES, field) ?? (UNIT.test(field) ? field.replace(UNIT, "") : field).replaceAll("_", " ");

/**
 * The unit that a field's name says, by the tools' convention (`size_bytes`, `mtime_s`, `took_s`, `page_ms`); `moment`
 * where all that it holds are times as programs write them.
 */
function unitOf(field: string, values: readonly unknown[]): string {
  if (field === "bytes" || field.endsWith("_bytes")) return "bytes";
  if (field.endsWith("_percent")) return "percent";
  const given = values.filter((value) => value !== null && value !== undefined && value !== "");
  if (given.length > 0 && given.every(isMoment)) return "moment";
  const unit = /_(m?s)$/.exec(field)?.[1];
  if (!unit) return "";
  const numbers = values.filter((value) => typeof value === "number");
  const inMs = unit === "ms";
  const from = TIME_FROM_S * (inMs ? 1000 : 1);
  if (OF_TIME.test(field) || numbers.length === 0 || numbers.some((value) => value >= from))
    return inMs ? "date_ms" : "date";
  return inMs ? "duration_ms" : "duration";
}

/** A value beside its name as people read it. */
export const fieldText = (field: string, value: unknown): string =>
  cell(value, isHash(value) ? "hash" : unitOf(field, [value]));

/** A value as people read it: `2.5 MB`, `12 %`, `3 h 10 min`, a local time, `yes`. */
export function cell(value: unknown, show: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return amount(value, show);
  if (Array.isArray(value)) return value.map((item) => cell(item, show)).join(", ");
  if (show === "hash") return readable(String(value).slice(0, HASH_SHOWN));
  if (show === "moment" && isMoment(value)) return dateTime(Date.parse(value));
  return readable(typeof value === "object" ? JSON.stringify(value) : String(value).trimEnd());
}

function amount(value: number, show: string): string {
  switch (show) {
    case "bytes":
      return bytes(value);
    case "percent":
      return `${value} %`;
    case "duration":
      // A measured value below a second keeps its digits.
      return value > 0 && value < 1 ? `${Number(value.toFixed(3))} s` : duration(value * 1000);
    case "duration_ms":
      return value < 1000 ? `${value} ms` : duration(value);
    case "date":
      return dateTime(value * 1000);
    case "date_ms":
      return dateTime(value);
    default:
      return String(value);
  }
}
