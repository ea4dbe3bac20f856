/** Rows that run with each of another row: on its devices, where that row runs on every one. */
import { expect, it } from "vitest";
import type { Fields } from "./document.ts";
import { taking, withItem, withUse } from "./edit.ts";
import { leftAt, onDevicesOf, rowsOf } from "./row.ts";

it("a row with each of one on every device runs where that one does", () => {
  const rows = rowsOf({
    starloom: 1,
    tasks: [
      { id: "write", tool: "fs.write", for_each: { devices: { labels: ["web"] } } },
      { id: "check", tool: "net.check", for_each: { same: "write" } },
      { id: "again", tool: "net.check", for_each: { same: "check" } },
      { id: "own", tool: "fs.read", for_each: { same: "write" }, device: { name: "nas" } },
      { id: "find", tool: "fs.find" },
      { id: "items", tool: "fs.read", for_each: { from: "find", output: "/files" } },
      { id: "with", tool: "fs.read", for_each: { same: "items" } },
      { id: "round", tool: "fs.read", for_each: { same: "round" } },
    ],
  });
  expect(rows.map((row) => onDevicesOf(row, rows)?.id ?? null)).toEqual([
    null,
    "write",
    "write",
    null,
    null,
    null,
    null,
    null,
  ]);
});

it("a row that goes to another device leaves those behind that follow it on the old one", () => {
  const rows = rowsOf({
    starloom: 1,
    tasks: [
      { id: "find", tool: "fs.find", device: { name: "nas" } },
      { id: "copy", tool: "fs.write", device: { name: "server" }, inputs: { files: { from: "find" } } },
      { id: "check", tool: "fs.verify", device: { name: "nas" }, inputs: { folders: { from: "copy" } } },
      { id: "tell", tool: "notify", device: { name: "nas" } },
      { id: "else", tool: "notify", device: { name: "laptop" } },
    ],
    dependencies: [
      { from: "check", to: "tell", when: "success" },
      { from: "copy", to: "else", when: "success" },
    ],
  });
  const names = (id: string, name: string) => leftAt(rows, id, { kind: "device", name }).map((row) => row.id);
  expect(names("copy", "nas")).toEqual(["check", "tell"]);
  expect(names("find", "nas"), "it is where it was").toEqual([]);
  expect(names("copy", "laptop")).toEqual(["else"]);
  expect(leftAt(rows, "copy", { kind: "auto" })).toEqual([]);
});

it("finds the row with one device whose paths a row takes, and begins there", () => {
  const find = { id: "find", tool: "fs.find", device: { name: "nas" } };
  const plan = (task: Fields, source: Fields = find): Fields => ({
    starloom: 1,
    tasks: [source, { id: "read", ...task }],
  });
  const path = { from: "find", output: "/files/0/path" };
  const placed = (made: Fields, edit: (task: Fields) => Fields) =>
    rowsOf(taking(made, "read", edit)).find(({ id }) => id === "read")?.where;
  const nas = { kind: "device", name: "nas" };
  const one = (task: Fields) => withUse(task, "path", path);
  expect(placed(plan({ tool: "fs.read" }), one)).toEqual(nas);
  const each = (task: Fields) => withItem(task, "path", { from: "find", list: "/files", inner: "/path" });
  expect(placed(plan({ tool: "fs.read" }), each)).toEqual(nas);
  const files = (task: Fields) => withUse(task, "files", { from: "find", output: "/files" });
  expect(placed(plan({ tool: "archive.verify" }), files)).toEqual(nas);
  const other = { kind: "device", name: "laptop" };
  expect(placed(plan({ tool: "fs.read", device: { name: "laptop" } }), one)).toEqual(other);
  expect(placed(plan({ tool: "notify" }), (task) => withUse(task, "text", path))).toEqual({ kind: "auto" });
  const store = { id: "find", tool: "artifact.put", device: { name: "nas" } };
  expect(placed(plan({ tool: "fs.write" }, store), files), "files of the store lie nowhere").toEqual({ kind: "auto" });
  expect(placed(plan({ tool: "fs.read" }, { id: "find", tool: "fs.find" }), one)).toEqual({ kind: "auto" });
});
