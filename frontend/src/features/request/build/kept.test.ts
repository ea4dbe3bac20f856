/** A plan that is kept as a recipe: its calls with what is read again, and other names for its parameters. */
import { expect, it } from "vitest";
import { draftOf, type Json } from "../../../model/rows/document.ts";
import { withNames, wrongNames } from "../../../model/rows/params.ts";
import { callsOf } from "./KeptParams.tsx";

const draft = draftOf({
  starloom_recipe: 1,
  name: "count",
  title: "Count",
  version: 1,
  params: { nas: { type: "device", default: { name: "nas" } }, word: { type: "text", default: "May" } },
  plan: {
    starloom: 1,
    name: "Count",
    tasks: [
      { id: "look-1-1", tool: "fs.list", device: { param: "nas" } },
      {
        id: "a",
        tool: "fs.read",
        args: { word: { param: "word" } },
        inputs: { path: { from: "look-1-1", output: "/p" } },
      },
    ],
  },
});

it("names the device of each call, and the arguments that a look gives", () => {
  expect(callsOf(draft)).toEqual([
    { id: "look-1-1", tool: "fs.list", where: "nas", reads: [] },
    { id: "a", tool: "fs.read", where: "", reads: ["path from look-1-1"] },
  ]);
});

it("says the devices of calls that name none by a name", () => {
  const tasks: Json[] = [
    { id: "room", tool: "system.info", for_each: { devices: { labels: ["trio"] } } },
    { id: "read", tool: "fs.read", device: { labels: ["trio"] } },
    { id: "look", tool: "disk.usage", device: { from: "room", output: "/device" } },
  ];
  const found = callsOf({ ...draft, plan: { ...draft.plan, tasks } });
  expect(found.map((call) => call.where)).toEqual([
    "every trio device",
    "any trio device",
    "the device that room names",
  ]);
});

it("gives a parameter another name in the head and in the plan", () => {
  const made = withNames(draft, { nas: "where", word: "month" });
  expect(Object.keys((made.head?.params ?? {}) as object)).toEqual(["where", "month"]);
  expect(JSON.stringify(made.plan)).toContain('"device":{"param":"where"}');
  expect(JSON.stringify(made.plan)).toContain('"word":{"param":"month"}');
});

it("lets two parameters change their names", () => {
  const made = withNames(draft, { nas: "word", word: "nas" });
  expect(JSON.stringify(made.plan)).toContain('"device":{"param":"word"}');
  expect(wrongNames(draft, { nas: "word", word: "nas" })).toEqual({});
});

it("refuses a name of another form, and one that is taken", () => {
  expect(wrongNames(draft, { nas: "The nas" })).toEqual({ nas: "A name has small letters, digits, - and _." });
  expect(Object.keys(wrongNames(draft, { nas: "word" }))).toEqual(["nas", "word"]);
  expect(wrongNames(draft, { nas: "" })).toEqual({ nas: "A name has small letters, digits, - and _." });
});
