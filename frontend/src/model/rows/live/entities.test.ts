/** The plan of every golden log can be written again: all its own tasks, no children, and text that reads the same. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fold } from "../../../../dev/apply.ts";
import type { Dependency, Entity, Head, RuleRecord, StreamEvent, TaskSpec, Version } from "../../types.ts";
import { draftOf, idOf, tasksOf } from "../document.ts";
import { rowsOf } from "../row.ts";
import { draftOfText, textOfDraft } from "../text.ts";
import { planOf, taskDoc } from "./entities.ts";

const FOLDER = join(process.cwd(), "..", "protocol", "starloom_protocol", "golden", "v1", "logs");
const read = (name: string) => JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as { events: StreamEvent[] };
const logs = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .filter((name) => read(name).events.some((event) => "head" in event.puts));

function kind<T>(entities: Map<string, Entity>, name: string): T[] {
  return [...entities].filter(([key]) => key.startsWith(`${name}/`)).map(([, entity]) => entity as unknown as T);
}

describe.each(logs)("%s", (name) => {
  const entities = fold(new Map(), read(name).events);

  it("becomes rows again", () => {
    const specs = kind<TaskSpec>(entities, "spec");
    const plan = planOf({
      head: entities.get("head") as unknown as Head,
      specs,
      dependencies: kind<Dependency>(entities, "dep"),
      rules: kind<RuleRecord>(entities, "rule"),
      versions: kind<Version>(entities, "version"),
    });
    const own = specs.filter((spec) => !spec.group && !spec.undoes && !spec.verifies).map((spec) => spec.id);
    expect(tasksOf(plan).map(idOf).sort()).toEqual(own.sort());
    const what = new Map(specs.map((spec) => [spec.id, spec.tool ?? spec.person ?? ""]));
    for (const row of rowsOf(plan)) expect(row.what).toBe(what.get(row.id));
    const again = draftOfText(textOfDraft(draftOf(plan)));
    expect(again.draft?.plan).toEqual(plan);
  });
});

it("keeps every wish of the policy, and the questions to a judge", () => {
  const policy = {
    approval: "always",
    drop_below: 40,
    judge: { question: "Is it whole?", unclear: "fail" },
    on_failure: "ask",
    partial: true,
    priority: "high",
    review: "always",
    review_at: ["a"],
  };
  const head = { id: "c-1", name: "Judged", policy } as unknown as Head;
  const spec: TaskSpec = { changed_in: 1, id: "a", tool: "fs.find", args: "{}", judge: { question: "Right?" } };
  const plan = planOf({ head, specs: [spec], dependencies: [], rules: [], versions: [] });
  const { judge, drop_below: _, ...rest } = policy;
  expect(plan.policy).toEqual({ ...rest, drop_optional_below: 0.4 });
  expect(plan.judge).toEqual(judge);
  expect(tasksOf(plan)[0]?.judge).toBe("Right?");
});

it("writes only what is not the default", () => {
  const spec: TaskSpec = { changed_in: 1, id: "a", tool: "fs.find", args: "{}", device: { name: "laptop" } };
  expect(taskDoc(spec)).toEqual({ id: "a", tool: "fs.find", device: { name: "laptop" } });
  const group: TaskSpec = {
    changed_in: 1,
    id: "g",
    tool: "disk.usage",
    args: '{"path":{"each":"/name"}}',
    for_each: { devices: {}, need: "at_least", need_count: 2, max_parallel: 3, times: 4 },
    checks: [{ op: "eq", output: "/exit_code", value: "0" }],
  };
  const looks: TaskSpec = {
    ...group,
    checks: [],
    for_each: { devices: {}, when_off: "report" },
    inputs: [{ name: "gone", source: "look", all: true, off: true }],
  };
  expect(taskDoc(looks)).toMatchObject({
    for_each: { devices: {}, when_off: "report", after_s: 0 },
    inputs: { gone: { from: "look", all: true, off: true } },
  });
  expect(taskDoc(group)).toEqual({
    id: "g",
    tool: "disk.usage",
    args: { path: { each: "/name" } },
    for_each: { devices: {}, need: { at_least: 2 }, max_parallel: 3, times: 4 },
    checks: [{ exit_code: 0 }],
  });
});

it("writes the other calls of a task, the words of a check, and what an answer compares", () => {
  const spec: TaskSpec = {
    changed_in: 1,
    id: "a",
    tool: "fs.read",
    any_of: [
      { tool: "http.request", args: '{"url":"https://a.example"}', device: { name: "server" } },
      { tool: "fs.find" },
    ],
    checks: [{ op: "not_empty", output: "/text", says: "{name} has no text" }],
  };
  expect(taskDoc(spec)).toEqual({
    id: "a",
    tool: "fs.read",
    any_of: [
      { tool: "http.request", args: { url: "https://a.example" }, device: { name: "server" } },
      { tool: "fs.find" },
    ],
    checks: [{ output: "/text", op: "not_empty", says: "{name} has no text" }],
  });
  const head = {
    id: "c-1",
    name: "Watch",
    results: [{ title: "Now", source: "a", compare: ["name"] }],
    sentences: [{ text: "It is full.", alarm: true }],
  } as unknown as Head;
  const plan = planOf({ head, specs: [spec], dependencies: [], rules: [], versions: [] });
  expect(plan.result).toEqual([{ title: "Now", from: "a", compare: ["name"] }]);
  expect(plan.sentence).toEqual([{ text: "It is full.", alarm: true }]);
});

it("leaves out what the hub added to take work back or to look for its effect", () => {
  const specs: TaskSpec[] = [
    { changed_in: 1, id: "copy", tool: "fs.copy" },
    { changed_in: 2, id: "undo-copy", tool: "fs.trash", undoes: "copy" },
    { changed_in: 2, id: "verify-copy", tool: "fs.list", verifies: "copy/1" },
  ];
  const head = { id: "c-1", name: "Undone" } as unknown as Head;
  const gate: Dependency = { changed_in: 2, gate: "success", source: "copy", target: "undo-copy" };
  const plan = planOf({ head, specs, dependencies: [gate], rules: [], versions: [] });
  expect(tasksOf(plan).map(idOf)).toEqual(["copy"]);
  expect(plan.dependencies).toBeUndefined();
});

it("writes a device that a result names", () => {
  const spec: TaskSpec = {
    changed_in: 1,
    id: "a",
    tool: "t",
    for_each: { source: "fast", output: "/device", devices: { os: "linux" } },
  };
  expect(taskDoc(spec)).toEqual({
    id: "a",
    tool: "t",
    device: { from: "fast", output: "/device", within: { os: "linux" } },
  });
});

it("writes the turns of a repeated call", () => {
  const until = { op: "eq", output: "/up", value: "false" } as const;
  const spec: TaskSpec = {
    changed_in: 1,
    id: "a",
    tool: "t",
    for_each: { repeat: { most: 9, every_s: 5, until, carry: { url: "/next" } } },
  };
  const condition = { output: "/up", op: "eq", value: false };
  expect(taskDoc(spec)).toEqual({
    id: "a",
    tool: "t",
    repeat: { max: 9, every_s: 5, until: condition, carry: { url: "/next" } },
  });
  const turned = { ...spec, for_each: { repeat: { most: 2, during: true, in_a_row: 2, until } } };
  expect(taskDoc(turned)).toMatchObject({ repeat: { max: 2, while: condition, in_a_row: 2 } });
});

it("writes the time before which a task does not begin", () => {
  const not_before = { source: "note", output: "/text", within_s: 604_800, zone: "UTC" };
  expect(taskDoc({ changed_in: 1, id: "a", tool: "t", not_before })).toEqual({
    id: "a",
    tool: "t",
    not_before: { from: "note", output: "/text", zone: "UTC" },
  });
});

it("writes the rule that ends a hopeless task", () => {
  const condition = { op: "gt", output: "/loss", value: "2" } as const;
  const written = (stop_when: TaskSpec["stop_when"]) => taskDoc({ changed_in: 1, id: "a", tool: "t", stop_when });
  expect(written({ name: "loss", condition }).stop_when).toEqual({ progress: "/loss", op: "gt", value: 2 });
  expect(written({ name: "a/b", worse_by: "0.05", best: "high", after_n: 8 }).stop_when).toEqual({
    progress: "/a~1b",
    worse_than_best_by: 0.05,
    best: "high",
    after: { n: 8 },
  });
});

it("writes the calls of a task again: how it is undone and how it is looked whether it happened", () => {
  const spec = {
    id: "a",
    changed_in: 1,
    tool: "t",
    undo: { tool: "back", outputs: { what: "/moved" } },
    verify: { tool: "look", args: '{"path":"/x"}', expect: [{ op: "eq", output: "/there", value: "true" }] },
  } as unknown as TaskSpec;
  expect(taskDoc(spec)).toMatchObject({
    undo: { tool: "back", outputs: { what: "/moved" } },
    verify: { tool: "look", args: { path: "/x" }, expect: [{ output: "/there", op: "eq", value: true }] },
  });
});

it("keeps the sentences of the answer", () => {
  const sentences = [
    {
      condition: { op: "gt", output: "/n", value: "0" },
      source: "a",
      text: "{n} files are on {where}.",
      values: { n: { noun: "file", output: "/n", source: "a" }, where: { show: "device", source: "a" } },
    },
    { text: "Nothing is there." },
  ];
  const head = { id: "c-1", name: "Said", sentences } as unknown as Head;
  const spec: TaskSpec = { changed_in: 1, id: "a", tool: "fs.find", args: "{}" };
  expect(planOf({ head, specs: [spec], dependencies: [], rules: [], versions: [] }).sentence).toEqual([
    {
      text: "{n} files are on {where}.",
      values: { n: { from: "a", output: "/n", noun: "file" }, where: { from: "a", show: "device" } },
      when: { from: "a", output: "/n", op: "gt", value: 0 },
    },
    { text: "Nothing is there." },
  ]);
});

it("refuses a number whose digits the document would change", () => {
  const call = (args: string): TaskSpec => ({ changed_in: 1, id: "a", tool: "t", args });
  expect(() => taskDoc(call('{"id":12345678901234567890}'))).toThrow("the number 12345678901234567890.");
  expect(taskDoc(call('{"id":"12345678901234567890"}'))).toMatchObject({ args: { id: "12345678901234567890" } });
  const text = (id: string) => `starloom: 1\nname: p\ntasks:\n  - {id: a, tool: t, args: {id: ${id}}}\n`;
  expect(draftOfText(text("12345678901234567890")).fault).toEqual({
    reason: "This page cannot keep all digits of the number 12345678901234567890.",
    line: 4,
  });
  for (const kept of ["9007199254740991", '"12345678901234567890"', "0.30000000000000004", "0x1F", "1e20"])
    expect(draftOfText(text(kept)).fault, kept).toBeNull();
});
