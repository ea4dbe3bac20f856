import { describe, expect, it } from "vitest";
import type { Answer, AnswerItem, TaskSpec } from "../types.ts";
import { changeIn, fullFirst, leading, named, partsOf } from "./parts.ts";

const SHA = "ab".repeat(32);
const item = (more: Partial<AnswerItem>): AnswerItem => ({ show: "value", task: "one", title: "One", ...more });
const answer = (...items: AnswerItem[]): Answer => ({ items, sentence: "", state: "final" });
const children = (group: string, count: number) =>
  new Map(
    Array.from({ length: count }, (_, at) => [
      `${group}.${at}`,
      { id: `${group}.${at}`, group } as unknown as TaskSpec,
    ]),
  );
const NONE: ReadonlyMap<string, TaskSpec> = new Map();
const kinds = (...items: AnswerItem[]) => partsOf(answer(...items), NONE).map((part) => part.kind);

describe("the parts of an answer", () => {
  it("are of the kind that is to be looked at", () => {
    const file = (media: string, name = "x") => item({ artifact: SHA, media, title: name });
    expect(kinds(file("image/png"), file("image/svg+xml"), file("text/html"), file("application/pdf"))).toEqual([
      "picture",
      "picture",
      "page",
      "pdf",
    ]);
    expect(kinds(file("", "notes.md"), file("text/csv"), file("text/plain"), file("video/mp4"))).toEqual([
      "markdown",
      "table",
      "text",
      "files",
    ]);
    expect(
      kinds(
        item({ show: "table", value: "[]" }),
        item({ value: '[{"a":1}]' }),
        item({ show: "markdown", value: '"# Hello"' }),
        item({ value: '{"after":"b","before":"a"}' }),
        item({ value: "7" }),
      ),
    ).toEqual(["table", "table", "markdown", "change", "value"]);
  });

  it("have a key of their own for the address, also where one task gives several", () => {
    const parts = partsOf(answer(item({}), item({ title: "Two" }), item({ task: "other" })), NONE);
    expect(parts.map((part) => part.key)).toEqual(["one", "one~2", "other"]);
  });

  it("are one for a large group, which says how many it holds", () => {
    const specs = children("second", 500);
    const items = [...specs.keys()].map((task) => item({ task, title: `second, ${task}`, value: "7" }));
    const parts = partsOf(answer(...items.slice(0, 480)), specs);
    expect(parts).toMatchObject([{ key: "second", title: "second", kind: "table", shown: 480, of: 500 }]);
    expect(JSON.parse(parts[0]?.text ?? "")[1]).toEqual({ Result: "second.1", Value: 7 });
  });

  it("are one for each of few children, and one for each result of a large group", () => {
    const few = children("pair", 2);
    expect(partsOf(answer(...[...few.keys()].map((task) => item({ task }))), few)).toHaveLength(2);
    const many = children("g", 20);
    const results = (title: string) => [...many.keys()].map((task) => item({ task, title: `${title}, ${task}` }));
    expect(partsOf(answer(...results("Names"), ...results("Sizes")), many)).toMatchObject([
      { key: "g", title: "Names", shown: 20 },
      { key: "g~2", title: "Sizes", shown: 20 },
    ]);
  });

  it("are the files of a large group where all of them are files", () => {
    const specs = children("shot", 12);
    const items = [...specs.keys()].map((task) => item({ task, artifact: SHA, media: "image/png", title: task }));
    const [part] = partsOf(answer(...items), specs);
    expect([part?.kind, part?.files?.length]).toEqual(["picture", 12]);
  });
});

describe("the leading part", () => {
  it("is the first that is to be looked at, and a text only where there is nothing else", () => {
    const short = item({ show: "text", title: "In short", value: '"all is well"' });
    const table = item({ show: "table", title: "Machines", value: '[{"a":1}]' });
    expect(leading(partsOf(answer(short, table), NONE))?.title).toBe("Machines");
    expect(leading(partsOf(answer(short), NONE))?.title).toBe("In short");
    expect(leading([])).toBeUndefined();
  });
  it("is the first with something in it: empty parts stand behind the others, with the file of an empty table", () => {
    const none = JSON.stringify({ columns: [{ field: "path", title: "File" }], csv: "x", rows: [] });
    const parts = partsOf(
      answer(
        item({ show: "text", title: "Left out", value: '"Nothing."' }),
        item({ show: "table", task: "table", title: "Copied", value: none }),
        item({ title: "Already there", value: "3" }),
        item({ show: "table", title: "Not copied", value: "[]" }),
        item({ artifact: SHA, media: "text/csv", show: "file", task: "table", title: "As a file" }),
      ),
      NONE,
    );
    expect(fullFirst(parts).map((part) => [part.title, part.empty])).toEqual([
      ["Left out", false],
      ["Already there", false],
      ["Copied", true],
      ["Not copied", true],
      ["As a file", true],
    ]);
    expect(leading(parts)?.title).toBe("Already there");
  });
});

describe("a change", () => {
  it("is a value with both sides, as texts or as files", () => {
    expect(changeIn({ before: "a", after: "b", path: "etc/hosts" })).toEqual({
      before: "a",
      after: "b",
      name: "etc/hosts",
    });
    const file = { artifact: SHA, name: "a.png", media: "image/png", bytes: 1 };
    expect(changeIn({ before: file, after: file })).toMatchObject({ before: file, after: file });
    for (const value of [null, "x", { before: "a" }, { before: 1, after: 2 }]) expect(changeIn(value)).toBeNull();
  });
});

describe("the parts with a tab", () => {
  const parts = (...values: string[]) =>
    partsOf(
      answer(...values.map((value, at) => item({ task: `t${at}`, title: `T${at}`, show: "table", value }))),
      NONE,
    );
  const titles = (all: ReturnType<typeof parts>, shown?: number) =>
    named(all, shown === undefined ? undefined : all[shown]).map((part) => part.title);

  it("are all where there are few, else one of those in which nothing is", () => {
    const few = ['[{"a":1}]', "[]", "[]", "[]"];
    expect(titles(parts(...few))).toEqual(["T0", "T1", "T2", "T3"]);
    const all = parts(...few, "[]", "[]", "[]");
    expect(titles(all)).toEqual(["T0", "T1"]);
    expect(titles(all, 3)).toEqual(["T0", "T1", "T3"]);
  });

  it("are at most six, the one that is looked at among them", () => {
    const all = parts(...Array.from({ length: 9 }, () => '[{"a":1}]'));
    expect(titles(all)).toEqual(["T0", "T1", "T2", "T3", "T4", "T5"]);
    expect(titles(all, 8)).toEqual(["T0", "T1", "T2", "T3", "T4", "T8"]);
  });
});
