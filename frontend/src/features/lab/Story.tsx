/** What happened, in order: faults stand out, then what the engine did, and how often work was begun. */

import type { StoryRow } from "../../model/types.ts";
import { begunLines } from "./lab.ts";

const MARK: Record<StoryRow["kind"], string> = { fault: "Fault:", healed: "Over:", engine: "", note: "" };

export function Story({ lines, label }: { lines: readonly StoryRow[]; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by itself, so the keyboard must reach it.
    <ol className="story" aria-label={label} tabIndex={0}>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line has no name of its own, and lines are only added.
        <li key={index} className={line.kind}>
          <time className="num nowrap">{line.at_s.toFixed(2)} s</time>
          <span>
            {MARK[line.kind] && <b>{MARK[line.kind]} </b>}
            {line.text}
          </span>
        </li>
      ))}
      {lines.length === 0 && <li className="dim">Nothing has happened yet.</li>}
    </ol>
  );
}

export function Begun({ begun, by }: { begun: Record<string, Record<string, number>>; by: string }) {
  const lines = begunLines(begun);
  if (lines.length === 0) return null;
  return (
    <div className="stack">
      <span className="small dim">Begun, {by}:</span>
      <ul className="plainlist">
        {lines.map((line) => (
          <li key={line} className="mono small">
            {line}
          </li>
        ))}
      </ul>
    </div>
  );
}
