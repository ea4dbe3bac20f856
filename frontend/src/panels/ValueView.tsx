/** A value that a task gave: a table as a table, plain text as text, all else as indented JSON. */
import { useMemo } from "react";
import { isRow, readTable } from "../model/table.ts";
import { DataTable } from "./DataTable.tsx";

const TEXT_MAX = 64 * 1024;

export function ValueView({ text, table = false }: { text: string; table?: boolean }) {
  const value = useMemo(() => read(text), [text]);
  const found = useMemo(() => readTable(value) ?? (table && isRow(value) ? firstTable(value) : null), [value, table]);
  if (found) return <DataTable table={found} />;
  if (typeof value === "string") return <div className="value">{value.slice(0, TEXT_MAX)}</div>;
  if (isRow(value) && Object.values(value).every(isPlain)) {
    return (
      <dl className="fields">
        {Object.entries(value).map(([name, field]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{String(field)}</dd>
          </div>
        ))}
      </dl>
    );
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to.
    <pre className="value" tabIndex={0}>
      {JSON.stringify(value, null, 2).slice(0, TEXT_MAX)}
    </pre>
  );
}

const isPlain = (value: unknown): boolean => value === null || typeof value !== "object";

function read(text: string): unknown {
  try {
    return JSON.parse(text);
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
