/** A draft over a running plan outlives the page, and goes when it is discarded. */
import { act, cleanup, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../../dev/scenario.ts";

const path = `/constellations/${CONSTELLATION}/edit`;
async function addRow(): Promise<void> {
  await draftbar();
  await userEvent.click(screen.getByRole("button", { name: /^Add a row/ }));
  const tool = await waitFor(() => document.querySelector('dialog [role="option"]') ?? expect.fail("no tool yet"));
  await userEvent.click(tool);
}
const draftbar = async () => screen.findByRole("region", { name: "Draft" }, { timeout: 8000 });

it("keeps a draft over a running plan until it is discarded", async () => {
  openPage(path);
  expect((await draftbar()).textContent).toContain("draft: no changes");
  await addRow();
  await waitFor(async () => expect((await draftbar()).textContent).not.toContain("no changes"));
  expect((await draftbar()).textContent).toMatch(/When applied, 1 row \([a-z-]+\) starts at once\./);
  const before = (await draftbar()).querySelector("b")?.textContent;
  cleanup();
  openPage(path);
  expect((await draftbar()).querySelector("b")?.textContent).toBe(before);
  await userEvent.click(screen.getByRole("button", { name: "Discard..." }));
  await userEvent.click(await screen.findByRole("button", { name: "Go on editing" }));
  expect((await draftbar()).querySelector("b")?.textContent).toBe(before);
  await userEvent.click(screen.getByRole("button", { name: "Discard..." }));
  await userEvent.click(await screen.findByRole("link", { name: "Discard" }));
  await waitFor(() => expect(location.pathname).toBe(`/constellations/${CONSTELLATION}`));
  cleanup();
  openPage(path);
  expect((await draftbar()).textContent).toContain("draft: no changes");
});

it("takes in a newer version that leaves its rows alone, and asks about one that does not", async () => {
  const hub = openPage(path);
  await addRow();
  const bar = await draftbar();
  const added = /row \(([a-z-]+)\)/.exec(bar.textContent ?? "")?.[1] ?? "";
  const apply = () => screen.getByRole("button", { name: "Apply" });
  await waitFor(() => expect(apply().getAttribute("aria-disabled")).not.toBe("true"), { timeout: 8000 });
  const before = Number(/over version (\d+)/.exec(bar.textContent ?? "")?.[1]);
  const turned = (version: number, puts = {}) => {
    const head = hub.entities(CONSTELLATION).get("head") ?? {};
    act(() => hub.publish(CONSTELLATION, "plan_edited", { ...puts, head: { ...head, version } }));
  };
  const row = (id: string) => ({
    [`spec/${id}`]: { id, repeatability: "pure", tool: "notify" },
    [`task/${id}`]: { since_ms: 0, state: "waiting" },
  });
  turned(before + 1);
  await waitFor(() => expect(bar.textContent).toContain(`over version ${before + 1}`));
  turned(before + 2, row("theirs"));
  await waitFor(() => expect(bar.textContent).toContain(`over version ${before + 2}`));
  expect(bar.textContent).toContain("draft: +1");
  expect(screen.queryByRole("button", { name: /^Take that in/ })).toBeNull();
  expect(apply().getAttribute("aria-disabled")).not.toBe("true");
  turned(before + 3, row(added));
  await screen.findByRole("button", { name: /^Take that in/ });
  expect(apply().getAttribute("aria-disabled")).toBe("true");
});

it("lets a row wait that no device of now can begin, where that is all that is wrong", async () => {
  const hub = openPage(path);
  hub.unable = "no device offers it now";
  await addRow();
  const wait = await screen.findByRole("button", { name: "Apply, and wait for a device" }, { timeout: 8000 });
  expect(screen.getByRole("list", { name: "Faults of this row" }).textContent).toContain(hub.unable);
  await userEvent.click(wait);
  const edits = () => hub.calls.filter((call) => call.path.endsWith("/edits"));
  await waitFor(() => expect(edits().map(({ body }) => body)).toMatchObject([{ able: false }]));
});
