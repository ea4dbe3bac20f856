/** An owner sees who uses this hub, and gives another role after a question that says what ends. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";

it("lists people and gives another role after a question", async () => {
  const hub = openPage("/settings");
  const card = await screen.findByRole("region", { name: "People" });
  await userEvent.selectOptions(await within(card).findByRole("combobox", { name: "Role of jonas" }), "approver");
  const given = () => hub.calls.filter((call) => call.path === "/people/jonas");
  const dialog = await screen.findByRole("dialog", { hidden: true });
  expect(dialog.textContent).toContain("more rights end at once");
  expect(given()).toEqual([]);
  await userEvent.click(within(dialog).getByRole("button", { name: "Make jonas approver", hidden: true }));
  await waitFor(() => expect(given()).toHaveLength(1));
});

it("removes a person after a question that says what ends", async () => {
  const hub = openPage("/settings");
  const card = await screen.findByRole("region", { name: "People" });
  await userEvent.click(await within(card).findByRole("button", { name: "Remove jonas" }));
  const ended = () => hub.calls.filter((call) => call.method === "DELETE").map((call) => call.path);
  const dialog = await screen.findByRole("dialog", { hidden: true });
  expect(dialog.textContent).toMatch(/This ends .*1 token of jonas at once/);
  expect(ended()).toEqual([]);
  await userEvent.click(within(dialog).getByRole("button", { name: "Remove jonas", hidden: true }));
  await waitFor(() => expect(ended()).toContain("/tokens/t3"));
});

it("is for owners alone", async () => {
  openPage("/settings", { role: "operator" });
  await screen.findByRole("region", { name: "Sessions and tokens" });
  expect(screen.queryByRole("region", { name: "People" })).toBeNull();
});

it("says to which parts of the role the tokens of a person are limited", async () => {
  openPage("/settings");
  const card = await screen.findByRole("region", { name: "People" });
  expect(
    await within(card).findByText(/person, may only see devices, work, answers and logs; start contact-sheet,/),
  ).toBeTruthy();
});
