/** What a draft over a running plan becomes: operations in an order that the hub can take, and carried over. */
import { describe, expect, it } from "vitest";
import type { Fields } from "../document.ts";
import { removed } from "../edit.ts";
import {
  changesOf,
  clashes,
  delta,
  effectWords,
  faultsInRows,
  isApart,
  openElsewhere,
  rebased,
  restored,
} from "./changes.ts";

const base: Fields = {
  starloom: 1,
  name: "Base",
  tasks: [
    { id: "a", tool: "fs.find", args: { root: "x" } },
    { id: "b", tool: "data.sort", inputs: { rows: { from: "a" } }, optional: true },
    { id: "c", tool: "notify" },
  ],
  dependencies: [
    { from: "a", to: "c", when: "success" },
    { from: "b", to: "c", when: "finish" },
  ],
};

describe("changes", () => {
  it("of rows that have begun are taken back alone", () => {
    const tasks = [
      ...(base.tasks as Fields[]).filter(({ id }) => id !== "b").map((one) => ({ ...one, optional: true })),
      { id: "d", tool: "notify" },
    ];
    const draft = { ...base, tasks, dependencies: [{ from: "a", to: "d", when: "success" }] };
    const left = restored(base, draft, new Set(["b", "c"]));
    expect(changesOf(base, left)).toMatchObject({ added: ["d"], removed: [], changed: ["a"] });
    expect(changesOf(base, restored(base, draft, new Set(["a", "b", "c"])))).toMatchObject({
      added: ["d"],
      removed: [],
    });
    expect(
      effectWords(
        changesOf(base, draft),
        draft,
        new Map([
          ["a", "succeeded"],
          ["c", "running"],
        ]),
        true,
      ),
    ).toBe("When applied, 1 row (d) starts at once; 1 row (b) does not run.");
  });

  it("are none where nothing is changed", () => {
    expect(changesOf(base, structuredClone(base))).toMatchObject({ operations: [], impossible: [] });
    expect(delta(changesOf(base, base))).toBe("");
  });

  it("say which rows start at once, wait, are decided and do not run", () => {
    const tasks = [
      ...(base.tasks as Fields[]).filter(({ id }) => id !== "b"),
      { id: "alone", tool: "system.info" },
      { id: "after-a", tool: "notify", inputs: { text: { from: "a" } } },
      { id: "after-new", tool: "notify" },
      { id: "if-failed", tool: "notify" },
    ];
    const dependencies = [
      { from: "alone", to: "after-new", when: "success" },
      { from: "a", to: "if-failed", when: "failure" },
    ];
    const draft = { ...base, tasks, dependencies };
    const changes = changesOf(base, draft);
    const words = (state: string, active = true) =>
      effectWords(
        changes,
        draft,
        new Map([
          ["a", state],
          ["c", "waiting"],
        ]),
        active,
      );
    expect(words("running")).toBe(
      "When applied, 2 rows (c, alone) start at once; 3 rows (after-a, after-new, if-failed) wait for earlier rows; " +
        "1 row (b) does not run.",
    );
    expect(words("succeeded")).toBe(
      "When applied, 3 rows (c, alone, after-a) start at once; 1 row (after-new) waits for earlier rows; " +
        "1 row (if-failed) is decided at once by rows that have ended; 1 row (b) does not run.",
    );
    expect(words("running", false)).toContain("2 rows (c, alone) start when the work goes on;");
    expect(effectWords(changesOf(base, base), base, new Map(), true)).toBe("");
  });

  it("name a removed row last of what names it, and an added one before its gates", () => {
    const draft = removed(base, "b");
    const more = {
      ...draft,
      tasks: [...(draft.tasks as Fields[]), { id: "d", tool: "data.table" }],
      dependencies: [...(draft.dependencies as Fields[]), { from: "a", to: "d", when: "finish" }],
    };
    const changes = changesOf(base, more);
    expect(changes.operations).toEqual([
      { remove_dependency: { from: "b", to: "c", when: "finish" } },
      { remove_task: { id: "b" } },
      { add_task: { id: "d", tool: "data.table" } },
      { add_dependency: { from: "a", to: "d", when: "finish" } },
    ]);
    expect(delta(changes)).toBe("+1 \u22121");
  });

  it("set a field that was left out to what is absent", () => {
    const tasks = (base.tasks as Fields[]).map((task) => (task.id === "b" ? { id: "b", tool: "data.sort" } : task));
    expect(changesOf(base, { ...base, tasks }).operations).toEqual([
      { update_task: { id: "b", inputs: {}, optional: false } },
    ]);
  });

  it("say what no edit can do", () => {
    expect(changesOf(base, { ...base, rules: [{ name: "r" }] }).impossible).toHaveLength(1);
    const draft = { ...base, name: "Other", judge: "Is it good?", sentence: [{ text: "New." }] };
    expect(changesOf(base, draft).impossible).toEqual([
      "The name cannot be changed while it runs.",
      "The question that judges the answer cannot be changed while it runs.",
      "The sentence of the answer cannot be changed while it runs.",
    ]);
  });
});

