/** Home for somebody with few rights: it says who is needed, and offers nothing that the hub would refuse. */
import { act, cleanup, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../dev/scenario.ts";

const STUCK = { attention: ["no_capable_device"], state: "active" };

async function homeOf(role: "approver" | "owner"): Promise<void> {
  const hub = openPage("/", { role });
  const held = hub.entities(CONSTELLATION);
  await screen.findByRole("region", { name: "Fleet" });
  const still = [...held].filter(([key]) => key.startsWith("task/"));
  const puts = Object.fromEntries(still.map(([key, task]) => [key, { ...task, state: "waiting" }]));
  act(() => hub.publish(CONSTELLATION, "attention", { ...puts, head: { ...held.get("head"), ...STUCK } }));
}

it("says to an approver that a task without a device waits for others", async () => {
  await homeOf("approver");
  expect(await screen.findByRole("heading", { name: "Waiting for others" })).toBeTruthy();
  expect(screen.queryByText(/waits? for you/i)).toBeNull();
});

it("says to an owner that it waits for them", async () => {
  await homeOf("owner");
  expect(await screen.findByRole("heading", { name: "Waiting for you" })).toBeTruthy();
});

it("does not offer to stop everything to somebody who may only change devices", async () => {
  openPage("/devices", { role: "operator", scopes: ["read", "fleet"] });
  const stop = await screen.findByRole("button", { name: "Stop everything" });
  expect(stop.getAttribute("aria-disabled")).toBe("true");
  expect(stop.title).toContain("“run”");
});

it("offers the way to a new request to nobody who may not start one", async () => {
  const ways = () => screen.queryAllByRole("link", { name: /^New( request)?$/ }).length;
  openPage("/devices", { role: "viewer" });
  await screen.findByRole("button", { name: "Stop everything" });
  await waitFor(() => expect(ways()).toBe(0));
  cleanup();
  openPage("/devices", { role: "operator" });
  await waitFor(() => expect(ways()).toBe(2));
});

it("counts no question that only others may answer", async () => {
  const hub = openPage(`/constellations/${CONSTELLATION}?lens=list`, { question: true });
  const [question] = [...hub.entities(CONSTELLATION)].filter(([key]) => key.startsWith("question/"));
  const task = `spec/${question?.[1].task}`;
  const spec = hub.entities(CONSTELLATION).get(task);
  act(() => hub.publish(CONSTELLATION, "plan_edited", { [task]: { ...spec, ask: ["zo\u00eb"] } }));
  await screen.findByRole("region", { name: "Waits for somebody with other rights" });
  await userEvent.keyboard("gh");
  const heading = await screen.findByRole("heading", { name: "Waiting for others" });
  expect(heading.closest("section")?.textContent).toContain("Only the answer of zo\u00eb counts.");
  const inbox = screen.getAllByRole("link", { name: /^Inbox/ });
  expect(inbox.filter((link) => /\d/.test(link.textContent ?? ""))).toEqual([]);
});
