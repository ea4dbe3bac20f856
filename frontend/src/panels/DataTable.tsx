/** A table of an answer: titles and units as its tool names them; a row that differs from the usual one says so. */
import { cell, differs, type TableValue } from "../model/table.ts";

const ROWS_MAX = 200;

export function DataTable({ table }: { table: TableValue }) {
  const { columns, rows, marked } = table;
  if (rows.length === 0) return <p className="dim">Nothing.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, and must do so by keyboard too.
    <div className="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.field} scope="col">
                {column.title}
              </th>
            ))}
            {marked && <th scope="col">Compared</th>}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS_MAX).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a value have no identity but their place.
            <tr key={index}>
              {columns.map((column) => (
                <td
                  key={column.field}
                  className={typeof row[column.field] === "number" ? "num nowrap" : undefined}
                  title={column.show && typeof row[column.field] === "number" ? String(row[column.field]) : undefined}
                >
                  {cell(row[column.field], column.show)}
                </td>
              ))}
              {marked && <td>{differs(row) ? <b className="tone-amber">differs</b> : ""}</td>}
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
