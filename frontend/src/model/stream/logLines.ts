/**
 * The output of attempts as lines: chunks from the socket, and what follows the part of a log that was read before.
 *
 * Offsets count bytes of UTF-8 from the beginning of an attempt, over all its streams.
 */

/** A line that is open may go on in the next chunk. */
export interface LogLine {
  text: string;
  stream: string;
  from: number;
  to: number;
  open: boolean;
}

const LINES_KEPT = 4000;
/** A program that prints for hours without a new line, as a bar of progress does, is shown in pieces. */
const LINE_CHARS_MOST = 10_000;
/** The tab that shows a log reads it from the hub first, so the lines of tasks of long ago can go. */
const ATTEMPTS_KEPT = 40;

const utf8 = new TextEncoder();

export class LogLines {
  private readonly kept = new Map<string, LogLine[]>();

  of(task: string, attempt: number): LogLine[] | undefined {
    return this.kept.get(`${task}/${attempt}`);
  }

  take(task: string, attempt: number, chunk: { offset: number; stream: string; text: string }): void {
    const place = `${task}/${attempt}`;
    const lines = this.kept.get(place) ?? [];
    this.kept.delete(place);
    let at = chunk.offset;
    const parts = chunk.text.split("\n");
    parts.forEach((text, index) => {
      const open = index === parts.length - 1;
      if (open && text === "") return;
      const to = at + utf8.encode(text).length + (open ? 0 : 1);
      const last = lines.at(-1);
      const goesOn = last?.open && last.stream === chunk.stream && last.to === at;
      if (last && goesOn && last.text.length < LINE_CHARS_MOST)
        lines[lines.length - 1] = { ...last, text: last.text + text, to, open };
      else lines.push({ text, stream: chunk.stream, from: at, to, open });
      at = to;
    });
    this.kept.set(place, lines.length > LINES_KEPT ? lines.slice(-LINES_KEPT) : lines);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= ATTEMPTS_KEPT) break;
      this.kept.delete(oldest);
    }
  }
}

/** A line as it is shown, and the byte at which it begins. */
export type ShownLine = Pick<LogLine, "text" | "stream" | "from">;

/**
 * The lines of a log that was read up to the byte `end`, and of what the socket brought behind that. Where output is lost
 * in between, the lines before the hole count from `begin`, if that is given, and from `end` else.
 */
export function joined(read: string, end: number, live: readonly LogLine[], begin?: number): ShownLine[] {
  const lines = plain(read, begin ?? end - utf8.encode(read).length);
  let goesOn = read !== "" && !read.endsWith("\n");
  for (const line of live) {
    if (line.to <= end) continue;
    const text = line.from >= end ? line.text : after(line.text, end - line.from);
    const last = lines.at(-1);
    if (goesOn && last && line.from <= end) lines[lines.length - 1] = { ...last, text: last.text + text };
    else if (text !== "" || line.from >= end) lines.push({ text, stream: line.stream, from: Math.max(line.from, end) });
    goesOn = false;
  }
  return lines;
}

function plain(read: string, begin: number): ShownLine[] {
  if (!read) return [];
  let at = begin;
  return read
    .replace(/\n$/, "")
    .split("\n")
    .map((text) => {
      const from = at;
      at += utf8.encode(text).length + 1;
      return { text, stream: "out", from };
    });
}

function after(text: string, bytes: number): string {
  return new TextDecoder().decode(utf8.encode(text).slice(bytes));
}

/** So much of a log is read at once, and so many of its lines are drawn: each is an element of the page. */
export const PART_BYTES = 65_536;
const LINES_SHOWN = 2000;

/** What was read of a log: the bytes from `offset` to `next`, of `end`. */
interface Part {
  offset: number;
  next: number;
  end: number;
}

interface Shown {
  lines: ShownLine[];
  first: number;
  last: number;
}

/**
 * The whole lines of a part that are drawn, and the bytes where they begin and end: a part is read from any byte, and the
 * neighbours of this one begin where it ends. `back`: of too many lines the last ones.
 */
export function shownOf(lines: ShownLine[], { offset, next, end }: Part, back: boolean): Shown {
  if (back) {
    const whole = offset > 0 && lines.length > 1 ? lines.slice(1) : lines;
    const shown = whole.slice(-LINES_SHOWN);
    return {
      lines: shown,
      first: offset > 0 || shown.length < lines.length ? (shown[0]?.from ?? offset) : 0,
      last: next,
    };
  }
  const whole = next < end && lines.length > 1 ? lines.slice(0, -1) : lines;
  const shown = whole.slice(0, LINES_SHOWN);
  return { lines: shown, first: offset, last: lines[shown.length]?.from ?? next };
}
