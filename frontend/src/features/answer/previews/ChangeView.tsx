/** One thing before and after: two pictures or files beside each other, or the lines of two texts that differ. */
import { diffLines } from "diff";
import { useMemo } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useBound } from "../../../app/workspace/printing.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { type FileRef, shownAs } from "../../../model/answer/files.ts";
import type { Side } from "../../../model/answer/parts.ts";
import { readable } from "../../../model/words/readable.ts";
import { plural } from "../../../model/words/words.ts";
import { FilePreview, Reading, TEXT_BYTES_MAX } from "./FilePreview.tsx";

const LINES_MAX = 400;
/** Comparing takes time by the product of what differs; beyond this the two stand beside each other. */
const EDITS_MAX = 2000;
/** So many equal lines stay visible around a change. */
const AROUND = 3;

const LIKE_TEXT: ReadonlySet<string> = new Set(["text", "markdown", "csv", "json"]);

export default function ChangeView({ before, after }: { before: Side; after: Side }) {
  if (typeof before === "string" && typeof after === "string") return <Lines before={before} after={after} />;
  if (isFile(before) && isFile(after) && likeText(before) && likeText(after))
    return <FilesOfText before={before} after={after} />;
  return <Beside before={before} after={after} />;
}

const isFile = (side: Side): side is FileRef => typeof side !== "string";
const likeText = (file: FileRef): boolean => LIKE_TEXT.has(shownAs(file.media));

function Beside({ before, after }: { before: Side; after: Side }) {
  return (
    <div className="beforeafter">
      {(
        [
          ["Before", before],
          ["After", after],
        ] as const
      ).map(([label, side]) => (
        <figure key={label}>
          <figcaption className="strong">{label}</figcaption>
          {isFile(side) ? <FilePreview file={side} /> : <div className="value">{side.slice(0, TEXT_BYTES_MAX)}</div>}
        </figure>
      ))}
    </div>
  );
}

function FilesOfText({ before, after }: { before: FileRef; after: FileRef }) {
  const { hub } = useWorkspace();
  const read = useResource(`${before.artifact}/${after.artifact}`, (signal) =>
    Promise.all([before, after].map((file) => hub.artifactStart(file.artifact, TEXT_BYTES_MAX, signal))),
  );
  if (read.problem) return <p className="dim">{read.problem.message}</p>;
  const [first, second] = read.value ?? [];
  if (!first || !second) return <Reading />;
  return (
    <>
      <Lines before={first.text} after={second.text} />
      {!(first.whole && second.whole) && <p className="small dim">The first 256 kB of each.</p>}
    </>
  );
}

interface Line {
  sign: "+" | "-" | " ";
  text: string;
}

/** The lines to show: each change with a few equal lines around it; a gap says how many are left out. */
export function changedLines(before: string, after: string): (Line | number)[] | null {
  const changes = diffLines(before, after, { maxEditLength: EDITS_MAX });
  if (!changes) return null;
  const found: (Line | number)[] = [];
  for (const [at, change] of changes.entries()) {
    const lines = change.value.replace(/\n$/, "").split("\n");
    const sign = change.added ? "+" : change.removed ? "-" : " ";
    const put = (some: string[]) => found.push(...some.map((text) => ({ sign, text }) as Line));
    const [head, tail] = [at === 0 ? 0 : AROUND, at === changes.length - 1 ? 0 : AROUND];
    if (sign !== " " || lines.length <= head + tail + 1) {
      put(lines);
      continue;
    }
    put(lines.slice(0, head));
    found.push(lines.length - head - tail);
    put(lines.slice(lines.length - tail));
  }
  return found;
}

function Lines({ before, after }: { before: string; after: string }) {
  const most = useBound(LINES_MAX);
  const lines = useMemo(() => changedLines(before, after), [before, after]);
  if (before === after) return <p className="dim">Nothing changed.</p>;
  if (!lines) return <Beside before={before} after={after} />;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to. */}
      <pre className="value change" tabIndex={0}>
        {lines.slice(0, most).map((line, at) =>
          typeof line === "number" ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place.
            <span key={at} className="gap">{`${plural(line, "equal line")}\n`}</span>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place.
            <span key={at} className={{ "+": "added", "-": "removed", " ": "" }[line.sign]}>
              {`${line.sign} ${readable(line.text)}\n`}
            </span>
          ),
        )}
      </pre>
      {lines.length > most && (
        <p className="small dim">
          The first {most} of {lines.length} lines.
        </p>
      )}
    </>
  );
}
