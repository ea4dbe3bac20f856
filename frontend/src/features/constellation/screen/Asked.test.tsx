import { act, render, screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../../dev/scenario.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import type { Device } from "../../../model/types.ts";
import { TapCard } from "./Asked.tsx";

const used = [
  { id: "d-1", name: "handy", os: "browser" },
  { id: "d-2", os: "linux" },
] as unknown as Device[];

const view = (device: string, deviceName: string, state = "running", reason?: string) =>
  ({
    name: "take",
    deviceName,
    record: { state, device, reason },
    attempt: { leased_ms: 1_000, started_ms: 1_000, ended_ms: 0 },
    asOfMs: 0,
  }) as unknown as TaskView;

it("names the device on which a tap may be needed, once its call takes long", () => {
  const views = [view("d-1", "handy"), view("d-2", "atlas"), view("d-1", "handy", "succeeded")];
  const { rerender } = render(<TapCard views={views} used={used} nowMs={2_000} />);
  expect(screen.queryByRole("region", { name: "Waits for a tap" })).toBeNull();
  rerender(<TapCard views={views} used={used} nowMs={5_000} />);
  expect(screen.getByRole("region", { name: "Waits for a tap" }).textContent).toContain("Look at handy: a tap");
});

it("is sure, and at once, where the tab itself says that it waits", () => {
  const views = [view("d-1", "handy", "running", "tap"), view("d-1", "tab two")];
  render(<TapCard views={views} used={used} nowMs={5_000} />);
  const said = screen.getByRole("region", { name: "Waits for a tap" }).textContent;
  expect(said).toContain("It waits for a tap on handy.");
  expect(said).not.toContain("tab two");
});

it("guesses nothing of a tab that says itself when it waits, nor of one that is away", () => {
  const tells = [{ ...used[0], condition: { tap: "" } }] as unknown as Device[];
  const { container, rerender } = render(<TapCard views={[view("d-1", "handy")]} used={tells} nowMs={5_000} />);
  expect(container.textContent).toBe("");
  const away = view("d-1", "handy");
  const views = [{ ...away, record: { ...away.record, absent_since_ms: 2_000 } }] as unknown as TaskView[];
  rerender(<TapCard views={views} used={used} nowMs={5_000} />);
  expect(container.textContent).toBe("");
});

it("looks at no task of a constellation that no browser has a task of", () => {
  const views = new Proxy([], {
    get: () => {
      throw new Error("a task was looked at");
    },
  });
  const { container } = render(<TapCard views={views} used={used.slice(1)} nowMs={5_000} />);
  expect(container.textContent).toBe("");
});

it("links what is about all of a constellation to nothing on its own page", async () => {
  const hub = openPage(`/constellations/${CONSTELLATION}?lens=list`);
  await screen.findByRole("list", { name: "Tasks" });
  const { answer } = hub;
  const attention = [{ reason: "undo_failed", sentence: "Something could not be undone." }];
  hub.answer = (method, path, body) =>
    path.endsWith("/why")
      ? { body: { attention, items: [], more: 0, state: "active", waits: "" }, status: 200 }
      : answer.call(hub, method, path, body);
  const head = hub.entities(CONSTELLATION).get("head") ?? {};
  act(() => hub.publish(CONSTELLATION, "attention", { head: { ...head, attention: ["undo_failed"] } }));
  const told = await screen.findByText(/Something could not be undone\./);
  const card = within(told.closest(".item") as HTMLElement);
  expect([card.queryByRole("link"), card.queryByRole("button")]).toEqual([null, null]);
});
