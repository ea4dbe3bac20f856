/** The part of a result that stands beside a question, so that a person sees for what the answer is. */
import type { Question } from "../../../model/types.ts";
import { parseExact } from "../../../model/words/exact.ts";
import { readable } from "../../../model/words/readable.ts";
import { bytes, dateTime } from "../../../model/words/words.ts";
import { Rest } from "../../../ui/parts.tsx";
import { ValueView } from "../../answer/values/ValueView.tsx";

type Shown = NonNullable<Question["shown"]>;

const placeOf = ({ source, output }: Shown): string =>
  output ? `${output.slice(1).replaceAll("/", " ").replaceAll("_", " ")} of ${source}` : source;

/** So many files are read at a glance; the others come with a press. */
const FILES_SHOWN = 5;
/** The fields of a file that a line of it says; a list with any other is shown as the table that it is. */
const FIELDS: ReadonlySet<string> = new Set("below bytes device media mode mtime_s name path score".split(" "));

interface FileRow {
  path: string;
  bytes: number;
  mtime_s?: number;
  device?: string;
}

/** The entries of a list that was cut after a whole one; null for a text. */
function rowsOf(text: string): unknown[] | null {
  try {
    const value = parseExact(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function areFiles(rows: unknown[] | null): rows is FileRow[] {
  const isFile = (row: unknown) => {
    if (typeof row !== "object" || row === null || !("path" in row) || !("bytes" in row)) return false;
    const isSaid = Object.keys(row).every((field) => FIELDS.has(field));
    return isSaid && typeof row.path === "string" && typeof row.bytes === "number";
  };
  return rows !== null && rows.length > 0 && rows.every(isFile);
}

/** A file by its name, its folder, its size and its time: what somebody decides by who is asked about it. */
function FileLine({ file }: { file: FileRow }) {
  const cut = Math.max(file.path.lastIndexOf("/"), file.path.lastIndexOf("\\"));
  const about = [
    bytes(file.bytes),
    typeof file.mtime_s === "number" ? dateTime(file.mtime_s * 1000) : "",
    typeof file.device === "string" ? readable(file.device) : "",
  ];
  return (
    <li>
      <b className="strong">{readable(file.path.slice(cut + 1))}</b>
      <span className="small dim num">{about.filter(Boolean).join(", ")}</span>
      {cut > 0 && <span className="small dim folder">{readable(file.path.slice(0, cut))}</span>}
    </li>
  );
}

export function ShownResult({ shown }: { shown: Shown }) {
  const place = placeOf(shown);
  const rows = rowsOf(shown.value);
  return (
    <section className="wide shown" aria-label={`Shown: ${place}`}>
      <p className="small dim">Shown: {place}</p>
      {areFiles(rows) ? (
        <ul className="plain files">
          {rows.slice(0, FILES_SHOWN).map((file) => (
            <FileLine key={`${file.device} ${file.path}`} file={file} />
          ))}
          <Rest count={rows.length - FILES_SHOWN}>
            {() => rows.slice(FILES_SHOWN).map((file) => <FileLine key={`${file.device} ${file.path}`} file={file} />)}
          </Rest>
        </ul>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by the keyboard.
        <div className="box" tabIndex={0}>
          <ValueView text={shown.value} table exact />
        </div>
      )}
      {(shown.left_out ?? 0) > 0 && (
        <p className="small dim">
          {rows === null
            ? `${shown.left_out} more characters are`
            : `These are the first ${rows.length}; the others are`}{" "}
          not shown here. The whole is the result of {shown.source}.
        </p>
      )}
    </section>
  );
}
