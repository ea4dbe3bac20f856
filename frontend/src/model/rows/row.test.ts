/** Rows that run with each of another row: on its devices, where that row runs on every one. */
import { expect, it } from "vitest";
import { onDevicesOf, rowsOf } from "./row.ts";

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