it("carries a draft over to a newer plan: theirs comes in, mine stays", () => {
  const mine: Fields = {
    ...base,
    tasks: [
      { id: "a", tool: "fs.find", args: { root: "mine" } },
      ...(base.tasks as Fields[]).slice(1, 2),
      { id: "new", tool: "open" },
    ],
    dependencies: [],
  };
  const newer: Fields = {
    ...base,
    tasks: [...(base.tasks as Fields[]), { id: "theirs", tool: "disk.usage" }],
    dependencies: [...(base.dependencies as Fields[]), { from: "a", to: "theirs", when: "finish" }],
  };
  const made = rebased(base, mine, newer);
  expect((made.tasks as Fields[]).map((task) => task.id)).toEqual(["a", "b", "theirs", "new"]);
  expect((made.tasks as Fields[])[0]).toMatchObject({ args: { root: "mine" } });
  expect(made.dependencies).toEqual([{ from: "a", to: "theirs", when: "finish" }]);
  expect(changesOf(newer, made)).toMatchObject({ added: ["new"], removed: ["c"], changed: ["a"] });
});

it("merges a row that both changed by its fields, and names those where only one can stand", () => {
  const tasks = base.tasks as Fields[];
  const over = (id: string, fields: Fields): Fields => ({
    ...base,
    tasks: tasks.map((task) => (task.id === id ? { ...task, ...fields } : task)),
  });
  const mine = over("a", { timeouts: { start_to_close_s: 99 }, args: { root: "x", words: "mine" } });
  const theirs = over("a", { args: { root: "theirs", most: 5 } });
  expect((rebased(base, mine, theirs).tasks as Fields[])[0]).toEqual({
    id: "a",
    tool: "fs.find",
    timeouts: { start_to_close_s: 99 },
    args: { root: "theirs", words: "mine", most: 5 },
  });
  expect(clashes(base, mine, theirs)).toEqual([]);
  expect(clashes(base, over("a", { args: { root: "mine" } }), theirs)).toEqual(["args.root of a"]);
  const without = (fields: Fields): Fields => ({ ...base, tasks: [{ id: "a", tool: "fs.find", ...fields }] });
  expect((rebased(base, without({}), over("a", { optional: true })).tasks as Fields[])[0], "taken away here").toEqual({
    id: "a",
    tool: "fs.find",
    optional: true,
  });
  expect(clashes(base, mine, removed(base, "a"))).toEqual([
    "a, which is not there any more, so your change of it goes",
  ]);
  expect(clashes(base, removed(base, "a"), theirs)).toEqual(["a, which you remove"]);
  expect(clashes({ ...base, policy: { max_parallel: 1 } }, { ...base, policy: { max_parallel: 2 } }, base)).toEqual([
    "max_parallel of the policy",
  ]);
});

it("tells a newer plan that leaves the rows of a draft alone", () => {
  const tasks = base.tasks as Fields[];
  const adds = (...rows: Fields[]): Fields => ({ ...base, tasks: [...tasks, ...rows] });
  const sets = (id: string): Fields => ({
    ...base,
    tasks: tasks.map((task) => (task.id === id ? { ...task, optional: true, args: { x: 1 } } : task)),
  });
  const reader = adds({ id: "new", tool: "data.sort", inputs: { rows: { from: "b" } } });
  expect(isApart(base, reader, base)).toBe(true);
  expect(isApart(base, base, adds({ id: "theirs", tool: "notify" }))).toBe(true);
  expect(isApart(base, reader, sets("a"))).toBe(true);
  expect(isApart(base, reader, sets("b")), "the new row reads it").toBe(false);
  expect(isApart(base, reader, adds({ id: "new", tool: "notify" })), "one name").toBe(false);
  expect(isApart(base, sets("a"), sets("a"))).toBe(false);
  expect(isApart(base, sets("a"), { ...base, dependencies: [] }), "gates of another row").toBe(true);
  expect(isApart(base, sets("c"), { ...base, dependencies: [] }), "its own gates").toBe(false);
  const theirs = adds({ id: "theirs", tool: "data.sort", inputs: { rows: { from: "c" } } });
  expect(isApart(base, removed(base, "c"), theirs), "they read a row that goes").toBe(false);
  const policy = (most: number): Fields => ({ ...base, policy: { max_parallel: most } });
  expect(isApart(base, policy(2), policy(3))).toBe(false);
  expect(isApart(base, policy(2), sets("a"))).toBe(true);
});

it("tells which rows are edited elsewhere, by oneself and by others", () => {
  const drafts = [
    { by: "person:root#here", expires_ms: 9, tasks: ["a"] },
    { by: "person:root#phone", expires_ms: 9, tasks: ["list"] },
    { by: "person:mara#t", expires_ms: 9, tasks: ["b", "c"] },
    { by: "person:jo#t", expires_ms: 5, tasks: ["gone"] },
  ];
  const [own, others, ...more] = openElsewhere(drafts, "person:root", "here", 5);
  expect(own).toContain("You have a draft of list open in another browser");
  expect(others).toContain("mara is editing b, c");
  expect(more).toEqual([]);
});

it("puts the fault of an edit to the row that its operation is about", () => {
  const draft = { ...base, tasks: [...(base.tasks as Fields[]), { id: "new", tool: "fs.find" }] };
  const changes = changesOf(base, draft);
  const found = faultsInRows(draft, changes, [
    { place: "operations[0].add_task.for_each", reason: "no" },
    { place: "operations[9].update_task", reason: "of none" },
    { place: "base_version", reason: "of the whole" },
    { place: "tasks.c", reason: "no device" },
  ]);
  expect(found).toEqual([
    { place: `tasks[${draft.tasks.length - 1}].for_each`, reason: "no" },
    { place: "tasks[2]", reason: "no device" },
  ]);
});
