/**
 * A file of the hub's store as it can be looked at: text, tables and Markdown from their beginning, pictures, PDF and
 * HTML in a frame. The frame of an HTML file runs no script and reaches nothing; the hub serves it with the same rule.
 * What is in such a frame cannot be measured, so in a low window its contents are drawn by the page, as on paper.
 */

import { useMemo } from "react";
import { useMedia, useWorkspace } from "../../../app/workspace/context.ts";
import { lazily } from "../../../app/workspace/lazily.tsx";
import { usePrinting } from "../../../app/workspace/printing.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { type FileRef, partAt, readCsv, shownAs } from "../../../model/answer/files.ts";
import { parseExact } from "../../../model/words/exact.ts";
import { readable } from "../../../model/words/readable.ts";
import { bytes } from "../../../model/words/words.ts";
import { useRefusal } from "../../../ui/away.tsx";
import { DataTable } from "../values/DataTable.tsx";
import { ValueView } from "../values/ValueView.tsx";

const PrintedPage = lazily(
  "The page as it is printed",
  () => import("./PrintedPage.tsx"),
  (module) => module.default,
);
const MarkdownView = lazily(
  "The view of Markdown",
  () => import("./MarkdownView.tsx"),
  (module) => module.default,
);
export const TEXT_BYTES_MAX = 256 * 1024;
/** A part of a value can be shown only where the whole value was read. */
const VALUE_BYTES_MAX = 4 * 1024 * 1024;

/** As in `narrow.css`: here a frame would show a few lines, and scroll within a page that scrolls. */
const LOW = "(max-height: 560px)";

/** On paper it says why the part is missing; `printWhole` waits until no part says so. */
export function Reading() {
  const printing = usePrinting();
  return (
    <p className="dim" data-reading>
      {printing ? "Not read yet: print with Ctrl-P, which waits until it is read." : "Reading ..."}
    </p>
  );
}

export function FilePreview({ file }: { file: FileRef }) {
  const { hub } = useWorkspace();
  const printing = usePrinting();
  const low = useMedia(LOW);
  const why = useRefusal("files");
  if (why) return <p className="dim">{why}</p>;
  const shown = shownAs(file.media);
  const url = hub.artifactUrl(file.artifact, file.name, file.media, true);
  if (shown === "image") return <img className="preview" src={url} alt={readable(file.name)} />;
  if (shown === "pdf") return <Framed url={url} name={readable(file.name)} />;
  if (shown === "html" && (printing || low)) {
    return (
      <>
        <PrintedPage waiting={<Reading />} file={file} />
        {!printing && <OwnTab url={url} label="Open it with its own look in a tab of its own" />}
      </>
    );
  }
  if (shown === "html") return <Framed url={url} name={readable(file.name)} sandboxed />;
  if (shown === "none") {
    return (
      <p className="dim">
        {file.media === "application/octet-stream" ? "A file" : file.media}, {bytes(file.bytes)}. Save it to look at it.
      </p>
    );
  }
  return <TextPreview file={file} />;
}

/**
 * PDF has the browser's own viewer, which does not start in a sandbox; the fixed type keeps it from being anything
 * else. A phone often has no viewer inside a page; there the link opens it.
 */
function Framed({ url, name, sandboxed = false }: { url: string; name: string; sandboxed?: boolean }) {
  return (
    <>
      {sandboxed ? (
        <iframe className="preview document" src={url} title={name} referrerPolicy="no-referrer" sandbox="" />
      ) : (
        <iframe className="preview" src={url} title={name} referrerPolicy="no-referrer" />
      )}
      <OwnTab url={url} label="Open it in a tab of its own" />
    </>
  );
}

function OwnTab({ url, label }: { url: string; label: string }) {
  return (
    <p className="small">
      <a className="link" href={url} target="_blank" rel="noopener noreferrer">
        {label}
      </a>
    </p>
  );
}

function TextPreview({ file }: { file: FileRef }) {
  const { hub } = useWorkspace();
  const most = file.pointer ? VALUE_BYTES_MAX : TEXT_BYTES_MAX;
  const read = useResource(file.artifact, (signal) => hub.artifactStart(file.artifact, most, signal));
  if (read.problem) return <p className="dim">{read.problem.message}</p>;
  if (!read.value) return <Reading />;
  const { text, whole } = read.value;
  return (
    <>
      {file.pointer && whole ? (
        <ValuePart text={text} pointer={file.pointer} show={file.show ?? ""} />
      ) : (
        <Contents text={text} whole={whole} file={file} />
      )}
      {!whole && (
        <p className="small dim">
          The first {bytes(most)} of {bytes(file.bytes)}.
        </p>
      )}
    </>
  );
}

/** What the plan names of a value that was too large to be brought; a text is shown from its beginning. */
function ValuePart({ text, pointer, show }: { text: string; pointer: string; show: string }) {
  const found = useMemo(() => partOf(text, pointer), [text, pointer]);
  if (found === undefined) return <p className="dim">The value has no part {pointer}.</p>;
  if (typeof found !== "string") return <ValueView text={JSON.stringify(found)} table />;
  const media = show === "markdown" ? "text/markdown" : "text/plain";
  const start = found.slice(0, TEXT_BYTES_MAX);
  return (
    <>
      <Contents text={start} whole={start === found} file={{ artifact: "", name: "", media, bytes: found.length }} />
      {start !== found && (
        <p className="small dim">
          The first {start.length} of {found.length} characters.
        </p>
      )}
    </>
  );
}

/** A device says that it is a value; it may be any file. */
function partOf(text: string, pointer: string): unknown {
  try {
    return partAt(parseExact(text), pointer);
  } catch {
    return undefined;
  }
}

function Contents({ text, whole, file }: { text: string; whole: boolean; file: FileRef }) {
  const shown = shownAs(file.media);
  const table = useMemo(() => (shown === "csv" ? readCsv(text, whole) : null), [shown, text, whole]);
  if (table) return <DataTable table={table} />;
  // A JSON that was cut off is no value any more.
  if (shown === "json" && whole) return <ValueView text={text} table />;
  const plain = (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to.
    <pre className="value" tabIndex={0}>
      {readable(text)}
    </pre>
  );
  if (shown !== "markdown") return plain;
  return <MarkdownView waiting={plain} text={text} />;
}
