/** Findings of a row are fields: a topic is published with a part of the result, and an argument is taken by topic. */
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { type Fields, taskOf } from "../../../model/rows/document.ts";
import { patched } from "../../../model/rows/edit.ts";
import { rowsOf, topicsOf } from "../../../model/rows/row.ts";
import { Findings } from "./Findings.tsx";

afterEach(cleanup);

const PLAN: Fields = {
  starloom: 1,
  name: "p",
  tasks: [
    { id: "usage", tool: "disk.usage", finds: { topic: "largest folders", value: "/rows" } },
    { id: "sort", tool: "data.sort", args: { by: ["-bytes"] } },
  ],
};

function shown(start: Fields, id: string, free: string[] = []): { plan: () => Fields } {
  let plan = start;
  const view = () => {
    const row = rowsOf(plan).find((one) => one.id === id);
    if (!row) throw new Error(id);
    return (
      <Findings
        row={row}
        task={taskOf(plan, id) ?? {}}
        plan={plan}
        free={free}
        locked={false}
        onChange={(edit) => {
          plan = patched(plan, id, edit);
          made.rerender(view());
        }}
      />
    );
  };
  const made = render(view());
  return { plan: () => plan };
}

it("publishes a part of a result under a topic, and stops", () => {
  const held = shown({ ...PLAN, tasks: [{ id: "look", tool: "system.info" }] }, "look");
  fireEvent.click(screen.getByRole("button", { name: "A part of its result" }));
  expect(taskOf(held.plan(), "look")?.finds).toEqual({ topic: "look" });
  fireEvent.change(screen.getByLabelText("Topic of the finding"), { target: { value: "its system" } });
  fireEvent.change(screen.getByLabelText(/Pointer into the result/), { target: { value: "/os" } });
  expect(taskOf(held.plan(), "look")?.finds).toEqual({ topic: "its system", value: "/os" });
  expect(topicsOf(held.plan())).toEqual(["its system"]);
  fireEvent.click(screen.getByRole("button", { name: "Stop that" }));
  expect(taskOf(held.plan(), "look")).not.toHaveProperty("finds");
});

it("takes an argument by topic, at most so old, and else a value", () => {
  const held = shown(PLAN, "sort", ["rows"]);
  fireEvent.change(screen.getByLabelText("take by topic"), { target: { value: "rows" } });
  fireEvent.change(screen.getByLabelText(/so many seconds old/), { target: { value: "60" } });
  const other = screen.getByLabelText(/where there is no finding/);
  fireEvent.change(other, { target: { value: "[" } });
  expect(screen.getByText(/That is no JSON/)).toBeTruthy();
  fireEvent.change(other, { target: { value: "[]" } });
  expect(taskOf(held.plan(), "sort")?.inputs).toEqual({ rows: { finding: "largest folders", fresh_s: 60, else: [] } });
  expect(rowsOf(held.plan())[1]?.more).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Stop that" }));
  expect(taskOf(held.plan(), "sort")).not.toHaveProperty("inputs");
});

it("offers no topic where nothing publishes one", () => {
  shown({ ...PLAN, tasks: [{ id: "sort", tool: "data.sort" }] }, "sort", ["rows"]);
  expect(screen.queryByLabelText("take by topic")).toBeNull();
});

it("refuses a value whose digits it would change, and keeps the one before", () => {
  const held = shown(PLAN, "sort", ["rows"]);
  fireEvent.change(screen.getByLabelText("take by topic"), { target: { value: "rows" } });
  const other = screen.getByLabelText<HTMLInputElement>(/where there is no finding/);
  fireEvent.change(other, { target: { value: "1.0" } });
  expect(other.value).toBe("1.0");
  fireEvent.change(other, { target: { value: "12345678901234567890" } });
  expect(screen.getByText(/all digits of the number 12345678901234567890/)).toBeTruthy();
  expect(taskOf(held.plan(), "sort")?.inputs).toMatchObject({ rows: { else: 1 } });
});
