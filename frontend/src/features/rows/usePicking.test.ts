/** A value of an earlier row goes into the field that is about it, never into a setting beside it. */
import { expect, it } from "vitest";
import { withItem } from "../../model/rows/edit.ts";
import type { Sample } from "../../model/rows/sample.ts";
import { formOf } from "../../model/rows/schema.ts";
import { fieldFor } from "./usePicking.ts";

const TEXT = { type: "string" };
const fields = (required: string[], properties: Record<string, object>) =>
  formOf(JSON.stringify({ type: "object", properties, required })).fields;
const FOUND = { value: { files: [{ path: "a.txt", name: "a", bytes: 3 }], root: "x" } } as unknown as Sample;
const eachPath = { from: "find", output: "/files", inner: "/path" };

it("puts each path into the paths of a tool, not into the name of its device", () => {
  const form = fields(["paths"], { paths: { type: "array", items: TEXT }, device_name: TEXT });
  expect(fieldFor(form, FOUND, eachPath)?.name).toBe("paths");
  const task = withItem({ id: "hash" }, "paths", { from: "find", list: "/files", inner: "/path", alone: true });
  expect(task.args).toEqual({ paths: [{ each: "/path" }] });
});

it("puts each path into the folder that a tool looks in before other fields that may be filled in", () => {
  const form = fields([], { what: TEXT, root: TEXT, device_name: TEXT });
  expect(fieldFor(form, FOUND, eachPath)?.name).toBe("root");
});

it("takes no tool for which a value could only be a setting", () => {
  expect(fieldFor(fields([], { device_name: TEXT, limit: { type: "integer" } }), FOUND, eachPath)).toBeNull();
  expect(fieldFor(fields([], { limit: { type: "integer" } }), FOUND, { ...eachPath, inner: "/bytes" })).toBeNull();
});
