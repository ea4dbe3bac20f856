/** The palette runs what was chosen, whatever the hub finds meanwhile. */
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { StreamModel } from "../../model/stream/stream.ts";
import { WorkspaceContext } from "../workspace/context.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { Palette } from "./Palette.tsx";

afterEach(cleanup);

it("keeps the entry that was chosen when finds of the hub arrive before it", async () => {
  let find: (page: unknown) => void = () => {};
  const none = async () => ({ items: [], next: null });
  const hub = {
    constellations: ({ q }: { q?: string }) => (q ? new Promise((resolve) => (find = resolve)) : none()),
    recipes: none,
    rest: { get: none },
  };
  const fleet = new StreamModel("fleet");
  fleet.readSnapshot({ seq: 1, entities: {} });
  const run = vi.fn();
  const entry = { id: "busy", group: "Page", label: "Show what is busy", run };
  const workspace = {
    hub,
    fleet,
    session: null,
    changes: { on: () => () => {} },
    now: () => 0,
  } as unknown as Workspace;
  render(
    <WorkspaceContext value={workspace}>
      <Palette entries={[entry]} onClose={() => {}} />
    </WorkspaceContext>,
  );
  const chosen = () => screen.getByRole("option", { selected: true }).textContent;
  const asked = vi.spyOn(hub, "constellations");
  await userEvent.type(screen.getByRole("combobox"), "busy");
  await userEvent.keyboard("{ArrowUp}");
  expect(chosen()).toBe("Askbusy");
  await vi.waitFor(() => expect(asked).toHaveBeenCalledWith({ q: "busy" }, expect.anything()));
  find({ items: [{ id: "c-1", name: "busy work", state: "active", request: "", attention: [] }], next: null });
  await screen.findByText("busy work");
  expect(chosen()).toBe("Askbusy");
  await userEvent.keyboard("{ArrowUp}");
  expect(chosen()).toContain("busy work");
});
