/** A revocation is named by what it ends, and asks first; most of all where it also signs this page out. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { MockHub } from "../../../../dev/mockHub.ts";
import { openPage as open } from "../../../../dev/openPage.tsx";

const revoked = (hub: MockHub, id: string) => hub.calls.filter((call) => call.path === `/tokens/${id}`);

async function pressRevoke(name: RegExp): Promise<HTMLElement> {
  const card = await screen.findByRole("region", { name: "Sessions and tokens" });
  await userEvent.click(await within(card).findByRole("button", { name }));
  return screen.findByRole("dialog", { hidden: true });
}
const press = (dialog: HTMLElement, name: string) =>
  userEvent.click(within(dialog).getByRole("button", { name, hidden: true }));

it("asks before this page is signed out, and revokes after that only", async () => {
  const hub = open("/settings");
  const own = /^Revoke the sign-in in Firefox on desktop/;
  const dialog = await pressRevoke(own);
  expect(dialog.textContent).toContain("This is your own sign-in on this page");
  expect(revoked(hub, "t1")).toEqual([]);
  await press(dialog, "Keep it");
  expect(screen.queryByRole("dialog", { hidden: true })).toBeNull();
  await press(await pressRevoke(own), "Revoke it and sign out");
  await waitFor(() => expect(revoked(hub, "t1")).toHaveLength(1));
});

it("asks before somebody else's token ends, and says what ends with it", async () => {
  const hub = open("/settings");
  const dialog = await pressRevoke(/^Revoke jonas's token backup script/);
  expect(dialog.textContent).toContain("Programs that use it are refused");
  expect(dialog.textContent).toContain("It also ends 2 tokens and 2 schedules made with it.");
  expect(revoked(hub, "t3")).toEqual([]);
  await press(dialog, "Revoke it");
  await waitFor(() => expect(revoked(hub, "t3")).toHaveLength(1));
  expect(screen.getByText(/^token of a person, operator/)).toBeTruthy();
  expect(screen.getByText(/^token of an assistant, viewer/)).toBeTruthy();
  expect(screen.getByText(/^token of a program, viewer/)).toBeTruthy();
});

it("says until when a sign-in is good on the reader's own clock", async () => {
  open("/settings");
  const card = await screen.findByRole("region", { name: "Sessions and tokens" });
  expect((await within(card).findAllByText(/, until \d+ \w+ \d{4}, \d\d:\d\d$/)).length).toBeGreaterThan(0);
});

it("says to which parts of its role a token is limited", async () => {
  open("/settings");
  const card = await screen.findByRole("region", { name: "Sessions and tokens" });
  expect(
    await within(card).findByText(/operator, may only see devices, work, answers and logs; start contact-sheet,/),
  ).toBeTruthy();
  expect(within(card).getAllByText(/may only/)).toHaveLength(1);
});
