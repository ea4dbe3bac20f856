/**
 * A table of an answer: titles and units as its tool names them; a row that differs from the usual one says so. One
 * that is wider than its place scrolls within itself, and shows at which side it goes on.
 */

import { type RefObject, useEffect, useRef, useState } from "react";
import { useBound } from "../../../app/workspace/printing.ts";
import { cell, differs, type TableValue } from "../../../model/answer/table.ts";
import { readable } from "../../../model/words/readable.ts";

const ROWS_MAX = 200;
/** A word and a few short words stay whole: a date that breaks at its hyphens is not read as one. */
const WHOLE = /^(?:\S{1,24}|.{1,12})$/;
/** Units of texts that are shown shorter than they are, and in full where one points at them. */
const WHOLE_BESIDE = new Set(["hash", "moment"]);
/** A text of more characters is a sentence: its column is wide enough for some words in a line. */
const LONG = 40;
/** A head of more characters takes more than one line. */
const LONG_HEAD = 20;

export function DataTable({ table, name }: { table: TableValue; name?: string | undefined }) {
  const { columns, rows, marked } = table;
  const most = useBound(ROWS_MAX);
  const label = name ? `Table ${name}` : "Table";
  const box = useRef<HTMLDivElement>(null);
  const more = useMore(box, table);
  if (rows.length === 0) return <p className="dim">Nothing.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, and must do so by keyboard too.
    <div className="scroll table" data-more={more} ref={box} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.field} title={readable(column.title)} numeric={isNumeric(rows, column.field)} />
            ))}
            {marked && <Head title="Compared" />}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a value have no identity but their place.
            <tr key={index}>
              {columns.map((column) => {
                const text = cell(row[column.field], column.show);
                const number = typeof row[column.field] === "number";
                return (
                  <td
                    key={column.field}
                    className={
                      number ? "num nowrap" : WHOLE.test(text) ? "nowrap" : text.length > LONG ? "long" : undefined
                    }
                    title={
                      column.show && (number || WHOLE_BESIDE.has(column.show)) ? String(row[column.field]) : undefined
                    }
                  >
                    {text}
                  </td>
                );
              })}
              {marked && <td>{differs(row) ? <b className="tone-amber">differs</b> : ""}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {table.more > 0 && (
        <p className="small dim">
          The first {columns.length} of {columns.length + table.more} columns.
        </p>
      )}
      {rows.length > most && (
        <p className="small dim">
          The first {most} of {rows.length} rows.
        </p>
      )}
    </div>
  );
}

function Head({ title, numeric }: { title: string; numeric?: boolean }) {
  const looks = [numeric && "num", title.length > LONG_HEAD && "long"].filter(Boolean).join(" ");
  return (
    <th scope="col" className={looks || undefined}>
      <span>{title}</span>
    </th>
  );
}

/** Whether a column holds numbers, whose head stands above them at the right. */
function isNumeric(rows: TableValue["rows"], field: string): boolean {
  const given = rows.slice(0, ROWS_MAX).flatMap((row) => row[field] ?? []);
  return given.length > 0 && given.every((value) => typeof value === "number");
}

/** The sides at which a box goes on: `left`, `right`, both or neither. */
function useMore(box: RefObject<HTMLElement | null>, shown: TableValue): string {
  const [more, setMore] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows take other room.
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => {
      const rest = element.scrollWidth - element.clientWidth - element.scrollLeft;
      setMore([element.scrollLeft > 1 && "left", rest > 1 && "right"].filter(Boolean).join(" "));
    };
    look();
    element.addEventListener("scroll", look, { passive: true });
    const watch = typeof ResizeObserver === "function" ? new ResizeObserver(look) : null;
    watch?.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      watch?.disconnect();
    };
  }, [box, shown]);
  return more;
}
