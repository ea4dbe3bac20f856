/**
 * Tables that tools give: `data.table` names columns with titles and units; bare rows have the names of their fields.
 * Pure: what a value says, never how it looks.
 */
import { bytes } from "./words.ts";

export type Row = Record<string, unknown>;

export interface Column {
  field: string;
  title: string;
  show: string;
}

export interface TableValue {
  columns: Column[];
  rows: Row[];
  /** Some rows say whether they differ from the usual one. */
  marked: boolean;
}

const COLUMNS_MAX = 10;
const MARK = "differs";

export const isRow = (value: unknown): value is Row =>
  value !== null && typeof value === "object" && !Array.isArray(value);
const areRows = (value: unknown): value is Row[] => Array.isArray(value) && value.every(isRow);

/** The table in a value: rows, or columns with rows. Null for anything else, and for an empty list. */
export function readTable(value: unknown): TableValue | null {
  if (areRows(value)) return value.length > 0 ? tableOf(fieldsOf(value), value) : null;
  if (!isRow(value) || !areRows(value.rows) || !areRows(value.columns)) return null;
  const columns = value.columns.map((column) => ({
    field: String(column.field ?? ""),
    title: String(column.title ?? column.field ?? ""),
    show: String(column.show ?? ""),
  }));
  return tableOf(columns, value.rows);
}

const tableOf = (columns: Column[], rows: Row[]): TableValue => ({
  columns,
  rows,
  marked: rows.some((row) => typeof row[MARK] === "boolean"),
});

export const differs = (row: Row): boolean => row[MARK] === true;

function fieldsOf(rows: Row[]): Column[] {
  const names = new Set(rows.slice(0, 20).flatMap((row) => Object.keys(row)));
  names.delete(MARK);
  return [...names].slice(0, COLUMNS_MAX).map((field) => ({ field, title: field, show: "" }));
}

/** A value as people read it: `2.5 MB`, `12 %`, `3 h 10 min`, a local time, `yes`. */
export function cell(value: unknown, show: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return amount(value, show);
  if (Array.isArray(value)) return value.map((item) => cell(item, show)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value).trimEnd();
}

function amount(value: number, show: string): string {
  switch (show) {
    case "bytes":
      return bytes(value);
    case "percent":
      return `${value} %`;
    case "duration":
      return span(value);
    case "date":
      return new Date(value * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
    default:
      return String(value);
  }
}

function span(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) {
    return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")} min`;
  }
  return `${Math.floor(seconds / 86_400)} days`;
}
