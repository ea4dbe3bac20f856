/** A person is invited on the page, and an invitation whose link was used is no longer in the list. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage as open } from "../../../../dev/openPage.tsx";
import { onlyHere } from "./Invite.tsx";

it("makes a link for a name and a role, and one for the network with its QR code", async () => {
  const hub = open("/settings");
  await userEvent.click(await screen.findByRole("button", { name: "Invite a person" }));
  const dialog = screen.getByRole("dialog", { hidden: true });
  const make = within(dialog).getByRole("button", { name: "Make the link", hidden: true });
  expect(make.getAttribute("aria-disabled")).toBe("true");
  await userEvent.type(within(dialog).getByLabelText("Name"), "anna");
  await userEvent.selectOptions(within(dialog).getByLabelText("Role"), "operator");
  await userEvent.click(make);
  expect(await screen.findByText("http://127.0.0.1:8470/#/sign-in/sli1.secret")).toBeTruthy();
  expect(screen.queryByRole("img", { name: /^The link for anna/, hidden: true })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Allow this network", hidden: true }));
  expect(await screen.findByText("https://192.0.2.7:8471/#/sign-in/sli1.secret")).toBeTruthy();
  expect(screen.getByRole("img", { name: /^The link for anna/, hidden: true })).toBeTruthy();
  expect(hub.calls.find((call) => call.path === "/sign-in-links")?.body).toMatchObject({
    for: "anna",
    role: "operator",
  });
  await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain("/tokens/t2"));
});

it("does not list an invitation whose link was used", async () => {
  open("/settings");
  await screen.findByText(/Firefox on desktop/);
  expect(screen.queryByText(/anna/)).toBeNull();
  // The page learns the time of the hub from its first frame.
  await screen.findByText(/^browser, owner, signed in (now|\d+ s ago), used/);
});

it("tells a link for the hub's own computer from one for the network", () => {
  expect(onlyHere({ url: "http://127.0.0.1:8470/#/x", lan_url: null })).toBe(true);
  expect(onlyHere({ url: "http://127.0.0.1:8470/#/x", lan_url: "https://192.0.2.7/#/x" })).toBe(false);
  expect(onlyHere({ url: "https://hub.example/#/x", lan_url: null })).toBe(false);
});
