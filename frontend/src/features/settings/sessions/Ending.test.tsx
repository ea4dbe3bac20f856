/** A revocation that also signs this page out asks first. */
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage as open } from "../../../../dev/openPage.tsx";

it("asks before this page is signed out, and revokes after that only", async () => {
  const hub = open("/settings");
  const revoked = () => hub.calls.filter((call) => call.path === "/tokens/t1");
  await screen.findByText(/Firefox on desktop/);
  const card = screen.getByRole("region", { name: "Sessions and tokens" });
  const press = async (name: string, from: Element | Document = document) =>
    userEvent.click([...from.querySelectorAll("button")].find((button) => button.textContent === name) as HTMLElement);
  await press("Revoke", card);
  expect(await screen.findByText("Revoke it and sign out?")).toBeTruthy();
  expect(revoked()).toEqual([]);
  await press("Keep it");
  expect(screen.queryByText("Revoke it and sign out?")).toBeNull();
  await press("Revoke", card);
  await press("Revoke", screen.getByRole("dialog", { hidden: true }));
  await waitFor(() => expect(revoked()).toHaveLength(1));
});
