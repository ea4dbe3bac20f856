/** Faults find their row, and a fix mends what it says it does. */
import { describe, expect, it } from "vitest";
import type { Draft } from "./document.ts";
import { hubFaults, joinedFaults, nearest, schemaFaults, setAt, stepsOf } from "./faults.ts";
import { rowsOf } from "./row.ts";
import { aboutOf, formOf, titleOf } from "./schema.ts";

const draft: Draft = {
  head: null,
  plan: {
    starloom: 1,
    tasks: [
      { id: "find", tool: "fs.fnd", args: { root: "Pictures" } },
      { id: "sort", tool: "data.sort", device: { name: "laptp" }, inputs: { rows: { from: "fnd", output: "/files" } } },
      { id: "find", tol: "x" },
    ],
    dependencies: [{ from: "sort", to: "find", when: "success" }],
  },
};
const one = (fault: { code: string; reason: string; place: string; hint?: string }, from: Draft = draft) => {
  const found = hubFaults(from, [fault])[0];
  if (!found) throw new Error("no fault");
  return found;
};

it("offers the other places for a row that its device cannot do", () => {
  const fault = { code: "tool_unavailable", reason: "laptp does not offer data.sort", place: "tasks[1]", hint: "nas" };
  const [found] = hubFaults(draft, [fault], (tool) => (tool === "data.sort" ? ["laptp", "nas"] : []));
  expect(found?.fixes.map(({ label }) => label)).toEqual(["Any device that can", "Run it on nas"]);
  expect(rowsOf(found?.fixes[1]?.apply(draft).plan ?? {})[1]?.where).toEqual({ kind: "device", name: "nas" });
  expect(one(fault)).toMatchObject({ row: 1, fixes: [], hint: "nas" });
});

describe("places", () => {
  it("are read as steps", () => {
    expect(stepsOf("tasks[3].inputs.rows.from")).toEqual(["tasks", 3, "inputs", "rows", "from"]);
    expect(stepsOf("")).toEqual([]);
  });

  it("are found in the row that they are about", () => {
    expect(one({ code: "x", reason: "r", place: "tasks[1].args.by" })).toMatchObject({ row: 1, field: "by" });
    expect(one({ code: "x", reason: "r", place: "plan.tasks[0].tool" })).toMatchObject({ row: 0, field: "tool" });
    expect(one({ code: "x", reason: "r", place: "dependencies[0].when" })).toMatchObject({ row: 0, field: "when" });
    expect(one({ code: "x", reason: "r", place: "policy.approval" })).toMatchObject({ row: null });
  });
});

