import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { openPage as open } from "../../../../dev/openPage.tsx";

describe("the secrets", () => {
  it("are removed after a question only, as no value comes back", async () => {
    const hub = open("/settings");
    const removed = () => hub.calls.filter(({ method }) => method === "DELETE").map(({ path }) => path);
    const ask = async () => {
      await userEvent.click(await screen.findByRole("button", { name: "Remove db-password" }));
      return within(await screen.findByRole("dialog", { name: "Remove db-password" }));
    };
    await userEvent.click((await ask()).getByRole("button", { name: "Keep it" }));
    expect(removed()).toEqual([]);
    await userEvent.click((await ask()).getByRole("button", { name: "Remove it" }));
    await waitFor(() => expect(removed()).toEqual(["/secrets/db-password"]));
  });
});
