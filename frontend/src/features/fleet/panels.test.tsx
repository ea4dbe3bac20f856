/** A panel takes the focus from the control that opened it, and Escape gives it back. */
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../dev/scenario.ts";

const focused = () => document.activeElement as HTMLElement;

async function opened(opener: HTMLElement, heading: string): Promise<void> {
  act(() => opener.focus());
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect([focused().tagName, focused().textContent]).toEqual(["H2", heading]));
  await userEvent.keyboard("{Escape}");
  await waitFor(() => expect(focused()).toBe(opener));
}

describe("a panel that a key opened", () => {
  it("adds a device", async () => {
    openPage("/devices");
    await opened(await screen.findByRole("button", { name: "Add device" }), "Add a device");
  });

  it("shows a device", async () => {
    openPage("/devices");
    const [device] = await screen.findAllByRole("link", { name: /demo-server/ });
    await opened(device as HTMLElement, "demo-server");
  });

  it("compares the words of a device that asks to join", async () => {
    const hub = openPage("/devices");
    await screen.findByRole("button", { name: "Add device" });
    act(() =>
      hub.publish("fleet", "asking", {
        "enrollment/e-1": {
          id: "e-1",
          name: "attic-nas",
          state: "asking",
          words: "red moon",
          expires_ms: hub.now() + 600_000,
        },
      }),
    );
    await opened(await screen.findByRole("link", { name: "Compare and decide" }), "Add a device");
  });

  it("shows a task of the list", async () => {
    openPage(`/constellations/${CONSTELLATION}?lens=list`);
    const rows = await within(await screen.findByRole("list", { name: "Tasks" })).findAllByRole("button");
    const row = rows.at(-1) as HTMLElement;
    const name = row.querySelector(".strong")?.textContent ?? "";
    await opened(row, name);
  });
});
