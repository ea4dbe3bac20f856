/** Rows for a list that runs: they are read line by line and sent as one edit; nothing else is sent. */
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { DoingProvider } from "../../../app/actions/Actions.tsx";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import { keepPersonal } from "../../../app/workspace/personal.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import { Problem } from "../../../link/rest.ts";
import type { GroupRecord, Head, TaskSpec } from "../../../model/types.ts";
import { RightsContext } from "../../../ui/away.tsx";
import { AddRows, rowsOf } from "./AddRows.tsx";

afterEach(cleanup);

const LIVE = { state: "live" };
const LINK = { onStatus: () => () => {}, readStatus: () => LIVE };

const HEAD = { id: "c1", state: "active", version: 4 } as unknown as Head;
const LIST = { id: "train", for_each: { source: "rates", output: "/l" } } as unknown as TaskSpec;
const RUNS = { state: "expanded" } as unknown as GroupRecord;

function drawn(record: GroupRecord, spec = LIST) {
  const edit = vi.fn(async () => ({ version: 5 }));
  const page = (head: Head) => (
    <WorkspaceContext value={{ hub: { edit }, live: LINK } as unknown as Workspace}>
      <DoingProvider>
        <AddRows head={head} spec={spec} record={record} />
      </DoingProvider>
    </WorkspaceContext>
  );
  const { rerender } = render(page(HEAD));
  return { edit, head: (head: Head) => rerender(page(head)) };
}

const shown = (record: GroupRecord, spec = LIST) => drawn(record, spec).edit;

it("reads a list or a value a line", () => {
  expect(rowsOf('{"rate": 1}\n\n2')).toEqual([{ rate: 1 }, 2]);
  expect(rowsOf("[1, 2]")).toEqual([1, 2]);
  expect(rowsOf("rate 1")).toContain("as JSON");
  expect(rowsOf('{"id": 12345678901234567890}')).toContain("12345678901234567890");
});

it("adds the rows by one edit", async () => {
  const edit = shown(RUNS);
  await userEvent.click(screen.getByText("Add rows to this list"));
  fireEvent.change(screen.getByRole("textbox"), { target: { value: '{"rate": 1}\n{"rate": 2}' } });
  await userEvent.click(screen.getByRole("button", { name: "Add 2 rows" }));
  const operation = { add_items: { to: "train", items: [{ rate: 1 }, { rate: 2 }] } };
  expect(edit.mock.calls).toEqual([["c1", 4, [operation], "more rows for train"]]);
});

it("keeps what is typed for this list while another task is looked at, until it is sent", async () => {
  keepPersonal("ann");
  shown(RUNS);
  await userEvent.click(screen.getByText("Add rows to this list"));
  fireEvent.change(screen.getByRole("textbox"), { target: { value: '{"rate": 3}' } });
  cleanup();
  shown(RUNS, { ...LIST, id: "other" });
  expect(screen.getByRole("textbox", { hidden: true })).toHaveProperty("value", "");
  cleanup();
  shown(RUNS);
  const field = screen.getByRole("textbox");
  expect(field).toHaveProperty("value", '{"rate": 3}');
  expect(field.closest("details")?.open).toBe(true);
  await userEvent.click(screen.getByRole("button", { name: "Add 1 row" }));
  cleanup();
  shown(RUNS);
  expect(screen.getByRole("textbox", { hidden: true })).toHaveProperty("value", "");
});

it("sends the same edit again after a lost answer, whatever version came of it", async () => {
  const { edit, head } = drawn(RUNS);
  edit.mockRejectedValueOnce(new Problem(503, { code: "hub_unreachable" }));
  await userEvent.click(screen.getByText("Add rows to this list"));
  fireEvent.change(screen.getByRole("textbox"), { target: { value: "1" } });
  await userEvent.click(screen.getByRole("button", { name: "Add 1 row" }));
  head({ ...HEAD, version: 5 });
  await userEvent.click(screen.getByRole("button", { name: "Add 1 row" }));
  expect(edit.mock.calls.map((call) => (call as unknown[])[1])).toEqual([4, 4]);
});

it("is offered by a list of values that runs alone", () => {
  shown({ state: "succeeded" } as unknown as GroupRecord);
  shown(RUNS, { id: "g", for_each: { devices: {} } } as unknown as TaskSpec);
  expect(screen.queryByText("Add rows to this list")).toBeNull();
});

it("is unusable for somebody who may not edit a plan", async () => {
  render(
    <WorkspaceContext value={{ hub: {}, live: LINK } as unknown as Workspace}>
      <DoingProvider>
        <RightsContext value={{ role: "viewer", scopes: ["read"] }}>
          <AddRows head={HEAD} spec={LIST} record={RUNS} />
        </RightsContext>
      </DoingProvider>
    </WorkspaceContext>,
  );
  await userEvent.click(screen.getByText("Add rows to this list"));
  fireEvent.change(screen.getByRole("textbox"), { target: { value: "1" } });
  const button = screen.getByRole("button", { name: "Add 1 row" });
  expect(button.getAttribute("aria-disabled")).toBe("true");
  expect(button.title).not.toContain("JSON");
});
