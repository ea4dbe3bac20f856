import { describe, expect, it } from "vitest";
import { draftOf } from "../../../model/rows/document.ts";
import { proposals } from "../../../model/rows/params.ts";
import { labelsOf, shownNames, textOf } from "./Slots.tsx";

describe("the fields of a recipe", () => {
  it("have the names of their parameters where their titles are the same", () => {
    const path = { type: "path" as const, title: "Path" };
    const types = { path, path_2: path, of: { type: "device" as const, title: "Of" } };
    expect(labelsOf(Object.keys(types), types)).toEqual({
      path: "Path (path)",
      path_2: "Path (path_2)",
      of: "Of the device",
    });
  });

  it("are titled by their rows when a plan with several of one title is saved", () => {
    const row = (id: string, path: string) => ({ id, tool: "fs.read", args: { path } });
    const draft = draftOf({ starloom: 1, name: "Both", tasks: [row("scan", "~/a"), row("copy", "~/b")] });
    expect(proposals(draft).map((one) => [one.name, one.title])).toEqual([
      ["path", "Path of scan"],
      ["path_2", "Path of copy"],
    ]);
  });

  it("are switches where words only turn them on", () => {
    const types = {
      trash: { type: "boolean" as const, title: "Offer to trash" },
      extras: { type: "text" as const, title: "The extra ones", spoken: true },
    };
    expect(shownNames({ extras: "the extra ones", where: "nas" }, types)).toEqual(["where", "trash"]);
  });

  it("say a choice of devices in words, not as it is sent", () => {
    expect(textOf({ any: [{ name: "nas" }, { name: "laptop" }] })).toBe("nas or laptop");
    expect(textOf({ any: [{ name: "nas" }, { os: "linux" }] }, true)).toBe("nas and every linux device");
    expect(textOf({ name: "nas" })).toBe("nas");
  });
});
