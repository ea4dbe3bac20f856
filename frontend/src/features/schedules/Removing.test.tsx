/**
 * The question before a removal has a name that a screen reader says, and Escape takes it back to its button. A double
 * press on a deed of a schedule does it once.
 */
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";

it("asks by the name of the schedule, and Escape keeps it", async () => {
  const hub = openPage("/schedules");
  const remove = async () => (await screen.findAllByRole("button", { name: "Remove" }))[0] as HTMLElement;
  await userEvent.click(await remove());
  expect(screen.getByRole("group", { name: /^Remove .+\?$/ }).contains(document.activeElement)).toBe(true);
  await userEvent.keyboard("{Escape}");
  expect(screen.queryByRole("group", { name: /^Remove / })).toBeNull();
  const back = await remove();
  await waitFor(() => expect(document.activeElement).toBe(back));
  expect(hub.calls.filter((call) => call.method === "DELETE")).toEqual([]);
});

it("fires once at a double press", async () => {
  const hub = openPage("/schedules");
  const [button] = await screen.findAllByRole("button", { name: "Run now" });
  await userEvent.dblClick(button as HTMLElement);
  const fired = () => hub.calls.filter((call) => call.method === "POST" && call.path.endsWith("/run"));
  await waitFor(() => expect(fired()).toHaveLength(1));
  await userEvent.click(button as HTMLElement);
  await waitFor(() => expect(fired()).toHaveLength(2));
});
