/**
 * Rows are views: reading a row and writing the same back leaves any document as it was, writing and reading gives what
 * was written, text says the document again, and undo comes back to the start. On every recipe of the repository.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Draft, documentOf, type Fields, idOf, tasksOf } from "../document.ts";
import {
  added,
  changedGate,
  copied,
  moved,
  patched,
  removed,
  renamed,
  withArg,
  withEach,
  withGate,
  withResult,
  withUse,
} from "../edit.ts";
import { proposals, withoutParam, withParam } from "../params.ts";
import { before, rowsOf } from "../row.ts";
import { draftOfText, textOfDraft } from "../text.ts";
import { begun, redone, stepped, undone } from "../undo.ts";
import { whereOf, withWhere } from "../where.ts";

const FOLDER = join(process.cwd(), "..", "recipes");
const HAND = `
starloom: 1
name: Of every kind
tasks:
  - {id: a, tool: fs.find, args: {root: Pictures, kinds: [image]}, timeouts: {start_to_close_s: 9}}
  - {id: b, for_each: {from: a, output: /files, max_parallel: 2}, tool: fs.hash, args: {paths: {each: /path}}}
  - {id: c, for_each: {devices: {labels: [home]}}, tool: disk.usage}
  - {id: g, for_each: {times: 3}, tool: system.info}
  - {id: h, for_each: {devices: {os: linux}, times: 2}, tool: system.info}
  - {id: m, tool: notify, not_before: {from: a, output: /at, zone: Europe/Berlin, within_s: 60}, args: {text: x}}
  - {id: o, for_each: {from: b, output: /files}, tool: fs.read, reuse: {fresh_s: 60, key: {each: /sha256}}, args: {path: {each: /path}}}
  - {id: n, person: "Well?", shows: {from: a, output: /files}}
  - {id: l, tool: log.search, repeat: {max: 9, every_s: 5, until: {output: /count, op: ge, value: 3}}}
  - {id: i, tool: system.info, vote: {n: 3, on: /os, rule: {ahead_by: 2}, apart: true}}
  - {id: k, tool: fs.stat, device: {from: i, output: /winner, within: {os: linux}}}
  - {id: found, tool: system.info, finds: {topic: its system, value: /os}}
  - {id: taker, tool: notify, inputs: {text: {finding: its system, fresh_s: 60, else: unknown}}}
  - {id: j, tool: data.vote, inputs: {ballots: {from: g, output: /os}, voters: {from: g, who: true}}}
  - {id: d, for_each: {same: b}, tool: fs.stat, inputs: {paths: {from: b, output: /files, flatten: true}}}
  - {id: e, person: Go on?, ask: [ann], choices: [{value: y, label: Yes}, {value: n, label: No, fails: true}]}
  - {id: f, tool: shell.run, device: {any: [{name: x}, {os: linux}]}, args: {argv: [uptime]}, on_absence: wait}
dependencies:
  - {from: a, to: e, when: {output: /count, op: gt, value: 3}}
  - {from: e, to: f, when: unless_failed}
  - {from: c, to: f, when: finish, all: true}
result: [{title: Hashes, from: b, output: /files, show: table}]
`;

const texts: [string, string][] = [
  ...readdirSync(FOLDER)
    .filter((name) => name.endsWith(".yaml"))
    .map((name): [string, string] => [name, readFileSync(join(FOLDER, name), "utf8")]),
  ["by hand", HAND],
];

function read(text: string): Draft {
  const { draft, fault } = draftOfText(text);
  if (!draft) throw new Error(fault.reason);
  return draft;
}

/** A generator of the same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe.each(texts)("%s", (_name, text) => {
  const draft = read(text);

  it("says the same document again, as YAML and as JSON", () => {
    for (const form of ["yaml", "json"] as const)
      expect(documentOf(read(textOfDraft(draft, form)))).toEqual(documentOf(draft));
  });

  it("is left as it was when what a row reads is written back", () => {
    let plan = draft.plan;
    for (const row of rowsOf(plan)) {
      plan = patched(plan, row.id, (task) => withWhere(task, row.where));
      for (const [name, value] of Object.entries(row.args))
        plan = patched(plan, row.id, (task) => withArg(task, name, value));
      for (const use of row.uses) plan = patched(plan, row.id, (task) => withUse(task, use.name, use));
      for (const gate of row.gates) plan = changedGate(plan, gate.at, { from: gate.from, when: gate.when });
      if (row.each?.from) plan = patched(plan, row.id, (task) => withEach(task, row.each));
    }
    expect(plan).toEqual(draft.plan);
  });

  it("gives back what was written", () => {
    for (const row of rowsOf(draft.plan).filter((one) => one.kind === "tool")) {
      const plan = patched(draft.plan, row.id, (task) => withArg(task, "probe", { deep: [1, "two"] }));
      expect(rowsOf(plan)[row.at]?.args.probe).toEqual({ deep: [1, "two"] });
      for (const where of [
        { kind: "device", name: "laptop" },
        { kind: "every", of: { os: "linux" } },
        { kind: "class", of: { label: "home" } },
        { kind: "auto" },
      ] as const) {
        expect(whereOf(withWhere(tasksOf(plan)[row.at] ?? {}, where))).toEqual(where);
      }
    }
  });

  it("comes back under its old names after a renaming there and back", () => {
    for (const row of rowsOf(draft.plan)) {
      const away = renamed(draft.plan, row.id, "somewhere-else");
      expect(namesIn(away)).not.toContain(row.id);
      expect(renamed(away, "somewhere-else", row.id)).toEqual(draft.plan);
    }
  });

  it("comes back from parameters to constants", () => {
    for (const proposal of proposals(draft)) {
      const asked = withParam(draft, proposal);
      expect(
        documentOf(withoutParam(asked, proposal.name)).plan ?? documentOf(withoutParam(asked, proposal.name)),
      ).toEqual(draft.plan);
    }
  });

  it("comes back from any hundred edits, and names no row that is gone", () => {
    const next = numbers(text.length);
    let line = begun(draft.plan);
    for (let count = 0; count < 100; count += 1) {
      const plan = edited(line.now, next);
      line = stepped(line, plan, "", count);
      expect(dangling(plan, draft.plan)).toEqual([]);
    }
    const end = line.now;
    while (line.past.length) line = undone(line);
    expect(line.now).toBe(draft.plan);
    while (line.future.length) line = redone(line);
    expect(line.now).toBe(end);
  });
});

function edited(plan: Fields, next: (below: number) => number): Fields {
  const rows = rowsOf(plan);
  const row = rows[next(rows.length || 1)];
  const other = rows[next(rows.length || 1)];
  if (!row || !other) return added(plan, { tool: "fs.find" }).plan;
  switch (next(9)) {
    case 0:
      return added(plan, next(2) ? { tool: "data.sort" } : { person: "Go on?" }).plan;
    case 1:
      return removed(plan, row.id);
    case 2:
      return moved(plan, row.id, next(5) - 2);
    case 3:
      return copied(plan, row.id).plan;
    case 4:
      return patched(plan, row.id, (task) => withArg(task, "root", `folder-${next(99)}`));
    case 5:
      return patched(plan, row.id, (task) => withUse(task, "rows", { from: other.id, output: "/files" }));
    case 6:
      return withGate(plan, other.id, row.id, "finish");
    case 7:
      return withResult(plan, row.id, `Result ${next(9)}`);
    default:
      return renamed(plan, row.id, `r${next(1000)}-${row.at}`);
  }
}

/** Names in uses, gates and groups that are the name of no row and were not so at the start. */
function dangling(plan: Fields, start: Fields): string[] {
  const ids = new Set(tasksOf(plan).map(idOf));
  const before = new Set(JSON.stringify(start).match(/[a-z0-9-]+/g));
  return namesIn(plan).filter((id) => !ids.has(id) && !before.has(id));
}

