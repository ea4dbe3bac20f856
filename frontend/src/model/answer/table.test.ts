import { describe, expect, it } from "vitest";
import { cell, differs, fieldText, readTable } from "./table.ts";

const COLUMNS = [
  { field: "device", title: "Device", show: "" },
  { field: "bytes", title: "Size", show: "bytes" },
];

describe("readTable", () => {
  it("keeps the order, titles and units that a tool gives", () => {
    const table = readTable({ columns: COLUMNS, rows: [{ bytes: 7, device: "nas", differs: true }], csv: {} });
    expect(table?.columns).toEqual(COLUMNS);
    expect(table?.marked).toBe(true);
    expect(table?.rows.map(differs)).toEqual([true]);
  });

  it("draws no more columns than a page can hold of a list without end", () => {
    const columns = Array.from({ length: 50_000 }, (_, at) => ({ field: `f${at}` }));
    expect(readTable({ columns, rows: [{ f0: 1 }] })?.columns).toHaveLength(200);
  });

  it("takes the fields of bare rows, and a table without rows is one", () => {
    expect(readTable([{ a: 1, differs: false }, { b: 2 }])?.columns.map((column) => column.title)).toEqual(["a", "b"]);
    expect(readTable({ columns: COLUMNS, rows: [] })?.rows).toEqual([]);
  });

  it("puts the field that names a row first, by its name or because no two rows share it", () => {
    const fields = (rows: Record<string, unknown>[]) => readTable(rows)?.columns.map((column) => column.field);
    expect(fields([{ bytes: 7, modified: "x", name: "a" }])).toEqual(["name", "bytes", "modified"]);
    const free = (host: string) => ({ figure: 1, host, kind: "disk" });
    expect(fields([free("a"), free("b")])).toEqual(["host", "figure", "kind"]);
    expect(fields([free("a"), free("a")])).toEqual(["figure", "host", "kind"]);
  });

  it("shows a column that holds times, and nothing else, on the reader's clock", () => {
    const at = "2026-11-29T20:00:00Z";
    const own = new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
    const table = readTable([
      { at, id: "b", said: at },
      { at: "2026-11-30T07:05:00+01:00", id: "a", said: "later" },
      { at: "", id: "c" },
    ]);
    const show = Object.fromEntries((table?.columns ?? []).map((column) => [column.field, column.show]));
    expect(show).toEqual({ at: "moment", id: "", said: "" });
    expect([cell(at, "moment"), cell("", "moment"), cell("soon", "moment")]).toEqual([own, "", "soon"]);
    const named = readTable({ columns: [{ field: "at", title: "At", show: "" }], rows: [{ at }] });
    expect(named?.columns[0]?.show).toBe("moment");
  });

  it("puts hashes of bare rows last and shortens them", () => {
    const hash = "9466568cb16a204c4e0aa98add361ffdc0229883f09466568cb16a204c4e0aa9";
    const table = readTable([{ artifact: hash, name: "a.png", bytes: 7 }]);
    expect(table?.columns.map((column) => column.field)).toEqual(["name", "bytes", "artifact"]);
    expect(cell(hash, table?.columns[2]?.show ?? "")).toBe("9466568cb16a");
    const [twice, apart] = [readTable([{ artifact: hash, sha256: hash }]), readTable([{ artifact: hash, sha256: "" }])];
    expect([twice?.columns.length, apart?.columns.length]).toEqual([1, 2]);
    const named = readTable([{ key: hash }, { key: "not a hash" }])?.columns[0];
    expect(cell(hash, named?.show ?? "")).toBe(hash);
  });

  it("shortens a hash in a field and in a column that the tool named", () => {
    const hash = "a1".repeat(32);
    expect(fieldText("sha256", hash)).toBe("a1a1a1a1a1a1");
    expect(fieldText("sha256", `${hash}0`)).toBe(`${hash}0`);
    const table = readTable({ columns: [{ field: "sum", title: "SHA-256" }], rows: [{ sum: hash }] });
    expect(table?.columns).toEqual([{ field: "sum", title: "SHA-256", show: "hash" }]);
  });

  it("reads the unit of a column without one from its name, as of bare rows", () => {
    const columns = ["mtime_s", "took_s", "bytes"].map((field) => ({ field, title: field, show: "" }));
    const table = readTable({ columns, rows: [{ mtime_s: 1_795_629_076, took_s: 5, bytes: 7 }] });
    expect(table?.columns).toEqual([
      { field: "mtime_s", title: "modified", show: "date" },
      { field: "took_s", title: "took", show: "duration" },
      { field: "bytes", title: "size", show: "bytes" },
    ]);
  });

  it("tells moments from durations by the field, and by the largest of its numbers", () => {
    const rows = [
      { mtime_s: 498_968_100, ran_s: 499_000_000 },
      { mtime_s: 498_968_100, ran_s: 1_795_629_076 },
    ];
    expect(readTable(rows)?.columns.map(({ show }) => show)).toEqual(["date", "date"]);
    expect(readTable([{ ran_s: 499_000_000 }])?.columns[0]?.show).toBe("duration");
  });

  it("has a column for what only later rows say, and says how many more columns there are", () => {
    const rows = [...Array.from({ length: 30 }, (_, at) => ({ name: `${at}`, ok: true })), { name: "z", error: "no" }];
    expect(readTable(rows)?.columns.map(({ title }) => title)).toEqual(["name", "ok", "error"]);
    const wide = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`f${at}`, at]));
    expect([readTable([wide])?.columns.length, readTable([wide])?.more]).toEqual([10, 2]);
    expect(readTable([{ name: "a", differs: "by a day" }])?.columns.map(({ title }) => title)).toContain("differs");
  });

  it("is null for what is no table", () => {
    for (const value of [null, [], [1], "x", { rows: [{}] }, { columns: [1], rows: [] }])
      expect(readTable(value)).toBeNull();
  });
});

describe("cell", () => {
  it("reads as people write", () => {
    expect(cell(2_500_000, "bytes")).toBe("2.5 MB");
    expect(cell(12, "percent")).toBe("12 %");
    expect([cell(45, "duration"), cell(4000, "duration"), cell(864_000, "duration")]).toEqual([
      "45 s",
      "1 h 06 min",
      "10 days",
    ]);
    expect(cell(1_767_225_600, "date")).toMatch(/202[56]/);
    expect([cell(null, "bytes"), cell(true, ""), cell(false, ""), cell(["a", 2], ""), cell("n/a", "bytes")]).toEqual([
      "",
      "yes",
      "no",
      "a, 2",
      "n/a",
    ]);
    expect(cell({ a: 1 }, "")).toBe('{"a":1}');
  });
});
