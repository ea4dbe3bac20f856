/** The fold of phases against the logs that the core recorded: the same spans on both sides. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunReport, StreamEvent } from "../types.ts";
import { SpanBook } from "./spans.ts";

const ROOT = join(process.cwd(), "..");
const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), "utf8"));
const golden = read("tests/core/answer/spans.json") as Record<string, unknown[][]>;
const eventsOf = (name: string) =>
  (read(`protocol/starloom_protocol/golden/v1/logs/${name}.json`) as { events: StreamEvent[] }).events;

const rows = (book: SpanBook) =>
  book.spans.map((span) => [
    span.task,
    span.phase,
    span.device,
    span.attempt,
    span.fromMs,
    span.toMs,
    span.hedge ? 1 : 0,
  ]);

describe("SpanBook", () => {
  it.each(Object.keys(golden))("folds %s as the core does", (name) => {
    const book = new SpanBook();
    for (const event of eventsOf(name)) expect(book.add([event])).toBe(true);
    expect(rows(book)).toEqual(golden[name]);
  });

  it.each(Object.keys(golden))("goes on with %s from a report in its middle", (name) => {
    const events = eventsOf(name);
    for (let cut = 1; cut < events.length; cut += 1) {
      const before = new SpanBook();
      before.add(events.slice(0, cut));
      const book = SpanBook.of(reportOf(before, events.slice(0, cut)));
      expect(book.add(events)).toBe(true);
      const length = (row: unknown[]) => row[4] !== row[5];
      expect(rows(book).filter(length)).toEqual(golden[name]?.filter(length));
    }
  });

  it("tells of a gap and takes nothing behind it", () => {
    const events = eventsOf("chain");
    const book = new SpanBook();
    expect(book.add(events.slice(0, 3))).toBe(true);
    expect(book.add(events.slice(5))).toBe(false);
    expect(book.seq).toBe(3);
  });
});

/** What the hub would report of these spans. */
function reportOf(book: SpanBook, events: StreamEvent[]): RunReport {
  const head = events.map((event) => event.puts.head as { state: string } | undefined).findLast((put) => put);
  const spans = book.spans.filter((span) => span.fromMs !== span.toMs);
  const [tasks, devices] = [spans.map((span) => span.task), spans.map((span) => span.device)];
  return {
    created_at: new Date(1_000_000).toISOString(),
    state: head?.state ?? "planning",
    seq: events[events.length - 1]?.seq ?? 0,
    spans: {
      tasks,
      devices,
      task: spans.map((span, at) => (span.task ? at : -1)),
      device: spans.map((span, at) => (span.device ? at : -1)),
      attempt: spans.map((span) => span.attempt),
      phase: spans.map((span) => span.phase),
      hedge: spans.map((span) => (span.hedge ? 1 : 0)),
      from_ms: spans.map((span) => span.fromMs - 1_000_000),
      to_ms: spans.map((span) => (span.toMs ? span.toMs - 1_000_000 : -1)),
    },
  } as unknown as RunReport;
}
