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

/** The lines of a log that was read up to the byte `end`, and of what the socket brought behind that. */
export function joined(read: string, end: number, live: readonly LogLine[]): { text: string; stream: string }[] {
  const lines = read ? read.replace(/\n$/, "").split("\n").map(plain) : [];
  let goesOn = read !== "" && !read.endsWith("\n");
  for (const line of live) {
    if (line.to <= end) continue;
    const text = line.from >= end ? line.text : after(line.text, end - line.from);
    const last = lines.at(-1);
    if (goesOn && last && line.from <= end) lines[lines.length - 1] = { ...last, text: last.text + text };
    else if (text !== "" || line.from >= end) lines.push({ text, stream: line.stream });
    goesOn = false;
  }
  return lines;
}

function plain(text: string) {
  return { text, stream: "out" };
}

function after(text: string, bytes: number): string {
  return new TextDecoder().decode(utf8.encode(text).slice(bytes));
}
