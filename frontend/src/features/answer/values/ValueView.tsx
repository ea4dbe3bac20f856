/** A value that a task gave: records as a table, fields with their units, plain text as text; deep ones as JSON. */

import { useMemo } from "react";
import { useBound } from "../../../app/workspace/printing.ts";
import { fieldText, isHash, isRow, type Row, readTable, titleOf, withoutRows } from "../../../model/answer/table.ts";
import { parseExact } from "../../../model/words/exact.ts";
import { readable } from "../../../model/words/readable.ts";
import { DataTable } from "./DataTable.tsx";

const TEXT_MAX = 64 * 1024;
/** So many levels of values in values are shown as fields; what is deeper is JSON. */
const DEPTH_MAX = 3;
const LIST_MAX = 200;

interface ValueViewProps {
  text: string;
  table?: boolean;
  /** Every character counts, as for arguments: no unit is read from a name. */
  exact?: boolean;
}

export function ValueView({ text, table = false, exact = false }: ValueViewProps) {
  const value = useMemo(() => read(text), [text]);
  const found = useMemo(() => (table && isRow(value) && !readTable(value) ? firstTable(value) : null), [value, table]);
  if (found) return <DataTable table={found} />;
  if (withoutRows(value) || (table && Array.isArray(value) && value.length === 0))
    return <p className="dim">Nothing.</p>;
  if (exact && typeof value !== "string" && !readTable(value)) return <Exact value={value} />;
  return <Part value={value} depth={0} />;
}

/** `name`: of the field that it is, by which a reader of the screen tells its table from others. */
function Part({ value, depth, name }: { value: unknown; depth: number; name?: string }) {
  const table = useMemo(() => readTable(value), [value]);
  if (table) return <DataTable table={table} name={name} />;
  if (typeof value === "string") return <div className="value">{readable(value.slice(0, TEXT_MAX))}</div>;
  if (Array.isArray(value) && value.length > 0 && value.every(isPlain)) return <Items values={value} />;
  if (isRow(value) && depth < DEPTH_MAX && Object.keys(value).length > 0) return <Fields row={value} depth={depth} />;
  return <Json value={value} />;
}

/** The plain fields first, then each list and each value of its own under its name. */
function Fields({ row, depth }: { row: Row; depth: number }) {
  const all = Object.entries(row);
  const entries = all.slice(0, useBound(LIST_MAX));
  const short = entries.filter(([, field]) => isPlain(field) || isEmpty(field));
  const long = entries.filter(([, field]) => !isPlain(field) && !isEmpty(field));
  return (
    <div className="stack">
      {short.length > 0 && (
        <dl className="fields">
          {short.map(([name, field]) => (
            <div key={name}>
              <dt title={readable(name)}>{readable(titleOf(name))}</dt>
              <dd title={typeof field === "number" || isHash(field) ? String(field) : undefined}>
                {isEmpty(field) ? "none" : fieldText(name, field)}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {long.map(([name, field]) => (
        <section key={name} className="stack" aria-label={readable(titleOf(name))}>
          <p className="strong">{readable(titleOf(name))}</p>
          <Part value={field} depth={depth + 1} name={readable(titleOf(name))} />
        </section>
      ))}
      {all.length > entries.length && <p className="dim">and {all.length - entries.length} more</p>}
    </div>
  );
}

function Items({ values }: { values: unknown[] }) {
  const most = useBound(LIST_MAX);
  return (
    <ul className="plain">
      {values.slice(0, most).map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items of a value have no identity but their place.
        <li key={index}>{fieldText("", one)}</li>
      ))}
      {values.length > most && <li className="dim">and {values.length - most} more</li>}
    </ul>
  );
}

function Exact({ value }: { value: unknown }) {
  const isShort = (field: unknown) => isPlain(field) || (Array.isArray(field) && field.every(isPlain));
  if (!isRow(value) || !Object.values(value).every(isShort)) return <Json value={value} />;
  return (
    <dl className="fields">
      {Object.entries(value).map(([name, field]) => (
        <div key={name}>
          <dt title={readable(name)}>{readable(titleOf(name))}</dt>
          <dd>{readable(isPlain(field) ? String(field) : JSON.stringify(field))}</dd>
        </div>
      ))}
    </dl>
  );
}

function Json({ value }: { value: unknown }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to.
    <pre className="value" tabIndex={0}>
      {readable(JSON.stringify(value, null, 2).slice(0, TEXT_MAX))}
    </pre>
  );
}

const isPlain = (value: unknown): boolean => value === null || typeof value !== "object";
const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

function read(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function firstTable(value: Record<string, unknown>) {
  for (const field of Object.values(value)) {
    const found = readTable(field);
    if (found) return found;
  }
  return null;
}
