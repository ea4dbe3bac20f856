import { expect, it } from "vitest";
import { joined, LogLines, shownOf } from "./logLines.ts";

const out = (offset: number, text: string, stream = "out") => ({ offset, stream, text });

it("goes on with a line that two chunks share, and with no other", () => {
  const lines = new LogLines();
  lines.take("t", 1, out(0, "the first li"));
  lines.take("t", 1, out(12, "ne\nsecond\nthi"));
  lines.take("t", 1, out(24, "oops\n", "err"));
  lines.take("t", 1, out(40, "behind a loss\n"));
  lines.take("t", 2, out(0, "another attempt\n"));
  expect(lines.of("t", 1)?.map((line) => [line.text, line.stream])).toEqual([
    ["the first line", "out"],
    ["second", "out"],
    ["thi", "out"],
    ["oops", "err"],
    ["behind a loss", "out"],
  ]);
  expect(lines.of("t", 2)).toHaveLength(1);
});

it("keeps the lines of the attempts that wrote last, and no line without an end", () => {
  const lines = new LogLines();
  for (let task = 0; task < 300; task += 1) lines.take(`t${task}`, 1, out(0, "x\n"));
  expect(lines.of("t0", 1)).toBeUndefined();
  expect(lines.of("t299", 1)).toHaveLength(1);
  for (let chunk = 0; chunk < 30; chunk += 1) lines.take("bar", 1, out(chunk * 1000, "=".repeat(1000)));
  expect(lines.of("bar", 1)?.map((line) => line.text.length)).toEqual([10_000, 10_000, 10_000]);
});

it("puts behind a log that was read what the socket brought since, also where lines are the same", () => {
  const lines = new LogLines();
  lines.take("t", 1, out(0, "try\ntry\ntr"));
  lines.take("t", 1, out(10, "y\ntry\nü and öther\n"));
  const live = lines.of("t", 1) ?? [];
  const all = ["try", "try", "try", "try", "ü and öther"];
  const whole = "try\ntry\ntry\ntry\nü and öther\n";
  const raw = new TextEncoder().encode(whole);
  for (const end of [0, 4, 6, 8, 9, 12, 16, 18, 19, raw.length]) {
    const read = new TextDecoder().decode(raw.slice(0, end));
    expect(
      joined(read, end, live).map((line) => line.text),
      `read to ${end}`,
    ).toEqual(all);
  }
  expect(joined("", 0, [])).toEqual([]);
  expect(joined("only read\n", 10, [])).toHaveLength(1);
});

it("knows the byte at which each line begins", () => {
  const lines = new LogLines();
  lines.take("t", 1, out(9, "live\nmore"));
  expect(joined("äa\nb\nc\n", 9, lines.of("t", 1) ?? []).map(({ from }) => from)).toEqual([1, 5, 7, 9, 14]);
});

it("shows neighbouring parts of a log without a gap, a line twice or half a line", () => {
  const all = Array.from({ length: 9000 }, (_, at) => `line ${at} ä`);
  const raw = new TextEncoder().encode(`${all.join("\n")}\n`);
  const end = raw.length;
  const part = (from: number, to: number) => {
    // As the hub does, a part begins and ends with a whole character.
    while (((raw[from] ?? 0) & 0xc0) === 0x80) from += 1;
    while (((raw[to] ?? 0) & 0xc0) === 0x80) to -= 1;
    return { text: new TextDecoder().decode(raw.slice(from, to)), offset: from, next: to, end };
  };
  const walk = (back: boolean) => {
    const found: string[][] = [];
    for (let at = back ? end : 0; back ? at > 0 : at < end; ) {
      const read = back ? part(Math.max(0, at - 65_536), at) : part(at, Math.min(end, at + 65_536));
      const { lines, first, last } = shownOf(joined(read.text, read.next, []), read, back);
      expect(lines.length).toBeLessThanOrEqual(2000);
      found.push(lines.map(({ text }) => text));
      at = back ? first : last;
    }
    return (back ? found.reverse() : found).flat();
  };
  expect(walk(true)).toEqual(all);
  expect(walk(false)).toEqual(all);
});

it("shows where output is lost, and counts on behind it", () => {
  const read = joined("one\ntwthree\n", 120, [], [[6, 114]]);
  expect(read.map(({ text, from, gap }) => [gap ?? text, from])).toEqual([
    ["one", 0],
    ["tw", 4],
    [108, 6],
    ["three", 114],
  ]);
  const lines = new LogLines();
  lines.take("t", 1, out(0, "a\n"));
  lines.take("t", 1, out(50, "b\n"));
  expect(joined("", 0, lines.of("t", 1) ?? []).map(({ text, gap }) => gap ?? text)).toEqual(["a", 48, "b"]);
});
