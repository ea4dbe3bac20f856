/** The trash of a device: asked for by a press, a file put back by its ticket, and emptied by the recipe's own page. */
import { act, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";
import { trashOf } from "./trash.ts";

const ITEM = { bytes: 2000, name: "report.txt", path: "/srv/report.txt", since_s: 1_790_000_000, ticket: "1-a" };
const TRASH = { bytes: 2000, count: 1, items: [ITEM], oldest_s: ITEM.since_s, tickets: ["1-a"] };

const answer = (value: unknown) => ({
  answer: { items: [{ show: "value", task: "trash", title: "Trash", value }], sentence: "Done.", state: "final" },
});

async function opened(more: Record<string, unknown> = {}) {
  const hub = openPage("/devices/d-server");
  const offer = hub.entities("fleet").get("offer/d-server") as { tools: unknown[] };
  const tools = ["trash.list", "trash.empty", "fs.restore"].map((name) => ({ name, repeatability: "pure", ...more }));
  act(() => hub.publish("fleet", "device_offered", { "offer/d-server": { ...offer, tools } }));
  return hub;
}

it("lists what lies there, and puts one file back by its ticket", async () => {
  const hub = await opened();
  hub.waitedFor = answer(TRASH);
  const card = await screen.findByRole("region", { name: "Its trash" });
  await userEvent.click(within(card).getByRole("button", { name: "Look into it" }));
  expect(await within(card).findByText("report.txt")).toBeTruthy();
  expect(card.textContent).toContain("1 file or folder, the oldest");
  await userEvent.click(within(card).getByRole("button", { name: "Put back" }));
  const bodies = hub.calls.map(({ body }) => body as { plan?: { tasks: unknown[] } } | undefined);
  expect(bodies.flatMap((body) => body?.plan?.tasks ?? [])).toMatchObject([
    { args: { limit: 200 }, device: { id: "d-server" }, tool: "trash.list" },
    { args: { tickets: ["1-a"] }, tool: "fs.restore" },
    { tool: "trash.list" },
  ]);
});

it("is emptied on the page of the recipe, with the device and the days filled in", async () => {
  await opened();
  const card = await screen.findByRole("region", { name: "Its trash" });
  await userEvent.selectOptions(within(card).getByRole("combobox"), "older than a week");
  await userEvent.click(within(card).getByRole("button", { name: "Empty" }));
  expect(location.pathname).toBe("/recipes/empty-trash");
  const values = new URLSearchParams(location.search).get("values");
  expect(JSON.parse(values ?? "")).toEqual({ days: 7, where: { id: "d-server" } });
});

it("is not there where the device cannot list it", async () => {
  await opened({ unavailable: "not here" });
  expect(await screen.findByRole("region", { name: "What it may do" })).toBeTruthy();
  expect(screen.queryByRole("region", { name: "Its trash" })).toBeNull();
});

it("takes nothing else for a trash", () => {
  for (const value of [null, 1, {}, { count: "2", bytes: 1, items: [] }])
    expect(trashOf(answer(value) as never)).toBeNull();
  expect(trashOf(answer(TRASH) as never)?.items).toEqual([ITEM]);
});
