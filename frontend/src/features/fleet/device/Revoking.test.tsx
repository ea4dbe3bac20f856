/** Before a device is revoked, or another takes its place, the page says what ends; the line of a tunnel is there. */
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";

it("names the schedules that use the device", async () => {
  const hub = openPage("/devices/d-server");
  const name = String(hub.entities("fleet").get("device/d-server")?.name);
  const schedule = { id: "s1", name: "Nightly copy", request: `copy to ${name}`, owner: "p1", cron: "0 2 * * *" };
  act(() => hub.publish("fleet", "schedule_made", { "schedule/s1": schedule }));
  await userEvent.click((await screen.findAllByRole("button", { name: "Revoke" }))[0] as HTMLElement);
  const dialog = await screen.findByRole("dialog", { name: `Revoke ${name}` });
  expect(dialog.textContent).toContain("1 schedule names it: Nightly copy.");
  expect(within(dialog).getByRole("link", { name: "Schedules" }).getAttribute("href")).toBe("/schedules");
});

it("is for an operator who let the device in, and tells any other why not", async () => {
  const hub = openPage("/devices/d-server", { role: "operator" });
  const revoke = async () => (await screen.findAllByRole("button", { name: "Revoke" }))[0] as HTMLElement;
  expect((await revoke()).title).toContain("An owner revokes it");
  await userEvent.click(await revoke());
  expect(screen.queryByRole("dialog")).toBeNull();
  const device = hub.entities("fleet").get("device/d-server");
  act(() => hub.publish("fleet", "device_joined", { "device/d-server": { ...device, joined_by: "p1" } }));
  // An event is drawn with the next picture.
  await waitFor(async () => expect((await revoke()).getAttribute("aria-disabled")).toBeNull());
});

it("has the line of a tunnel for a hub that listens on its own computer", async () => {
  openPage("/devices?add=1");
  await userEvent.click(await screen.findByText("On a server, through a tunnel of your own"));
  expect(screen.getByText("ssh -R 8470:127.0.0.1:8470 user@host")).toBeTruthy();
});

it("takes the place of an older device only after saying what that ends", async () => {
  const hub = openPage("/devices?add=1");
  const name = String(hub.entities("fleet").get("device/d-server")?.name);
  await userEvent.click(await screen.findByText("It takes the place of an older device"));
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "The device whose place it takes" }), name);
  expect(screen.getByText(/is revoked in the same moment, for good/).textContent).toContain(
    `the name ${name} and its labels`,
  );
  const codes = hub.calls.filter(({ path }) => path === "/enrollments").map(({ body }) => body);
  expect(codes).toEqual([{}, { replaces: "d-server" }]);
});
