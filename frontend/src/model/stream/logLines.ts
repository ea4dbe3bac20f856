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

/** A line as it is shown, and the byte at which it begins. One of the stream `gap` stands for `gap` bytes that are not here. */
export interface ShownLine extends Pick<LogLine, "text" | "stream" | "from"> {
  gap?: number;
}

const gapOf = (from: number, to: number): ShownLine => ({ text: "", stream: "gap", from, gap: to - from });

/** The lines of a log that was read up to the byte `end`, and of what the socket brought behind that. */
export function joined(
  read: string,
  end: number,
  live: readonly LogLine[],
  lost: readonly (readonly [number, number])[] = [],
): ShownLine[] {
  const lines = plain(read, end, lost);
  let goesOn = read !== "" && !read.endsWith("\n");
  let at = Number.POSITIVE_INFINITY;
  for (const line of live) {
    if (line.to <= end) continue;
    const text = line.from >= end ? line.text : after(line.text, end - line.from);
    const last = lines.at(-1);
    if (line.from > at) lines.push(gapOf(at, line.from));
    if (goesOn && last && line.from <= end) lines[lines.length - 1] = { ...last, text: last.text + text };
    else if (text !== "" || line.from >= end) lines.push({ text, stream: line.stream, from: Math.max(line.from, end) });
    goesOn = false;
    at = line.to;
  }
  return lines;
}

/** The lines of a text that ends at the byte `end`, and goes on behind each range that is lost. */
function plain(read: string, end: number, lost: readonly (readonly [number, number])[]): ShownLine[] {
  if (!read) return [];
  const raw = utf8.encode(read);
  const holes = [...lost];
  const lines: ShownLine[] = [];
  let at = end - raw.length - holes.reduce((sum, [from, to]) => sum + to - from, 0);
  for (let begin = 0; begin < raw.length; ) {
    while (holes[0] && holes[0][0] <= at) {
      const [from, to] = holes.shift() ?? [at, at];
      lines.push(gapOf(from, to));
      at = to;
    }
    const line = raw.indexOf(10, begin) + 1 || raw.length;
    // A line that a hole cuts is not the one behind it.
    const upTo = Math.min(line, begin + (holes[0] ? holes[0][0] - at : raw.length));
    const text = new TextDecoder().decode(raw.subarray(begin, raw[upTo - 1] === 10 ? upTo - 1 : upTo));
    lines.push({ text, stream: "out", from: at });
    at += upTo - begin;
    begin = upTo;
  }
  return lines;
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
