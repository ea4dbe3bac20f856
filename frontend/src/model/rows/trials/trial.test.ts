/** What is tried is one harmless row with real values, or a reason. And what must not be saved is not. */
import { describe, expect, it } from "vitest";
import type { Draft, Fields } from "../document.ts";
import { argAsParam, proposals, withoutSecrets, withParam } from "../params.ts";
import { at, branches, outputWords, type Sample, suitable } from "../sample.ts";
import { type TrialKnown, trialOf } from "./trial.ts";

const FILES: Sample = { value: { files: [{ path: "a.png", bytes: 3 }], count: 1 }, device: "phone", atMs: 1 };
const plan: Fields = {
  starloom: 1,
  tasks: [
    { id: "find", tool: "fs.find", device: { param: "source" }, args: { root: { param: "folder" } } },
    { id: "hash", tool: "fs.hash", for_each: { from: "find", output: "/files" }, args: { paths: [{ each: "/path" }] } },
    { id: "sort", tool: "data.sort", inputs: { rows: { from: "find", output: "/files" } }, args: { by: ["path"] } },
    { id: "health", tool: "system.info", for_each: { devices: {} }, args: { device_name: { each: "/name" } } },
    { id: "ask", person: "Go on?" },
  ],
};
const known = (more: Partial<TrialKnown> = {}): TrialKnown => ({
  effects: ["read"],
  samples: new Map([["find", FILES]]),
  params: { source: { name: "phone" }, folder: "Pictures" },
  anyDevice: { id: "d-1", name: "laptop" },
  ...more,
});
const tasks = (id: string, more: Partial<TrialKnown> = {}) => trialOf(plan, id, known(more)).plan?.tasks;

describe("a trial", () => {
  it("puts in parameters, earlier outputs and items", () => {
    expect(tasks("find")).toEqual([
      { id: "try", tool: "fs.find", device: { name: "phone" }, args: { root: "Pictures" } },
    ]);
    expect(tasks("hash")).toEqual([{ id: "try", tool: "fs.hash", args: { paths: ["a.png"] } }]);
    expect(tasks("sort")).toEqual([
      { id: "try", tool: "data.sort", args: { by: ["path"], rows: [{ path: "a.png", bytes: 3 }] } },
    ]);
    expect(tasks("health")).toEqual([
      { id: "try", tool: "system.info", device: { name: "laptop" }, args: { device_name: "laptop" } },
    ]);
  });

  it("says why it cannot be", () => {
    const why = (id: string, more: Partial<TrialKnown> = {}) => trialOf(plan, id, known(more)).why;
    expect(why("sort", { samples: new Map() })).toBe("It uses find: try that row first.");
    expect(why("hash", { samples: new Map() })).toContain("try that row first");
    expect(why("find", { effects: ["read", "destroy"] })).toContain("It may destroy");
    expect(why("find", { effects: null })).toBe("No device offers fs.find now.");
    expect(why("find", { params: { source: { name: "phone" }, folder: null } })).toContain("folder has no value");
    expect(why("health", { anyDevice: null })).toContain("online");
    expect(why("ask")).toContain("Only a row with a tool");
  });
});

describe("an output", () => {
  it("is a tree in which a list shows what each item has", () => {
    const tree = branches(FILES.value);
    expect(tree.map((one) => [one.pointer, one.inItem])).toEqual([
      ["", false],
      ["/files", false],
      ["/files/0/path", true],
      ["/files/0/bytes", true],
      ["/count", false],
    ]);
    expect(at(FILES.value, "/files/0/path")).toBe("a.png");
    expect(at(FILES.value, "/nothing")).toBeUndefined();
    expect(suitable(tree, { name: "rows", kind: "json" }).map((one) => one.pointer)).toEqual(["/files"]);
    expect(suitable(tree, { name: "most", kind: "number" }).map((one) => one.pointer)).toEqual(["/count"]);
    expect(outputWords(FILES.value)).toBe("1 file");
    expect(outputWords({ entries: [1] })).toBe("1 entry");
    expect(outputWords({ rows: [1, 2] })).toBe("2 rows");
  });

  it("escapes what a pointer must", () => {
    const value = { "a/b": { "c~d": 7 } };
    const last = branches(value).at(-1);
    expect(last?.pointer).toBe("/a~1b/c~0d");
    expect(at(value, last?.pointer ?? "")).toBe(7);
  });
});

describe("saving as a recipe", () => {
  const draft: Draft = {
    head: null,
    plan: {
      name: "Copy",
      tasks: [
        { id: "a", tool: "fs.find", device: { name: "phone" }, args: { root: "Pictures", limit: 10, text: "hello" } },
        { id: "b", tool: "fs.write", device: { name: "server" }, args: { under: "Pictures" } },
        { id: "c", tool: "fs.find", device: { any: [{ name: "phone" }] }, args: { root: "Pictures", token: "abc" } },
        {
          id: "d",
          tool: "http.request",
          args: { url: "https://example.org/", headers: { Authorization: "Bearer x" } },
        },
      ],
    },
  };

  it("offers devices, paths, addresses and numbers, equal ones once", () => {
    expect(proposals(draft).map((one) => [one.name, one.type, one.places.length])).toEqual([
      ["phone", "device", 2],
      ["root", "path", 3],
      ["limit", "integer", 1],
      ["server", "device", 1],
      ["url", "url", 1],
    ]);
  });

  it("takes equal numbers for one where their names are equal, too", () => {
    const tasks: Fields[] = [
      { id: "a", args: { limit: 10 } },
      { id: "b", args: { limit: 10 } },
      { id: "c", args: { depth: 10 } },
    ];
    expect(proposals({ head: null, plan: { tasks } }).map((one) => [one.name, one.places.length])).toEqual([
      ["limit", 2],
      ["depth", 1],
    ]);
  });

  it("puts the parameter everywhere and keeps the value as default", () => {
    const root = proposals(draft).find((one) => one.name === "root");
    const made = root ? withParam(draft, root) : draft;
    expect(made.head?.params).toEqual({ root: { type: "path", title: "Root", default: "Pictures" } });
    expect(JSON.stringify(made.plan).match(/\{"param":"root"\}/g)).toHaveLength(3);
    expect(argAsParam(made, "a", "limit").head?.params).toMatchObject({ limit: { type: "integer", default: 10 } });
  });

  it("leaves secrets out and names them", () => {
    const { draft: clean, secrets } = withoutSecrets(draft);
    expect(secrets).toEqual(["token", "authorization"]);
    const text = JSON.stringify(clean);
    expect(text).not.toContain("Bearer x");
    expect(text).not.toContain('"abc"');
    expect(withoutSecrets(clean).secrets).toEqual(secrets);
    expect(proposals(clean).map((one) => one.name)).not.toContain("token");
  });
});
