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
