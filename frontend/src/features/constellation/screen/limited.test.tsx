/** A sign-in with a part of its role reads before it presses which right is missing, and who may act in its place. */
import { act, screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../../dev/scenario.ts";

const LO = { role: "operator", scopes: ["read", "artifacts", "run"] } as const;
const lo = () => ({ role: LO.role, scopes: [...LO.scopes] });

it("reads beside a question that an approver answers it", async () => {
  openPage(`/constellations/${CONSTELLATION}?lens=list`, { ...lo(), question: true });
  const card = await screen.findByRole("region", { name: "Waits for an approver" });
  expect(card.textContent).toContain("This sign-in may not answer questions: its rights leave out “approve”.");
  expect(within(card).getByRole("button", { name: "Copy" }).getAttribute("aria-disabled")).toBe("true");
  expect(screen.queryByRole("region", { name: "Needs you" })).toBeNull();
});

it("reads that it waits for others where it may neither answer nor act", async () => {
  const viewer = { role: "viewer" as const, scopes: ["read"] };
  openPage(`/constellations/${CONSTELLATION}?lens=list`, { ...viewer, question: true });
  await screen.findByRole("region", { name: "Waits for an approver" });
  expect(document.querySelector(".top .pill")?.textContent).not.toContain("Needs you");
});

it("reads of a task that stands still as news where it may not act", async () => {
  const hub = openPage(`/constellations/${CONSTELLATION}?lens=list`, { role: "viewer", scopes: ["read"] });
  await screen.findByRole("list", { name: "Tasks" });
  const head = hub.entities(CONSTELLATION).get("head") ?? {};
  act(() => hub.publish(CONSTELLATION, "attention", { head: { ...head, attention: ["waits_long"] } }));
  const card = await screen.findByRole("region", { name: "Waits for somebody with other rights" });
  expect(card.textContent).not.toContain("needs you");
});

it("answers the same question with all rights", async () => {
  openPage(`/constellations/${CONSTELLATION}?lens=list`, { question: true });
  const card = await screen.findByRole("region", { name: "Needs you" });
  expect(card.textContent).not.toContain("may not answer");
  expect(within(card).getByRole("button", { name: "Copy" }).getAttribute("aria-disabled")).toBeNull();
});

it("reads whose answer alone counts, and has nothing to press", async () => {
  const hub = openPage(`/constellations/${CONSTELLATION}?lens=list`, { question: true });
  const [question] = [...hub.entities(CONSTELLATION)].filter(([key]) => key.startsWith("question/"));
  const task = String(question?.[1].task);
  const spec = hub.entities(CONSTELLATION).get(`spec/${task}`);
  act(() => hub.publish(CONSTELLATION, "plan_edited", { [`spec/${task}`]: { ...spec, ask: ["Zo\u00eb"] } }));
  const card = await screen.findByRole("region", { name: "Waits for somebody with other rights" });
  expect(card.textContent).toContain("Only the answer of Zo\u00eb counts.");
  const copy = within(card).getByRole("button", { name: "Copy" });
  expect([copy.getAttribute("aria-disabled"), copy.title]).toEqual(["true", "Only the answer of Zo\u00eb counts."]);
});

it("cannot press what changes a device", async () => {
  openPage("/devices/d-server", lo());
  for (const name of ["Reserve", "Drain..."]) {
    const button = (await screen.findAllByRole("button", { name }))[0] as HTMLElement;
    expect(button.getAttribute("aria-disabled")).toBe("true");
    expect(button.title).toContain("“fleet”");
  }
});

it("cannot add a schedule with the right to a recipe alone", async () => {
  openPage("/schedules", { role: "operator", scopes: ["read", "recipe:contact-sheet"] });
  const button = (await screen.findAllByRole("button", { name: "New schedule" }))[0] as HTMLElement;
  expect(button.getAttribute("aria-disabled")).toBe("true");
  expect(button.title).toContain("“run”");
});