describe("fixes", () => {
  it("take the word that was meant", () => {
    const fault = one({
      code: "unknown_tool",
      reason: "no device offers it",
      place: "tasks[0].tool",
      hint: "Did you mean `fs.find`?",
    });
    expect(fault.fixes.map((fix) => fix.label)).toEqual(["Use fs.find"]);
    expect(fault.fixes[0]?.apply(draft).plan).toMatchObject({ tasks: [{ tool: "fs.find" }, {}, {}] });
    const field = one({
      code: "unknown_field",
      reason: "no field",
      place: "tasks[2].tol",
      hint: "Did you mean `tool`?",
    });
    expect(field.fixes[0]?.apply(draft).plan).toMatchObject({ tasks: [{}, {}, { id: "find", tool: "x" }] });
  });

  it("make a list of a single value", () => {
    const hint = "Write it as a list, a single value too.";
    const fault = one({ code: "plan_invalid", reason: "takes a list here", place: "tasks[0].args.root", hint });
    expect(fault.fixes.map((fix) => fix.label)).toEqual(["Make it a list"]);
    expect(fault.fixes[0]?.apply(draft).plan).toMatchObject({ tasks: [{ args: { root: ["Pictures"] } }, {}, {}] });
    expect(one({ code: "plan_invalid", reason: "r", place: "tasks[0].args.gone", hint }).fixes).toEqual([]);
  });

  it("rename only the second of two rows", () => {
    const fault = one({ code: "duplicate_id", reason: "twice", place: "tasks[2].id" });
    expect(fault.fixes[0]?.apply(draft).plan).toMatchObject({
      tasks: [{ id: "find" }, { id: "sort" }, { id: "find-2" }],
    });
  });

  it("let go of a row that is not there, or that makes a circle", () => {
    const use = one({ code: "unknown_task", reason: "no task", place: "tasks[1].inputs.rows.from" });
    expect(use.fixes[0]?.apply(draft).plan).toMatchObject({ tasks: [{}, { id: "sort" }, {}] });
    expect(JSON.stringify(use.fixes[0]?.apply(draft).plan)).not.toContain("inputs");
    const circle = one({ code: "plan_cycle", reason: "circle", place: "dependencies[0]" });
    expect(circle.fixes[0]?.apply(draft).plan).not.toHaveProperty("dependencies");
  });

  it("say that a row is safe to run again, or wait for its device", () => {
    const fault = one({ code: "not_repeatable", reason: "may run twice", place: "tasks[1].on_absence.then" });
    expect(fault.fixes[0]?.apply(draft).plan).toMatchObject({ tasks: [{}, { repeatability: "idempotent" }, {}] });
    expect(fault.fixes[1]?.apply(draft).plan).toMatchObject({ tasks: [{}, { on_absence: "wait" }, {}] });
  });

  it("declare a parameter that is named and does not exist", () => {
    const fault = one({
      code: "unknown_param",
      reason: "this plan has no parameters, so no `folder`",
      place: "tasks[0].args.root",
    });
    expect(fault.fixes[0]?.apply(draft).head).toMatchObject({ params: { folder: { type: "text" } } });
  });

  it("are not offered when they change nothing", () => {
    expect(one({ code: "plan_cycle", reason: "circle", place: "somewhere" }).fixes).toEqual([]);
    expect(setAt({ a: [1] }, ["a", 4], 2)).toEqual({ a: [1] });
  });
});

const SORT = JSON.stringify({
  $defs: {
    Sort: {
      additionalProperties: false,
      properties: {
        by: { items: { type: "string" }, type: "array" },
        limit: { default: 10, maximum: 50, minimum: 1, type: "integer" },
        rows: { items: { type: "object" }, type: "array" },
      },
      required: ["rows", "by"],
      type: "object",
    },
  },
  $ref: "#/$defs/Sort",
});

