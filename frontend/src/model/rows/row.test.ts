/** Rows that run with each of another row: on its devices, where that row runs on every one. */
import { expect, it } from "vitest";
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
