/** The way to a first device is shown until one of one's own has joined; the hub's own computer is marked as that. */
import { act, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";

it("asks for a device while there are only the sample's and the hub's own computer", async () => {
  const hub = openPage("/");
  await screen.findByRole("region", { name: "Fleet" });
  expect(screen.queryByRole("region", { name: "Start here" })).toBeNull();
  const gone = ["device/d-laptop", "device/d-vps"].map((key) => [
    key,
    { ...hub.entities("fleet").get(key), revoked: true },
  ]);
  act(() => hub.publish("fleet", "revoked", Object.fromEntries(gone)));
  expect(await screen.findByRole("region", { name: "Start here" })).toBeTruthy();
  act(() => hub.publish("fleet", "joined", { "device/d-own": { id: "d-own", name: "nas", joined_ms: 1 } }));
  await waitFor(() => expect(screen.queryByRole("region", { name: "Start here" })).toBeNull());
});

it("marks the hub's own computer in the fleet", async () => {
  openPage("/devices");
  const mark = await screen.findByText("this hub's own machine");
  expect(mark.closest("tr")?.textContent).toContain("desktop");
});
