/** The log of a task's last attempt: its end as it grows, any earlier part of it, and a search of all that the hub has. */

import { useEffect, useMemo, useRef, useState } from "react";
import { useRevision, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { useSettled } from "../../../app/workspace/settled.ts";
import type { Hub } from "../../../link/endpoints.ts";
import { joined, PART_BYTES, type ShownLine, shownOf } from "../../../model/stream/logLines.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { bytes } from "../../../model/words/words.ts";
import { Icon } from "../../../ui/Icon.tsx";
import { Button, ProblemNote } from "../../../ui/parts.tsx";

interface LogProps {
  constellation: string;
  model: StreamModel;
  view: TaskView;
}

export function LogTab(props: LogProps) {
  const number = props.view.record?.attempt ?? 0;
  if (number === 0) return <p className="dim">It has not run yet, so there is no log.</p>;
  return <AttemptLog key={`${props.view.id}/${number}`} number={number} {...props} />;
}

/** A part that begins at a byte, or the one that ends there; the end of the log is none of them. */
type Place = { from: number } | { until: number } | null;

type Read = (query: { offset?: number; tail: number }) => Promise<Output>;
type Output = Awaited<ReturnType<Hub["log"]>>;

/** As the hub has it. */
const READ_MOST = 1024 * 1024;

/** Reads a part of a log. Of one before a byte, all may be lost: what is there ends further back. */
async function readPart(read: Read, place: Place): Promise<Output> {
  if (place === null) return read({ tail: PART_BYTES });
  if ("from" in place) return read({ offset: place.from, tail: PART_BYTES });
  for (let step = PART_BYTES; ; step *= 2) {
    const offset = Math.max(0, place.until - step);
    const part = await read({ offset, tail: Math.min(place.until - offset, READ_MOST) });
    if (offset === 0 || part.lost?.[0]?.[0] !== offset) return part;
  }
}

function AttemptLog({ constellation, model, view, number }: LogProps & { number: number }) {
  const { hub } = useWorkspace();
  const ended = Boolean(view.attempt?.ended_ms);
  const [place, setPlace] = useState<Place>(null);
  const of = `${constellation}/${view.id}/${number}/${ended}`;
  const log = useResource(`${of}/${JSON.stringify(place)}`, (signal) =>
    readPart((query) => hub.log(constellation, view.id, number, query, signal), place),
  );
  useRevision(model);
  const live = ended || place ? undefined : model.lines.of(view.id, number);
  const [follow, setFollow] = useState(true);
  const [words, setWords] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const stored = log.value?.text ?? (place ? "" : (view.attempt?.tail ?? ""));
  const { offset = 0, next = 0, end = next } = log.value ?? {};
  const back = place === null || "until" in place;
  const upTo = place && "until" in place ? place.until : Number.POSITIVE_INFINITY;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines of the model change in place.
  const read = useMemo(() => {
    // A part that goes on behind a hole may reach further than it was asked for.
    const lines = joined(stored, next, live ?? [], log.value?.lost).filter((line) => line.from < upTo);
    return shownOf(lines, { offset, next: Math.min(next, upTo), end }, back);
  }, [stored, log.value, back, live, live?.at(-1)?.to]);
  // The part that was left stays until the next one is here.
  const held = useRef(read);
  if (log.value || !place) held.current = read;
  const part = held.current;
  const size = Math.max(end, part.last, live?.at(-1)?.to ?? 0);
  const found = useFound(words, part.lines, live ?? [], of, (q, signal) =>
    hub.log(constellation, view.id, number, { q }, signal),
  );
  const lines = found?.lines ?? part.lines;
  const begins = lines[0]?.from;
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what calls for a scroll.
  useEffect(() => {
    if (!box.current || words) return;
    if (!back) box.current.scrollTop = 0;
    else if (follow || place) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.length, begins, follow, back]);
  const problem = log.problem ?? found?.problem;
  return (
    <div className="stack">
      <div className="row">
        <label className="field grow">
          <Icon name="search" />
          <input
            aria-label="Search the log"
            placeholder="Search the whole log"
            maxLength={WORDS_MOST}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        {!place && (
          <Button kind="quiet" aria-pressed={follow} onClick={() => setFollow(!follow)}>
            {follow ? "Following" : "Follow"}
          </Button>
        )}
      </div>
      {problem && <ProblemNote problem={problem} />}
      {found?.cut && <p className="small dim">The first {FOUND_MOST} lines with these words are shown.</p>}
      {!found && (place || part.first > 0) && <Parts {...part} size={size} place={place} onPlace={setPlace} />}
      {lines.length > 0 ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a log scrolls, and must do so by keyboard too.
        <div className="log pane" ref={box} tabIndex={0} role="log" aria-label={`Log of attempt ${number}`}>
          {lines.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line of a log is its place.
            <div key={index} className={CLASS[line.stream]}>
              {line.gap ? `Here ${bytes(line.gap)} of output are missing.` : line.text}
            </div>
          ))}
        </div>
      ) : (
        <p className="dim">{found ? found.none : log.loading ? "" : ended ? WROTE_NOTHING : "Nothing written yet."}</p>
      )}
    </div>
  );
}

