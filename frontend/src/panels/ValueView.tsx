/** A value that a task gave: a list of records as a table, plain text as text, all else as indented JSON. */
import { useMemo } from "react";

const ROWS_MAX = 200;
const TEXT_MAX = 64 * 1024;

export function ValueView({ text, table = false }: { text: string; table?: boolean }) {
  const value = useMemo(() => read(text), [text]);
  const rows =
    Array.isArray(value) && value.every(isRecord) ? value : table && isRecord(value) ? firstList(value) : null;
  if (rows && rows.length > 0) return <Rows rows={rows} />;
  if (typeof value === "string") return <div className="value">{value.slice(0, TEXT_MAX)}</div>;
  if (isRecord(value) && Object.values(value).every(isPlain)) {
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

type Plain = Record<string, unknown>;
const isRecord = (value: unknown): value is Plain =>
  value !== null && typeof value === "object" && !Array.isArray(value);
const isPlain = (value: unknown): boolean => value === null || typeof value !== "object";

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function firstList(value: Plain): Plain[] | null {
  for (const field of Object.values(value))
    if (Array.isArray(field) && field.length > 0 && field.every(isRecord)) return field;
  return null;
}

function Rows({ rows }: { rows: Plain[] }) {
  const columns = [...new Set(rows.slice(0, 20).flatMap((row) => Object.keys(row)))].slice(0, 8);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, and must do so by keyboard too.
    <div className="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column}>{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS_MAX).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a value have no identity but their place.
            <tr key={index}>
              {columns.map((column) => (
                <td key={column} className={typeof row[column] === "number" ? "num" : undefined}>
                  {isPlain(row[column]) ? String(row[column] ?? "") : JSON.stringify(row[column])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS_MAX && (
        <p className="small dim">
          The first {ROWS_MAX} of {rows.length} rows.
        </p>
      )}
    </div>
  );
}
