/** The Inbox: what waits, answered in place and several at once. */
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { MockHub } from "../../../dev/mockHub.ts";
import { openPage } from "../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../dev/scenario.ts";

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

const SENT = ["send.3", "send.4", "send.5"];

/** A group of calls of which nobody knows whether they happened, told before the page reads what waits. */
async function inDoubt(): Promise<MockHub> {
  const hub = openPage("/settings");
  const held = hub.entities(CONSTELLATION);
  const puts = Object.fromEntries(SENT.map((id) => [`task/${id}`, { ...held.get(`task/${id}`), state: "unknown" }]));
  const head = { ...held.get("head"), attention: ["task_unknown"] };
  act(() => hub.publish(CONSTELLATION, "task_unknown", { ...puts, head }));
  await screen.findByRole("heading", { name: "Settings" });
  await userEvent.keyboard("gi");
  await screen.findByText("3 calls of send may have happened");
  return hub;
}

const marks = (hub: MockHub) => hub.calls.filter((call) => call.path.endsWith("/mark"));

describe("calls that may have happened", () => {
  it("are one row of their group, marked by one button", async () => {
    const hub = await inDoubt();
    await userEvent.click(screen.getByRole("button", { name: "All 3 happened" }));
    await waitFor(() => expect(screen.queryByText(/calls of send may have happened/)).toBeNull());
    expect(marks(hub).map((call) => call.path)).toEqual([`/constellations/${CONSTELLATION}/tasks/send/mark`]);
    expect(SENT.map((id) => hub.entities(CONSTELLATION).get(`task/${id}`)?.state)).toEqual(SENT.map(() => "succeeded"));
    expect(screen.getByText("Marked 3 calls")).toBeTruthy();
  });

  it("are named by the device of their task, not by its id", async () => {
    const hub = openPage("/settings");
    const held = hub.entities(CONSTELLATION);
    const spec = { ...held.get("spec/send.3"), group: "send", id: "send.d-phone", key: "d-phone" };
    const task = { ...held.get("task/send.3"), state: "unknown" };
    const head = { ...held.get("head"), attention: ["task_unknown"] };
    act(() =>
      hub.publish(CONSTELLATION, "task_unknown", { "spec/send.d-phone": spec, "task/send.d-phone": task, head }),
    );
    await screen.findByRole("heading", { name: "Settings" });
    await userEvent.keyboard("gi");
    expect(await screen.findByText("send on demo-phone may have happened")).toBeTruthy();
  });

  it("stay where the hub refuses the answer, and its reason is shown", async () => {
    const hub = await inDoubt();
    hub.refused = "send";
    await userEvent.click(screen.getByRole("button", { name: "None of them happened" }));
    expect(await screen.findByText(/send was marked by another person/)).toBeTruthy();
    expect(screen.queryByText(/Marked/)).toBeNull();
    expect(screen.getByText("3 calls of send may have happened")).toBeTruthy();
    expect(SENT.map((id) => hub.entities(CONSTELLATION).get(`task/${id}`)?.state)).toEqual(SENT.map(() => "unknown"));
  });
});

describe("an Inbox where only a device waits", () => {
  it("does not say below that nothing is open", async () => {
    await inDoubt();
    await waitFor(() => expect(screen.queryByText("Reading.")).toBeNull());
    expect(screen.queryByText(/No question is open|Nothing waits for you/)).toBeNull();
  });
});

describe("the question of a device", () => {
  it("has its call in words, and stands among the answers once it has one", async () => {
    const hub = openPage("/inbox");
    await screen.findByText("Nothing waits for you.");
    const ask = { action: "0c", args: '{"older_than_days":0}', asked_ms: hub.now(), expires_ms: hub.now() + 600_000 };
    const asks = { answers: "hub", device: "d-phone", open: [{ ...ask, id: "a-1", tool: "trash.empty" }] };
    act(() => hub.publish("fleet", "device_asks", { "asks/d-phone": asks }));
    const waits = await screen.findByRole("region", { name: "Waits on your devices" });
    expect(within(waits).getByText("older than days")).toBeTruthy();
    expect(waits.textContent).not.toContain("{");
    await userEvent.click(within(waits).getByRole("button", { name: "Deny" }));
    hub.answeredAsks = [
      {
        ...{
          id: "d-phone:a-1",
          action: "0c",
          tool: "trash.empty",
          task: "",
          constellation: "",
          constellation_name: "",
        },
        ...{ answer: "deny", answered_by: "person:p-1#Jonas", answered_at: new Date(hub.now()).toISOString() },
        ...{ answers: "hub", args: "{}", asked_at: null, expires_at: null, line: "", reason: "not today" },
        device: { id: "d-phone", name: "demo-phone" },
      },
    ];
    act(() => hub.publish("fleet", "device_ask_answered", { "asks/d-phone": null }));
    expect((await within(waits).findByText("Answered: Deny.")).closest(".item")).toBeTruthy();
    expect(within(waits).getByRole<HTMLButtonElement>("button", { name: "Allow once" }).disabled).toBe(true);
    const row = (await screen.findByText("demo-phone asked before trash.empty", {}, { timeout: 4000 })).closest(
      ".item",
    );
    expect(row?.textContent).toContain("denied by");
    expect(row?.textContent).toContain("not today");
  });
});