describe("what only the tool's schema knows", () => {
  const row = (task: Record<string, unknown>) => {
    const found = rowsOf({
      tasks: [{ id: "find", tool: "fs.find" }, { id: "sort", tool: "data.sort", ...task } as never],
    })[1];
    if (!found) throw new Error("no row");
    return found;
  };
  const earlier = [
    {
      id: "find",
      at: 0,
      sample: { value: { left_out: [{ path: "b" }], count: 1, files: [{ path: "a" }] }, device: "laptop", atMs: 1 },
    },
  ];

  it("is what is missing, with an earlier value that fits", () => {
    const faults = schemaFaults(row({ args: { by: ["-bytes"] } }), formOf(SORT), earlier);
    expect(faults.map((fault) => [fault.field, fault.open])).toEqual([["rows", true]]);
    expect(faults[0]?.fixes.map((fix) => fix.label)).toEqual(["Use the files of row 1"]);
    const mended = faults[0]?.fixes[0]?.apply({ head: null, plan: { tasks: [{ id: "sort", tool: "data.sort" }] } });
    expect(mended?.plan).toEqual({
      tasks: [{ id: "sort", tool: "data.sort", inputs: { rows: { from: "find", output: "/files" } } }],
    });
  });

  it("is what is wrong or not known", () => {
    const faults = schemaFaults(
      row({ args: { by: ["a"], limt: 3, limit: 99 }, inputs: { rows: { from: "find" } } }),
      formOf(SORT),
      [],
    );
    expect(faults.map((fault) => fault.reason)).toEqual(["limit is at most 50", "data.sort takes no limt"]);
    expect(faults[1]?.fixes.map((fix) => fix.label)).toEqual(["Call it limit", "Remove it"]);
  });

  it("is told once where the hub found it too, and the hub's other faults stay", () => {
    const slips = { tasks: [{ id: "sort", tool: "data.sort", args: { bye: ["x"], by: 5 } }] };
    const own = rowsOf(slips).flatMap((one) => schemaFaults(one, formOf(SORT), []));
    const told = [
      { code: "unknown_field", reason: "`data.sort` takes no `bye`", place: "plan.tasks[0].args.bye" },
      { code: "plan_invalid", reason: "`data.sort` needs `rows`", place: "tasks[0].args.rows" },
      { code: "plan_invalid", reason: "`data.sort` needs `more`", place: "tasks[0].args.more" },
      { code: "unknown_param", reason: "no `by`", place: "tasks[0].args.by" },
      { code: "plan_invalid", reason: "`by` is an argument and an input", place: "tasks[0].inputs.by" },
      { code: "unknown_field", reason: "no field", place: "tasks[0].bye" },
    ];
    const joined = joinedFaults({ head: null, plan: slips }, told, own, true);
    expect(joined.map((fault) => fault.reason)).toEqual([
      ...told.slice(2).map((fault) => fault.reason),
      ...own.map((fault) => fault.reason),
    ]);
    expect(own.map((fault) => fault.field)).toEqual(["rows", "by", "bye"]);
  });

  it("of an earlier text is outdated: its place may be another row by now", () => {
    const slips = { tasks: [{ id: "sort", tool: "data.sort", args: { by: 5 } }] };
    const own = rowsOf(slips).flatMap((one) => schemaFaults(one, formOf(SORT), []));
    const told = [{ code: "unknown_device", reason: "no such device", place: "tasks[0].device" }];
    const joined = joinedFaults({ head: null, plan: slips }, told, own, false);
    expect(joined.map((fault) => fault.outdated ?? false)).toEqual([true, ...own.map(() => false)]);
  });

  it("says nothing of values that are decided later", () => {
    const args = { by: { param: "order" }, limit: { param: "most" } };
    expect(schemaFaults(row({ args, inputs: { rows: { from: "find" } } }), formOf(SORT), [])).toEqual([]);
  });
});

it("finds the nearest word, and none where all are far", () => {
  expect(nearest("limt", ["limit", "rows"])).toBe("limit");
  expect(nearest("banana", ["limit", "rows"])).toBeNull();
});

const texts = { type: "array", items: { type: "string" } };
const form = (names: Record<string, object>) => formOf(JSON.stringify({ type: "object", properties: names }));
const titles = (of: ReturnType<typeof form>) =>
  Object.fromEntries(of.fields.map((field) => [field.name, titleOf(field)]));

describe("names that only programmers know", () => {
  it("have words in front of them", () => {
    const python = form({
      code: { type: "string" },
      argv: texts,
      env: { type: "object" },
      newer_than: { type: "string" },
    });
    expect(titles(python)).toEqual({
      code: "code",
      argv: "arguments (argv)",
      env: "variables (env)",
      newer_than: "newer than",
    });
    expect(aboutOf(python, "argv")).toContain("is given, one a line");
    expect(aboutOf(python, "env")).toContain("choose a secret");
  });

  it("call the argv of a tool without code a command", () => {
    const shell = form({ argv: texts, cwd: { type: "string" } });
    expect(titles(shell)).toEqual({ argv: "command (argv)", cwd: "folder (cwd)" });
    expect(aboutOf(shell, "argv")).toBe("The program and its arguments.");
  });
});