/** Every name of another row that a row has. */
function namesIn(plan: Fields): string[] {
  return rowsOf(plan)
    .flatMap((row) => [
      ...row.uses.map((use) => use.from),
      ...row.gates.map((gate) => gate.from),
      row.each?.from ?? "",
      row.each?.same ?? "",
    ])
    .filter(Boolean);
}

describe("fields that rows cannot show", () => {
  const draft = read(HAND);
  const row = (id: string) => rowsOf(draft.plan).find((one) => one.id === id);

  it("names them in the row, so that nothing is lost unseen", () => {
    expect(row("i")?.more).toEqual(["vote"]);
    expect(row("l")?.more).toEqual(["repeat"]);
    expect(row("m")?.more).toEqual(["not_before"]);
    expect(row("n")?.more).toEqual(["shows"]);
    expect(row("found")?.more).toEqual([]);
    expect(row("taker")?.more).toEqual([]);
    expect(row("taker")?.byTopic).toEqual([{ name: "text", topic: "its system" }]);
    expect(row("g")?.more).toEqual(["times"]);
    expect(row("h")?.more).toEqual(["times"]);
  });

  it("shows a number of devices as no choice of the list", () => {
    expect(row("h")?.where).toEqual({ kind: "other", selector: { os: "linux" } });
    expect(row("g")?.each).toBeNull();
  });

  it("keeps a row with a device by a result after the row that names it", () => {
    const found = row("k");
    expect(found && before(found)).toEqual(["i"]);
    expect(found?.where.kind).toBe("other");
  });
});
