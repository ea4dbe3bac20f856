/** What was typed or chosen for one task is not there for another one that is selected after it. */
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { DoingProvider } from "../../../app/actions/Actions.tsx";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import { StreamModel } from "../../../model/stream/stream.ts";
import { Inspector } from "./Inspector.tsx";

afterEach(cleanup);

const LIVE = { state: "live" };

it("begins the rows of another list empty", () => {
  const model = new StreamModel("c1");
  const fleet = new StreamModel("fleet");
  const list = (id: string) => ({
    [`spec/${id}`]: { id, tool: "x", for_each: { source: "s", output: "/l" }, inputs: [] },
    [`group/${id}`]: { state: "expanded" },
  });
  const head = { id: "c1", state: "active", version: 4 };
  model.readSnapshot({ seq: 1, entities: { head, ...list("delete"), ...list("copy") } as never });
  fleet.readSnapshot({ seq: 1, entities: {} });
  const live = { onStatus: () => () => {}, readStatus: () => LIVE };
  const workspace = { hub: {}, fleet, live, now: () => 0 } as unknown as Workspace;
  const none = () => {};
  const of = (task: string) => (
    <WorkspaceContext value={workspace}>
      <DoingProvider>
        <Inspector {...{ model, fleet, task }} tab={null} onTab={none} onSelect={none} onClose={none} />
      </DoingProvider>
    </WorkspaceContext>
  );
  const { rerender } = render(of("copy"));
  fireEvent.click(screen.getByText("Add rows to this list"));
  fireEvent.change(screen.getByRole("textbox", { hidden: true }), { target: { value: '"/home/anna/letter.txt"' } });
  rerender(of("delete"));
  expect(screen.getByRole("textbox", { hidden: true })).toHaveProperty("value", "");
});
