/** The values of a recipe as fields: a device that was chosen by its id has its name. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import { Workspace } from "../../../app/workspace/workspace.ts";
import { Slots } from "./Slots.tsx";

it("shows it by its name", async () => {
  const values = encodeURIComponent(JSON.stringify({ source: { id: "d-phone" } }));
  openPage(`/recipes/photo-backup?values=${values}`);
  await screen.findByRole("option", { name: "demo-phone", selected: true });
  const list = screen.getAllByRole<HTMLSelectElement>("combobox").find((one) => one.value === "demo-phone");
  expect([...(list?.options ?? [])].map((one) => one.value)).not.toContain("d-phone");
});

it("keeps a number as it is typed, and sends what it means", async () => {
  let sent: Record<string, unknown> = {};
  function Held() {
    const [params, setParams] = useState<Record<string, unknown>>({ share: 2 });
    sent = params;
    return <Slots params={params} types={{ share: { type: "number", title: "Share" } }} onChange={setParams} />;
  }
  render(
    <WorkspaceContext value={new Workspace(() => undefined)}>
      <Held />
    </WorkspaceContext>,
  );
  const field = screen.getByLabelText<HTMLInputElement>("Share");
  for (const [typed, means] of [
    ["1.5", 1.5],
    ["0.05", 0.05],
    ["-3", -3],
    ["0,5", "0,5"],
    ["12345678901234567890", "12345678901234567890"],
  ] as const) {
    await userEvent.clear(field);
    expect(field.value).toBe("");
    await userEvent.type(field, typed);
    expect([field.value, sent.share]).toEqual([typed, means]);
  }
});

it("offers the devices that can do what the recipe needs, and the one that was named", () => {
  const workspace = new Workspace(() => undefined);
  const tool = (name: string) => ({ name, effects: [], repeatability: "never" });
  workspace.fleet.readSnapshot({
    seq: 1,
    entities: {
      "device/d-1": { id: "d-1", name: "nas", link: "online", joined_ms: 1 },
      "device/d-2": { id: "d-2", name: "phone", link: "online", joined_ms: 2 },
      "device/d-3": { id: "d-3", name: "new", link: "offline", joined_ms: 3 },
      "offer/d-1": { digest: "a", tools: [tool("fs.find"), tool("fs.write")] },
      "offer/d-2": { digest: "b", tools: [tool("fs.find")] },
    },
  });
  const types = { to: { type: "device", title: "Put it on", needs: ["fs.find", "fs.write"] } };
  const fields = (params: Record<string, unknown>) => (
    <WorkspaceContext value={workspace}>
      <Slots params={params} types={types} onChange={() => undefined} />
    </WorkspaceContext>
  );
  const offered = () => [...screen.getByLabelText<HTMLSelectElement>("Put it on").options].map((one) => one.value);
  const shown = render(fields({ to: "" }));
  expect(offered()).toEqual(["", "nas", "new"]);
  shown.rerender(fields({ to: { name: "phone" } }));
  expect(offered()).toEqual(["", "nas", "new", "phone"]);
});
