/** A device is reserved and takes all work again on its page, which says what it stands for. */
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";

it("is reserved by one press, and says so until it takes all work", async () => {
  const hub = openPage("/devices/d-server");
  await userEvent.click((await screen.findAllByRole("button", { name: "Reserve" }))[0] as HTMLElement);
  await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain("/devices/d-server/reserve"));
  expect(await screen.findByText("It is reserved: it takes only work that names it.")).toBeTruthy();
  await userEvent.click((await screen.findAllByRole("button", { name: "Take all work" }))[0] as HTMLElement);
  await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain("/devices/d-server/share"));
});
