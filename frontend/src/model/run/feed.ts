/** Events as lines that a person reads: one line a fact, a burst of the same kind as one line. Pure. */

import type { Attempt, Attention, Glyph, Head, StreamEvent, TaskRecord, Tone, Version } from "../types.ts";
import { presentation } from "../words/presentation.ts";
import { ATTENTION, author, constellationShown, FINAL, plural, versionDelta } from "../words/words.ts";

type FeedKind = "task" | "version" | "fault" | "question" | "control" | "other";

export interface FeedLine {
  /** Of its first event, so that a burst that goes on is the same line. */
  seq: number;
  at_ms: number;
  kind: FeedKind;
  glyph: Glyph | "bolt" | "plus" | "drop" | "pen";
  tone: Tone;
  /** Set in strong: the tasks or the version that it is about. */
  names: string[];
  text: string;
  by: string;
}

const BURST_MS = 1500;

function ofTask(event: StreamEvent): FeedLine | null {
  for (const [key, entity] of Object.entries(event.puts)) {
    if (!key.startsWith("task/") || entity === null) continue;
    const record = entity as unknown as TaskRecord;
    if (record.state === "waiting" || record.state === "leased") return null;
    const id = key.slice(5);
    if (event.about && event.about !== id) continue;
    const marked = event.kind === "task_marked" && record.reason === "marked";
    const shown = presentation(record.state, record.reason ?? (record.absent_since_ms ? "absent" : null), {
      attempt: record.attempt ?? 0,
      checked: record.checked ?? false,
      by: marked ? author(event.by) : "",
    });
    const ended = Object.entries(event.puts).find(([name]) => name.startsWith(`attempt/${id}/`))?.[1] as
      | Attempt
      | undefined;
    const failed = record.state === "failed" ? (ended?.detail ?? "") : "";
    const word = shown.word.charAt(0).toLowerCase() + shown.word.slice(1);
    return {
      ...base(event),
      kind: "task",
      glyph: shown.glyph,
      tone: shown.tone,
      names: [id],
      text: failed ? `${word}: ${failed}` : marked && event.note ? `${word}: ${event.note}` : event.note || word,
    };
  }
  return null;
}

const base = (event: StreamEvent) => ({ seq: event.seq, at_ms: event.at_ms, by: event.by });

function ofEvent(event: StreamEvent): FeedLine | null {
  for (const [key, entity] of Object.entries(event.puts)) {
    if (key.startsWith("version/") && entity !== null) {
      const version = entity as unknown as Version;
      const delta = versionDelta(version);
      return {
        ...base(event),
        by: version.author,
        kind: "version",
        glyph: (version.removed?.length ?? 0) > (version.added?.length ?? 0) ? "drop" : "plus",
        tone: "grey",
        names: [`v${version.number}`],
        text: [delta, version.reason].filter(Boolean).join(", "),
      };
    }
    if (key.startsWith("question/") && entity !== null) {
      const answered = Boolean(entity.answered_ms);
      return {
        ...base(event),
        kind: "question",
        glyph: answered ? "tick" : "hand",
        tone: answered ? "teal" : "violet",
        names: [],
        text: `${answered ? "Answered" : "Asked"}: ${String(entity.text ?? "")}`,
      };
    }
  }
  if (event.kind.includes("fault")) {
    const over = event.kind === "fault_ended";
    const names = [over ? "Fault over" : "Fault"];
    return {
      ...base(event),
      kind: "fault",
      glyph: "bolt",
      tone: over ? "grey" : "amber",
      names,
      text: event.note ?? "",
    };
  }
  const task = ofTask(event);
  if (task) return task;
  const state = event.puts.head?.state as Head["state"] | undefined;
  if (state && FINAL.has(state)) {
    const shown = constellationShown(state);
    return {
      ...base(event),
      kind: "other",
      glyph: shown.glyph,
      tone: shown.tone,
      names: [],
      text: event.note || shown.word,
    };
  }
  const attention = event.kind.startsWith("attention_") ? ATTENTION[event.about as Attention] : undefined;
  if (attention) {
    const raised = event.kind === "attention_raised";
    return {
      ...base(event),
      kind: "other",
      glyph: raised ? "hand" : "tick",
      tone: raised ? "violet" : "grey",
      names: [],
      text: raised ? [attention, event.note].filter(Boolean).join(": ") : `No longer: ${attention.toLowerCase()}`,
    };
  }
  if (event.note) {
    const kind = event.by.startsWith("person:") ? "control" : "other";
    return {
      ...base(event),
      kind,
      glyph: "pen",
      tone: "grey",
      names: event.about ? [event.about] : [],
      text: event.note,
    };
  }
  return null;
}

const kept = new WeakMap<StreamEvent, FeedLine | null>();

function lineOf(event: StreamEvent): FeedLine | null {
  let line = kept.get(event);
  if (line === undefined) {
    line = ofEvent(event);
    kept.set(event, line);
  }
  return line;
}

/** The lines of a log, newest first, at most `most`. Neighbours that say the same are joined. */
export function feedLines(events: readonly StreamEvent[], most: number): FeedLine[] {
  const lines: FeedLine[] = [];
  /** Of the last line, the newest first: a burst may be of thousands. */
  let named = new Set<string>();
  const close = () => {
    const last = lines[lines.length - 1];
    if (last) last.names = [...named].reverse();
  };
  for (let index = events.length - 1; index >= 0 && lines.length < most; index -= 1) {
    const event = events[index];
    if (!event) continue;
    const line = lineOf(event);
    if (!line) continue;
    const last = lines[lines.length - 1];
    const same = last?.kind === "task" && line.kind === "task" && last.text === line.text && last.glyph === line.glyph;
    if (last && same && last.at_ms - line.at_ms < BURST_MS) {
      for (const name of line.names) named.add(name);
      last.seq = line.seq;
      continue;
    }
    close();
    named = new Set(line.names);
    lines.push({ ...line });
  }
  close();
  return lines;
}

/** Who stands at the right of a line: the number of tasks in a burst, else who decided it. */
export function feedSource(line: FeedLine, nameOf: (device: string) => string): string {
  if (line.names.length > 1) return plural(line.names.length, "task");
  return line.by.startsWith("device:") ? nameOf(line.by.slice(7)) : author(line.by);
}
