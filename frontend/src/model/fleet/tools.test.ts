import { expect, it } from "vitest";
import { matchingTools, type ToolView } from "./tools.ts";

const tool = (name: string, title: string, group: string): ToolView => ({
  name,
  title,
  group,
  schema: "{}",
  returns: { schema: "", from: "" },
  effects: [],
  repeatability: "pure",
  grant: null,
  carriers: [],
});

const TOOLS = [
  tool("package.updates", "Updates that wait", "The machine"),
  tool("wait.until", "Wait until something is so", "Waiting"),
  tool("artifact.put", "Give files to the hub's store", "Files"),
  tool("fs.trash", "Put files into the trash", "Files"),
  tool("fs.restore", "Bring files back from the trash", "Files"),
  tool("service.restart", "Restart a service and see it run again", "The machine"),
];
const names = (typed: string) => matchingTools(TOOLS, typed).map((one) => one.name);

it("finds what fits most of the words, in the words that people have for it", () => {
  const more = [
    ...TOOLS,
    tool("fs.copy", "Copy a file or folder", "Files"),
    tool("fs.move", "Move a file or folder", "Files"),
    tool("archive.zip", "Pack a folder into a ZIP file", "Files"),
    tool("image.resize", "Make pictures smaller", "Pictures"),
    tool("image.info", "Kind and size of pictures", "Pictures"),
    tool("disk.usage", "Free room on a disk and the biggest folders", "The machine"),
    {
      ...tool("log.search", "Search the system's log", "The machine"),
      schema: '{"description": "Lines of journald."}',
    },
  ];
  const found = (typed: string) => matchingTools(more, typed).map((one) => one.name);
  expect(found("Bilder verkleinern")).toEqual(["image.resize"]);
  expect(found("copy my things")).toEqual(["fs.copy"]);
  expect(found("zip")).toEqual(["archive.zip"]);
  expect(found("rename")).toEqual(["fs.move"]);
  expect(found("watch")).toEqual(["wait.until"]);
  expect(found("disk room")).toEqual(["disk.usage"]);
  expect(found("free space please")).toEqual(["disk.usage"]);
  expect(found("journald")).toEqual(["log.search"]);
  expect(found("xyzzy")).toEqual([]);
});

it("puts a tool whose title begins with the word first", () => {
  expect(names("wait")).toEqual(["wait.until", "package.updates"]);
  expect(names("restart")).toEqual(["service.restart"]);
});

it("puts a whole word before the begin of one, and that before a part", () => {
  expect(names("store")).toEqual(["artifact.put", "fs.restore"]);
});

it("finds a tool by a word that people have for it", () => {
  expect(names("delete files")).toEqual(["fs.trash"]);
  expect(names("undelete")).toEqual(["fs.restore"]);
  expect(names("bin")).toEqual(["fs.restore", "fs.trash"]);
  // A word that every object of the language has is no word for a tool.
  expect(names("constructor")).toEqual([]);
});
