/** The values of a recipe as fields: a device that was chosen by its id has its name. */
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";

it("shows it by its name", async () => {
  const values = encodeURIComponent(JSON.stringify({ source: { id: "d-phone" } }));
  openPage(`/recipes/photo-backup?values=${values}`);
  await screen.findByRole("option", { name: "demo-phone", selected: true });
  const list = screen.getAllByRole<HTMLSelectElement>("combobox").find((one) => one.value === "demo-phone");
  expect([...(list?.options ?? [])].map((one) => one.value)).not.toContain("d-phone");
});
