import { describe, expect, it } from "vitest";
import { StreamModel } from "../stream/stream.ts";
import type { RuleRecord, StreamEvent, TaskSpec } from "../types.ts";
import { changingCalls, goneDevices, placesBeyond, planInShort, planLineText, shownEffects } from "./planInShort.ts";

const tools = [
  { name: "fs.find", effects: ["read"] },
  { name: "fs.write", effects: ["write"] },
  { name: "data.table", effects: [] },
];

function fleet(): StreamModel {
  const model = new StreamModel("fleet");
  model.readSnapshot({ entities: {}, seq: 0 });
  const puts = {
    "device/d1": { id: "d1", name: "attic-nas", link: "online", joined_ms: 1 },
    "offer/d1": { digest: "x", tools },
  };
  model.readEvents([{ seq: 1, puts, kind: "k", stream: "fleet" }] as unknown as StreamEvent[]);
  return model;
}

const task = (id: string, more: Partial<TaskSpec>): TaskSpec => ({ id, changed_in: 1, ...more });

describe("a plan in short", () => {
  it("names the effects and the folders of each device", () => {
    const found = planInShort(
      [
        task("list", { tool: "fs.find", device: { id: "d1" }, args: '{"root":"Keepsakes","whole":true}' }),
        task("keep", { tool: "fs.write", device: { name: "vm" }, args: '{"under":"Copies"}' }),
        task("keep-more", { tool: "fs.write", device: { name: "vm" }, args: '{"under":"Copies"}' }),
        task("table", { tool: "data.table", args: '{"name":"copied.csv"}' }),
        task("ask", { person: "Go on?" }),
      ],
      fleet(),
    );
    expect(found.map((line) => `${line.device}: ${planLineText(line)}`)).toEqual([
      "attic-nas: reads: Keepsakes",
      "vm: writes: Copies",
    ]);
  });

  it("names the folder that a call writes into by a dot", () => {
    const model = fleet();
    const offer = {
      digest: "y",
      tools: [{ name: "fs.write", effects: ["write"], grant: "files:write" }],
      facts: { writes: "/srv/backup\n/srv/more" },
    };
    const puts = { "offer/d1": offer };
    model.readEvents([{ seq: 2, puts, kind: "k", stream: "fleet" }] as unknown as StreamEvent[]);
    const copy = (device: TaskSpec["device"]) => task("copy", { tool: "fs.write", device, args: '{"under":"."}' });
    const told = (spec: TaskSpec) => planInShort([spec], model).map(planLineText);
    expect(told(copy({ name: "attic-nas" }))).toEqual(["writes: /srv/backup"]);
    expect(told(copy({ id: "d1" }))).toEqual(["writes: /srv/backup"]);
    expect(told(copy({ name: "vm" }))).toEqual(["writes"]);
  });

  it("names the other ways of a task and an undo that the plan writes", () => {
    const model = fleet();
    const tools = [
      { name: "fs.find", effects: ["read"] },
      { name: "fs.trash", effects: ["write"], grant: "files:write" },
    ];
    const puts = { "offer/d1": { digest: "y", tools, facts: {} } };
    model.readEvents([{ seq: 2, puts, kind: "k", stream: "fleet" }] as unknown as StreamEvent[]);
    const find = { tool: "fs.find", device: { id: "d1" }, args: '{"root":"."}' };
    const other = { tool: "fs.trash", args: '{"paths":["app.py"]}' };
    const either = task("either", { ...find, any_of: [{ ...other, device: { id: "d1" } }] });
    const undone = task("undone", { ...find, undo: { ...other, outputs: {} } });
    const added = task("added", { ...find, undo: { tool: "fs.trash", args: "{}", outputs: { paths: "/added" } } });
    expect(changingCalls([either, undone, added], model).map(({ task, tool, args }) => [task, tool, args])).toEqual([
      ["either", "fs.trash", other.args],
      ["undo-undone", "fs.trash", other.args],
    ]);
    expect(planInShort([either], model).map(planLineText)).toEqual(["reads, moves to the trash: app.py"]);
  });

  it("calls a trash what it is", () => {
    const model = fleet();
    const tools = [{ name: "fs.trash", effects: ["write"], grant: "files:write" }];
    const puts = { "offer/d1": { digest: "y", tools, facts: {} } };
    model.readEvents([{ seq: 2, puts, kind: "k", stream: "fleet" }] as unknown as StreamEvent[]);
    const clear = task("clear", { tool: "fs.trash", device: { id: "d1" }, args: '{"paths":["Projects"]}' });
    expect(planInShort([clear], model).map(planLineText)).toEqual(["moves to the trash: Projects"]);
    expect(shownEffects("fs.copy", ["read", "write"])).toEqual(["read", "write"]);
  });

  it("says how many places it leaves out, and turns nothing around", () => {
    const paths = ["a", "b", "c", "d\u202etxt", "e", "f"].map((path, at) =>
      task(`${at}`, { tool: "fs.write", device: { name: "vm" }, args: JSON.stringify({ path }) }),
    );
    const [line] = planInShort(paths, fleet());
    expect(line && planLineText(line)).toBe("writes: a, b, c, d‹U+202E›txt and 2 more");
    expect(line && placesBeyond(line)).toBe("e, f");
    expect(changingCalls(paths, fleet())[3]?.args).toBe('{"path":"d‹U+202E›txt"}');
  });

  it("names the devices of a group and of the family behind it", () => {
    const specs = [
      task("space", { tool: "fs.find", for_each: { devices: { any: [{ id: "d1" }, { name: "vm" }] } }, args: "{}" }),
      task("store", { tool: "fs.write", for_each: { same: "space" }, family: "space", args: '{"under":"Copies"}' }),
      task("lost", { tool: "fs.write", for_each: { same: "gone" }, family: "gone", args: "{}" }),
    ];
    expect(planInShort(specs, fleet()).map((line) => `${line.device}: ${planLineText(line)}`)).toEqual([
      "attic-nas, vm: reads, writes: Copies",
      "A device that is chosen when it begins: writes",
    ]);
    expect(changingCalls(specs, fleet()).map((call) => call.device)).toContain("attic-nas, vm");
  });

  it("names the devices that an approval holds a call to", () => {
    const write = { tool: "fs.write", args: "{}" };
    const specs = [task("one", { ...write, device: { labels: ["gpu"] } }), task("two", write)];
    const gpu = { tool: "fs.write", selector: { labels: ["gpu"] }, devices: ["d2", "d1"] };
    const held = changingCalls(specs, fleet(), [], { reaches: [gpu] });
    expect(held.map((call) => call.device)).toEqual(["attic-nas or d2", "A device that is chosen when it begins"]);
  });

  it("names the device of a call that follows a list made on another one", () => {
    const specs = [
      task("send", { tool: "fs.find", device: { id: "d1" }, for_each: { source: "list" }, args: "{}" }),
      task("copy", {
        tool: "fs.write",
        device: { name: "vm" },
        for_each: { same: "send" },
        family: "send",
        args: '{"under":"Copies"}',
      }),
      task("either", { tool: "fs.write", device: { any: [{ id: "d1" }, { name: "vm" }] }, args: "{}" }),
    ];
    expect(planInShort(specs, fleet()).map((line) => `${line.device}: ${planLineText(line)}`)).toEqual([
      "attic-nas: reads",
      "attic-nas, vm: writes",
      "vm: writes: Copies",
    ]);
    expect(changingCalls(specs, fleet()).map((call) => call.device)).toEqual(["vm", "attic-nas, vm"]);
  });

  it("has the devices of a group in the order of their names", () => {
    const any = ["nas-10", "nas-2", "atlas"].map((name) => ({ name }));
    const specs = [task("keep", { tool: "fs.write", device: { any }, args: "{}" })];
    expect(planInShort(specs, fleet())[0]?.device).toBe("atlas, nas-2, nas-10");
    expect(changingCalls(specs, fleet())[0]?.device).toBe("atlas, nas-2, nas-10");
    const each = ["vm", "attic-nas"].map((name) => task(name, { tool: "fs.write", device: { name }, args: "{}" }));
    expect(planInShort(each, fleet()).map(({ device }) => device)).toEqual(["attic-nas", "vm"]);
    expect(changingCalls(each, fleet()).map(({ task }) => task)).toEqual(["attic-nas", "vm"]);
  });

  it("lists the calls that a rule may add", () => {
    const spec = task("again", { tool: "fs.write", device: { name: "vm" }, args: '{"under":"Copies"}' });
    const edit = [
      { op: "set_args", id: "list", args: "{}" },
      { op: "add_task", spec },
      { op: "add_task", spec: task("look", { tool: "fs.find", args: "{}" }) },
    ];
    const rule = { name: "repeat", operations: JSON.stringify(edit) } as RuleRecord;
    const found = changingCalls([], fleet(), [rule]);
    expect(found.map(({ task, device, rule }) => [task, device, rule])).toEqual([["again", "vm", "repeat"]]);
    expect(planInShort([], fleet(), [rule]).map(({ device }) => device)).toContain("vm");
  });

  it("lists the calls that do more than read, with their arguments", () => {
    const long = `{"text":"${"x".repeat(3000)}"}`;
    const found = changingCalls(
      [
        task("list", { tool: "fs.find", args: '{"root":"Keepsakes"}' }),
        task("keep", { tool: "fs.write", device: { name: "vm" }, args: '{"under":"Copies"}' }),
        task("each", { tool: "fs.write", for_each: { devices: {} }, args: long }),
        task("each.vm", { tool: "fs.write", key: "vm", args: long }),
        task("table", { tool: "data.table", args: "{}" }),
      ],
      fleet(),
    );
    expect(found.map(({ task, device, args }) => [task, device, args.length])).toEqual([
      ["each", "Each device", 2000 + " ... (3011 characters)".length],
      ["keep", "vm", 18],
    ]);
  });

  it("names the devices that are gone, and none that is there under the same name", () => {
    const model = fleet();
    const puts = {
      "device/d2": { id: "d2", name: "cellar", revoked: true, joined_ms: 2 },
      "device/d3": { id: "d3", name: "tablet", left: true, joined_ms: 3 },
      "device/d4": { id: "d4", name: "attic-nas", revoked: true, joined_ms: 4 },
    };
    model.readEvents([{ seq: 2, puts, kind: "k", stream: "fleet" }] as unknown as StreamEvent[]);
    const on = (id: string, device: TaskSpec["device"]) => task(id, { tool: "fs.write", device });
    expect(goneDevices([on("a", { id: "d1" }), on("b", { name: "attic-nas" })], model)).toEqual([]);
    expect(goneDevices([on("a", { id: "d2" }), on("b", { name: "tablet" }), on("c", { id: "d2" })], model)).toEqual([
      "cellar was revoked",
      "tablet has left",
    ]);
  });

  it("says where the device is open, and names commands", () => {
    const found = planInShort(
      [
        task("each", { tool: "fs.find", for_each: { devices: {} }, args: "{}" }),
        task("any", { tool: "shell.run", args: '{"argv":["ls","-l"]}' }),
        task("fit", { tool: "python.run", args: '{"argv":["0.1"],"code":"print(1)"}' }),
      ],
      fleet(),
    );
    expect(found).toEqual([
      { device: "Each device", effects: ["read"], places: [] },
      { device: "A device that is chosen when it begins", effects: [], places: ["ls -l"] },
    ]);
  });
});