describe("requests without a plan", () => {
  it("are one row for their cause, with the ways out, here and on their own page", async () => {
    const hub = openPage("/settings");
    const head = {
      ...hub.entities(CONSTELLATION).get("head"),
      attention: ["planning_failed"],
      ended_ms: Date.now(),
      fault: {
        code: "model_unreachable",
        hint: "Test it in Settings > Model.",
        reason: "the model qwen does not answer",
      },
      state: "failed",
    };
    act(() => hub.publish(CONSTELLATION, "planning_failed", { head }));
    await screen.findByRole("heading", { name: "Settings" });
    await userEvent.keyboard("gi");
    const row = await screen.findByRole("group", { name: "A request could not be planned" });
    const again = within(row).getByRole("link", { name: "Try again" });
    expect(again.getAttribute("href")).toMatch(/^\/new\?q=./);
    expect(within(row).getByRole("link", { name: "Choose another model" }).getAttribute("href")).toBe("/settings");
    await userEvent.click(within(row).getByRole("link", { name: /^“/ }));
    const note = await screen.findByRole("alert");
    expect(note.textContent).toContain("the model qwen does not answer");
    expect(within(note).getByRole("link", { name: "Try again" }).getAttribute("href")).toBe(again.getAttribute("href"));
  });
});

describe("notices that nobody could see", () => {
  const MINUTE_MS = 60_000;
  const notice = (nowMs: number, count: number, code: string) => ({
    at_ms: nowMs,
    constellation: `c-${count}`,
    count,
    text: `nobody saw ${count}`,
    unseen: { code, device: "d-phone", since_ms: nowMs - count * MINUTE_MS },
  });

  it("are one row for their cause, seen by one press", async () => {
    const hub = openPage("/inbox");
    await screen.findByText("Nothing waits for you.");
    const told = [1, 2, 3, 4].map((count) => [
      `schedule/s-${count}`,
      {
        id: `s-${count}`,
        name: `Copy ${count}`,
        notice: notice(hub.now(), count, count === 4 ? "tool_failed" : "tool_unavailable"),
      },
    ]);
    act(() => hub.publish("fleet", "schedule_ended", Object.fromEntries(told)));
    const row = await screen.findByRole("group", { name: "6 notices could not be shown on demo-phone" });
    expect(row.textContent).toContain("first 3 min ago");
    expect(
      within(row)
        .getAllByRole("link")
        .map((link) => link.textContent),
    ).toEqual(["Copy 1", "Copy 2", "Copy 3"]);
    expect(within(row).queryByText("Copy 4")).toBeNull();
    expect(screen.getByRole("link", { name: "Copy 4" })).toBeTruthy();
    await userEvent.click(within(row).getByRole("button", { name: "Seen, all 3" }));
    await waitFor(() =>
      expect(hub.calls.filter((call) => call.path.endsWith("/seen"))).toMatchObject([
        { path: "/schedule-notices/seen", body: { schedules: ["s-1", "s-2", "s-3"] } },
      ]),
    );
  });
});

describe("a question and the rights of who looks", () => {
  it("counts for nobody who may not answer it, and says why", async () => {
    openPage("/inbox", { question: true, role: "viewer" });
    expect(await screen.findByText(/^A viewer can look/)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Add a reason" })).toBeNull();
    expect(document.title).toBe("Inbox - Starloom");
    expect(document.querySelector(".badge")).toBeNull();
  });

  it("is answered after a new sign-in by whoever has a newer role", async () => {
    openPage("/inbox", { question: true, role: "viewer", personRole: "approver" });
    expect(await screen.findByText(/You may answer once you sign in again/)).toBeTruthy();
  });

  it("names the grants without which the plan would wait after an approval", async () => {
    const hub = openPage("/inbox");
    await screen.findByText("Nothing waits for you.");
    const line = "nas does not allow net:reach for fetch yet, so it waits there after the answer";
    hub.ungranted = [line];
    const question = { id: "plan", kind: "approval", opened_ms: hub.now(), text: "Run it?" };
    act(() => hub.publish(CONSTELLATION, "question_opened", { "question/plan": question }));
    const told = await screen.findByRole("list", { name: "Grants that are missing" });
    expect(told.textContent).toBe(line);
  });

  it("has a field for the reason that takes what is typed at once", async () => {
    openPage("/inbox", { question: true });
    await userEvent.click(await screen.findByRole("button", { name: "Add a reason" }));
    await userEvent.keyboard("ok von Jonas");
    expect((screen.getByRole("textbox", { name: "Reason" }) as HTMLInputElement).value).toBe("ok von Jonas");
    expect(location.pathname).toBe("/inbox");
  });
});
