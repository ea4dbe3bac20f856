import { describe, expect, it } from "vitest";
import { filesIn, mediaOf, partAt, readCsv, saveName, shownAs } from "./files.ts";

const SHA = "ab".repeat(32);

describe("filesIn", () => {
  it("finds one file, a list, and what a tool calls its files", () => {
    const file = { artifact: SHA, bytes: 7, media: "image/png", name: "a.png" };
    const found = [{ artifact: SHA, bytes: 7, media: "image/png", name: "a.png" }];
    expect(filesIn(file)).toEqual(found);
    expect(filesIn([file])).toEqual(found);
    expect(filesIn({ files: [file], bytes: 7 })).toEqual(found);
  });

  it("names a file after its path, and by its hash when nothing else is known", () => {
    expect(filesIn([{ artifact: SHA, path: "C:\\logs\\today.log" }])?.[0]).toMatchObject({
      name: "today.log",
      media: "text/plain",
    });
    expect(filesIn([{ artifact: SHA }])?.[0]?.name).toBe("abababababab");
  });

  it("takes nothing for a file that is not wholly one", () => {
    for (const value of [null, [], {}, "x", { files: [] }, { artifact: "../etc" }, [{ artifact: SHA }, { path: "b" }]])
      expect(filesIn(value)).toBeNull();
  });
});

describe("how a file is shown", () => {
  it("goes by its media type, and by its name where that says nothing", () => {
    expect(shownAs(mediaOf("x", "IMAGE/PNG; q=1"))).toBe("image");
    expect(shownAs(mediaOf("report.PDF", "application/octet-stream"))).toBe("pdf");
    expect(shownAs(mediaOf("table.csv", null))).toBe("csv");
  });

  it("shows a page and a drawing only where nothing in them can run", () => {
    expect(shownAs(mediaOf("report.html", ""))).toBe("html"); // a frame without scripts
    expect(shownAs(mediaOf("chart.svg", ""))).toBe("image"); // an <img>
    for (const media of ["application/xhtml+xml", "text/javascript", "application/xml", ""])
      expect(shownAs(mediaOf("picture", media))).toBe("none");
  });

  it("is saved under a name that ends as its type", () => {
    expect(saveName("Report", "text/html")).toBe("Report.html");
    expect(saveName("Photo", "image/jpeg")).toBe("Photo.jpg");
    expect(saveName("a.tar.gz", "application/gzip")).toBe("a.tar.gz");
    expect(saveName("Notes", "application/x-unknown")).toBe("Notes");
  });
});

describe("readCsv", () => {
  const shown = (source: string, whole = true) => {
    const table = readCsv(source, whole);
    return [table?.columns.map(({ title }) => title), ...(table?.rows ?? []).map((row) => Object.values(row))];
  };

  it("reads quotes, commas and line ends inside them", () => {
    expect(shown('\uFEFFname,note\r\n"a, b","says ""hi""\nthere"\r\nc,\r\n')).toEqual([
      ["name", "note"],
      ["a, b", 'says "hi"\nthere'],
      ["c", ""],
    ]);
  });

  it("leaves out the last line of what was cut off", () => {
    expect(shown("a,b\n1,2\n3,4", false)).toEqual([
      ["a", "b"],
      ["1", "2"],
    ]);
    expect(shown("a,,\n1,2,3\n")).toEqual([
      ["a", "column 2", "column 3"],
      ["1", "2", "3"],
    ]);
    expect(readCsv("a,b\n", true)).toBeNull();
  });

  it("keeps the columns of the file, also of one name, with numbers for names, and called differs", () => {
    expect(shown("item,2025,2024,price,price,differs\nbook,1,2,10,8,no\n")).toEqual([
      ["item", "2025", "2024", "price", "price", "differs"],
      ["book", "1", "2", "10", "8", "no"],
    ]);
  });

  it("makes no more cells than a page can hold of a head of commas before many rows, and says so", () => {
    const table = readCsv(`${",".repeat(120_000)}\n${"a\n".repeat(60_000)}`, true);
    expect([table?.rows.length, table?.columns.length, table?.more]).toEqual([60_000, 20, 119_981]);
  });
});

describe("partAt", () => {
  it("points as the hub does, and finds nothing that is not there", () => {
    const value = { text: "long", rows: [{ "a/b": 1, "c~d": 2 }] };
    expect(partAt(value, "")).toBe(value);
    expect(partAt(value, "/text")).toBe("long");
    expect(partAt(value, "/rows/0/a~1b")).toBe(1);
    expect(partAt(value, "/rows/0/c~0d")).toBe(2);
    for (const absent of ["/none", "/rows/1", "/rows/length", "/text/length", "/__proto__", "/constructor"])
      expect(partAt(value, absent), absent).toBeUndefined();
  });
});