const CLASS: Record<string, string | undefined> = { err: "err", gap: "dim" };
const WROTE_NOTHING = "The tool wrote nothing; its result says what it did.";
/** As the hub has it, for words and for lines that one search finds. */
const WORDS_MOST = 200;
const FOUND_MOST = 200;
const PAUSE_MS = 250;

/**
 * The lines with these words in the whole log, as the hub finds them, and those that came since. Until the hub answers,
 * those of the part that is shown; null without words.
 */
function useFound(
  words: string,
  shown: ShownLine[],
  live: readonly ShownLine[],
  of: string,
  search: (
    q: string,
    signal: AbortSignal,
  ) => Promise<{
    lines?: { offset: number; text: string }[];
  }>,
) {
  const asked = useSettled(words.trim() || null, PAUSE_MS);
  const read = useResource(
    asked && `${of}/${asked}`,
    async (signal) => (await search(asked ?? "", signal)).lines ?? [],
  );
  if (!words.trim()) return null;
  const { value, problem } = read;
  const has = ({ text }: ShownLine) => text.toLowerCase().includes(words.trim().toLowerCase());
  if (value === null || asked !== words.trim()) {
    const none = problem ? "The part that is here has no line with these words." : "Searching the whole log.";
    return { lines: shown.filter(has), none, problem, cut: false };
  }
  const cut = value.length >= FOUND_MOST;
  const last = value.at(-1)?.offset ?? -1;
  const since = cut ? [] : live.filter((line) => line.from > last && has(line));
  const lines: ShownLine[] = [...value.map(({ offset, text }) => ({ text, stream: "out", from: offset })), ...since];
  return { lines, none: "No line has these words.", problem, cut };
}

interface PartsProps {
  first: number;
  last: number;
  size: number;
  place: Place;
  onPlace: (place: Place) => void;
}

/** Which part of the log is shown, and the ways to the others. */
function Parts({ first, last, size, place, onPlace }: PartsProps) {
  const way = (label: string, to: Place) => (
    <button key={label} type="button" className="link" onClick={() => onPlace(to)}>
      {label}
    </button>
  );
  return (
    <div className="row wrap small dim" role="group" aria-label="Parts of the log">
      <span>
        {place
          ? `${bytes(first)} to ${bytes(last)} of ${bytes(size)}.`
          : `The last ${bytes(size - first)} of ${bytes(size)}.`}
      </span>
      {first > 0 && [way("Beginning", { from: 0 }), way("Earlier", { until: first })]}
      {place && [last < size && way("Later", { from: last }), way("End", null)]}
    </div>
  );
}
