/** What happened, newest first: a line a fact, bursts joined. Announced at most once a second. */
import { useEffect, useMemo, useRef, useState } from "react";
import { usePaced } from "../../../app/workspace/context.ts";
import { callsNamed, nameOfDevice, taskNamed } from "../../../model/fleet/fleet.ts";
import { type FeedLine, feedLines, feedSource } from "../../../model/run/feed.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { StreamEvent } from "../../../model/types.ts";
import { timeOfDay } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Rest } from "../../../ui/parts.tsx";

const NAMES_MAX = 4;
/** More lines a second nobody reads, and each new one is laid out. */
const DRAWN_EVERY_MS = 500;

interface FeedProps {
  events: readonly StreamEvent[];
  revision: number;
  most: number;
  fleet: StreamModel;
  onSelect: (task: string) => void;
}

export function Feed({ events, revision, most, fleet, onSelect }: FeedProps) {
  const drawn = usePaced(revision, DRAWN_EVERY_MS);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list grows in place; `drawn` says when.
  const lines = useMemo(() => feedLines(events, most), [events, drawn, most]);
  const said = useSlow(lines[0] ? callsNamed(fleet, textOf(lines[0])) : "");
  return (
    <>
      <ol className="feed">
        {lines.map((line) => (
          <li key={line.seq}>
            <time>{timeOfDay(line.at_ms, true)}</time>
            <Glyph name={line.glyph} tone={line.tone} />
            <span className="cut">
              <FeedNames line={line} fleet={fleet} onSelect={onSelect} /> {callsNamed(fleet, line.text)}
            </span>
            <span className="faint nowrap only-wide">{feedSource(line, (device) => nameOfDevice(fleet, device))}</span>
          </li>
        ))}
        {lines.length === 0 && <li className="none">Nothing has happened yet.</li>}
      </ol>
      <p className="sr" aria-live="polite">
        {said}
      </p>
    </>
  );
}

interface NamesProps {
  line: FeedLine;
  fleet: StreamModel;
  onSelect: (task: string) => void;
}

function FeedNames({ line, fleet, onSelect }: NamesProps) {
  const shown = line.names.slice(0, NAMES_MAX);
  const more = line.names.length - shown.length;
  const named = (name: string, index: number) => (
    <span key={name}>
      {index > 0 && ", "}
      {line.kind === "task" ? (
        <button type="button" className="strong" onClick={() => onSelect(name)}>
          {taskNamed(fleet, name)}
        </button>
      ) : (
        <b>{callsNamed(fleet, name)}</b>
      )}
    </span>
  );
  return (
    <>
      {shown.map(named)}{" "}
      <Rest count={more}>{() => line.names.slice(NAMES_MAX).map((name, index) => named(name, index + 1))}</Rest>
    </>
  );
}

const textOf = (line: FeedLine): string => `${line.names.slice(0, NAMES_MAX).join(", ")} ${line.text}`;

/** The latest text, but a new one at most once a second, so that a screen reader can keep up. */
function useSlow(text: string): string {
  const [said, setSaid] = useState("");
  const latest = useRef(text);
  latest.current = text;
  const waiting = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new text starts the wait; the ref holds the newest.
  useEffect(() => {
    if (waiting.current) return;
    waiting.current = true;
    const timer = setTimeout(() => {
      waiting.current = false;
      setSaid(latest.current);
    }, 1000);
    return () => {
      waiting.current = false;
      clearTimeout(timer);
    };
  }, [text === said]);
  return said;
}
