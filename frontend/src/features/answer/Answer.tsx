/**
 * The answer's parts: chips in the band while the work goes on, and large in their own place once there is something
 * to look at. A part is found by its key, which stands in the address.
 */

import { Link } from "wouter";
import { useWorkspace } from "../../app/workspace/context.ts";
import { lazily } from "../../app/workspace/lazily.tsx";
import type { FileRef } from "../../model/answer/files.ts";
import { type AnswerPart, changeIn, named, type PartKind, parsed } from "../../model/answer/parts.ts";
import { taskNamed } from "../../model/fleet/fleet.ts";
import { bytes, plural } from "../../model/words/words.ts";
import { Boundary } from "../../ui/Boundary.tsx";
import { Icon, type IconName } from "../../ui/Icon.tsx";
import { Button, Tabs } from "../../ui/parts.tsx";
import { FileList, SaveFile } from "./previews/FileList.tsx";
import { FilePreview } from "./previews/FilePreview.tsx";
import { Gallery } from "./previews/Gallery.tsx";
import { ValueView } from "./values/ValueView.tsx";

const ChangeView = lazily(
  "The view of a change",
  () => import("./previews/ChangeView.tsx"),
  (module) => module.default,
);
const MarkdownView = lazily(
  "The view of Markdown",
  () => import("./previews/MarkdownView.tsx"),
  (module) => module.default,
);

const ICONS: Record<PartKind, IconName> = {
  change: "copy",
  files: "file",
  markdown: "recipe",
  page: "file",
  pdf: "file",
  picture: "image",
  table: "table",
  text: "recipe",
  value: "list",
};

const answerPath = (constellation: string, part?: string): string =>
  `/constellations/${encodeURIComponent(constellation)}/answer${part ? `/${encodeURIComponent(part)}` : ""}`;

/** The title, and 0 where nothing is in it. */
const labelOf = (part: AnswerPart): string => (part.empty ? `${part.title} 0` : part.title);

const onlyFile = (part: AnswerPart): FileRef | undefined =>
  part.files?.length === 1 && part.of === 0 ? part.files[0] : undefined;

interface PartsProps {
  constellation: string;
  parts: AnswerPart[];
  onOpen: (key: string) => void;
}

export function AnswerChips({ constellation, parts, onOpen }: PartsProps) {
  const { fleet } = useWorkspace();
  if (parts.length === 0) return null;
  const choices = named(parts);
  return (
    <ul className="outs">
      {choices.map((part) => {
        const size = onlyFile(part)?.bytes;
        return (
          <li key={part.key}>
            <button
              type="button"
              className="chip out"
              onClick={() => onOpen(part.key)}
              title={`${part.title}, from ${taskNamed(fleet, part.from)}`}
            >
              <Icon name={ICONS[part.kind]} />
              <b className="cut">{labelOf(part)}</b>
              {size ? <span>{bytes(size)}</span> : null}
              {part.of > 0 && <span>{part.of}</span>}
              {part.checked && <Icon name="check" />}
            </button>
          </li>
        );
      })}
      {parts.length > choices.length && (
        <li>
          <More constellation={constellation} count={parts.length - choices.length} />
        </li>
      )}
    </ul>
  );
}

function More({ constellation, count }: { constellation: string; count: number }) {
  return (
    <Link className="chip out nowrap" href={answerPath(constellation)}>
      and {count} more
    </Link>
  );
}

/** One part, large, and the way to the others. */
export function AnswerStage({
  constellation,
  parts,
  shown,
  onOpen,
  onClose,
}: PartsProps & { shown: AnswerPart; onClose: (() => void) | null }) {
  const choices = named(parts, shown);
  return (
    <section className="stage" aria-label="Result">
      <header className="row">
        {parts.length > 1 ? (
          <Tabs<string>
            label="Parts of the answer"
            value={shown.key}
            onChange={onOpen}
            choices={choices.map((part) => ({ value: part.key, label: labelOf(part), icon: ICONS[part.kind] }))}
          />
        ) : (
          <h2 className="head cut">{shown.title}</h2>
        )}
        {parts.length > choices.length && <More constellation={constellation} count={parts.length - choices.length} />}
        <span className="row end nowrap">
          <PartSave part={shown} />
          <Link
            className="btn quiet square"
            href={answerPath(constellation, shown.key)}
            aria-label="This part on a page of its own"
            title="On a page of its own, with an address to pass on"
          >
            <Icon name="right" />
          </Link>
          {onClose && <Button icon="close" kind="quiet" aria-label="Hide the result" onClick={onClose} />}
        </span>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to. */}
      <div className="body" role="group" tabIndex={0} aria-label={shown.title}>
        <Boundary part="This part of the answer" of={shown.key}>
          <PartView key={shown.key} part={shown} />
        </Boundary>
      </div>
    </section>
  );
}

export function PartSave({ part }: { part: AnswerPart }) {
  const file = onlyFile(part);
  return file ? <SaveFile file={file} /> : null;
}

export function PartView({ part }: { part: AnswerPart }) {
  const { fleet } = useWorkspace();
  const from = taskNamed(fleet, part.from);
  return (
    <>
      <Contents part={part} />
      <p className="small dim">
        {part.of > 0 &&
          `${plural(part.shown, "result")} of ${from}${part.shown < part.of ? `; ${part.of - part.shown} more gave none, or are left out` : ""}. `}
        {part.checked ? `From ${from}, whose checks were all met.` : `From ${from}, which has no check of its own.`}
      </p>
    </>
  );
}

function Contents({ part }: { part: AnswerPart }) {
  const { files, text, kind } = part;
  if (files) {
    const [first] = files;
    if (files.length === 1 && first) return <FilePreview file={first} />;
    return kind === "picture" ? <Gallery files={files} /> : <FileList files={files} />;
  }
  if (text === null) return <p className="dim">It gave no value{part.lacks && `: it waited for ${part.lacks}`}.</p>;
  const value = parsed(text);
  const change = kind === "change" ? changeIn(value) : null;
  const plain = <ValueView text={text} table={kind === "table"} />;
  if (change) {
    return (
      <>
        {change.name && <p className="mono cut">{change.name}</p>}
        <ChangeView waiting={plain} before={change.before} after={change.after} />
      </>
    );
  }
  if (kind === "markdown" && typeof value === "string") {
    return <MarkdownView waiting={plain} text={value} />;
  }
  return plain;
}
