import { describe, expect, it } from "vitest";
import { aboutOf, formOf, titleOf } from "./schema.ts";

const texts = { type: "array", items: { type: "string" } };
const form = (names: Record<string, object>) => formOf(JSON.stringify({ type: "object", properties: names }));
const titles = (of: ReturnType<typeof form>) =>
  Object.fromEntries(of.fields.map((field) => [field.name, titleOf(field)]));

describe("names that only programmers know", () => {
  it("have words in front of them", () => {
    const python = form({
      code: { type: "string" },
      argv: texts,
      env: { type: "object" },
      newer_than: { type: "string" },
    });
    expect(titles(python)).toEqual({
      code: "code",
      argv: "arguments (argv)",
      env: "variables (env)",
      newer_than: "newer than",
    });
    expect(aboutOf(python, "argv")).toContain("is given, one a line");
    expect(aboutOf(python, "env")).toContain("choose a secret");
  });

  it("call the argv of a tool without code a command", () => {
    const shell = form({ argv: texts, cwd: { type: "string" } });
    expect(titles(shell)).toEqual({ argv: "command (argv)", cwd: "folder (cwd)" });
    expect(aboutOf(shell, "argv")).toBe("The program and its arguments.");
  });
});
