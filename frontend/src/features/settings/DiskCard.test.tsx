/** The free space of the hub's disk, read when the page is opened and by the button alone. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";

afterEach(() => void vi.restoreAllMocks());

it("tells how much of the disk is free, and looks again when asked", async () => {
  const hub = openPage("/settings", { role: "operator" });
  const card = await screen.findByRole("region", { name: "Disk of the hub" });
  await within(card).findByText(/23 GB of 120 GB are free/);
  const asked = () => hub.calls.filter((call) => call.path === "/disk").length;
  expect(asked()).toBe(1);
  // The figure is often the same again, so the time is what answers a press.
  const read = () => within(card).getByText(/Read at/).textContent;
  const before = read();
  const later = Date.now() + 61_000;
  vi.spyOn(Date, "now").mockImplementation(() => later);
  await userEvent.click(within(card).getByRole("button", { name: "Look again" }));
  await waitFor(() => expect(asked()).toBe(2));
  await waitFor(() => expect(read()).not.toBe(before));
});

it("is not for those who may not see the fleet's own machines", async () => {
  openPage("/settings", { role: "viewer" });
  await screen.findByText("Allowed from now on");
  expect(screen.queryByRole("region", { name: "Disk of the hub" })).toBeNull();
});

it("is not for a sign-in without the part of its role that asks for it", async () => {
  const hub = openPage("/settings", { role: "operator", scopes: ["read", "run"] });
  await screen.findByText("Allowed from now on");
  expect(screen.queryByRole("region", { name: "Disk of the hub" })).toBeNull();
  expect(hub.calls.filter((call) => call.path === "/disk")).toEqual([]);
});
