/** The lab in the page, against the mock hub: breaking, healing, the report, scenarios, and axe on each. */
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { MockHub, MockOptions } from "../../../dev/mockHub.ts";
import type { MockLab } from "../../../dev/mockLab.ts";
import { openPage } from "../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../dev/scenario.ts";

function open(path: string, options: MockOptions = { lab: true }): { hub: MockHub; lab: MockLab } {
  const hub = openPage(path, options);
  return { hub, lab: hub.lab as MockLab };
}

async function faultsOfAxe(): Promise<string[]> {
  const found = await axe.run(document.body, {
    resultTypes: ["violations"],
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  return found.violations.map(
    (violation) => `${violation.id}: ${violation.nodes.map((node) => node.html).join(" | ")}`,
  );
}

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

const button = (name: string | RegExp) => screen.findByRole("button", { name });
const press = async (name: string | RegExp) => userEvent.click(await button(name));

describe("breaking a device", () => {
  it("says what can be broken, and asks the lab for it", async () => {
    const { hub } = open("/devices?device=d-server");
    await press("Break something");
    const sheet = await screen.findByRole("dialog", { name: "Break something" });
    const choices = await within(sheet).findAllByRole("radio");
    expect(choices.map((choice) => (choice as HTMLInputElement).value)).toEqual([
      "device kill",
      "device freeze",
      "link cut",
    ]);
    await userEvent.click(within(sheet).getByRole("radio", { name: /Freeze its agent/ }));
    await userEvent.click(within(sheet).getByRole("tab", { name: "15 s" }));
    await userEvent.click(within(sheet).getByRole("button", { name: "Break it" }));
    expect(hub.calls.find((call) => call.method === "POST" && call.path === "/lab/faults")?.body).toEqual({
      device: "d-server",
      for_s: 15,
      kind: "freeze",
      target: "device",
    });
    expect(await within(sheet).findByText("Waits for the lab")).toBeTruthy();
  });

  it("shows how it stands, heals it, and tells what became of the work", { timeout: 30_000 }, async () => {
    const { hub, lab } = open("/lab");
    await button("Break something");
    act(() => {
      hub.answer("POST", "/api/v1/lab/faults", { device: "d-server", for_s: 15, kind: "freeze", target: "device" });
    });
    await press("Report on demo-server");
    const sheet = await screen.findByRole("dialog", { name: "Break something" });
    act(() => lab.began());
    expect(await within(sheet).findByText(/Broken, 1\d s left/)).toBeTruthy();
    expect(await within(sheet).findByText(/count: begun 2 times \(demo-server 2\)/)).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
    await userEvent.click(within(sheet).getByRole("button", { name: "Heal now" }));
    expect(await within(sheet).findByText("Being healed")).toBeTruthy();
    act(() => lab.over());
    expect((await within(sheet).findAllByText("Over")).length).toBeGreaterThan(0);
  });

  it("says why a device cannot be broken", async () => {
    const { lab } = open("/devices?device=d-server");
    lab.away = true;
    await press("Break something");
    expect(await screen.findByText(/demo-server cannot be broken: no program of the lab runs it now/)).toBeTruthy();
    expect((await button("Break it")).getAttribute("aria-disabled")).toBe("true");
  });

  it("shows a refusal where it was asked for", async () => {
    const { lab } = open("/devices?device=d-server");
    lab.refuses = "8 faults last already, which is the most";
    await press("Break something");
    await screen.findAllByRole("radio");
    await press("Break it");
    expect((await screen.findByRole("alert")).textContent).toContain("8 faults last already");
  });

  it("offers it for simulated devices only, and only where there is a lab", async () => {
    open("/devices?device=d-desktop");
    await button("Revoke");
    expect(screen.queryByRole("button", { name: "Break something" })).toBeNull();
  });

  it("offers nothing without the lab", async () => {
    open("/devices?device=d-server", {});
    await button("Revoke");
    expect(screen.queryByRole("button", { name: "Break something" })).toBeNull();
  });
});

describe("a constellation whose device is broken", () => {
  it("says so while it lasts, with the way out", { timeout: 30_000 }, async () => {
    const { hub, lab } = open(`/constellations/${CONSTELLATION}?lens=list`);
    await button("Break something");
    act(() => {
      hub.publish("fleet", "fault_asked", {
        "lab_fault/f1": {
          asked_ms: hub.now(),
          by: "person:mara",
          constellations: [CONSTELLATION],
          device: "d-server",
          for_ms: 5000,
          id: "f1",
          kind: "kill",
          target: "device",
        },
      });
      lab.began();
    });
    expect(await screen.findByText(/is broken on purpose: the agent is killed/)).toBeTruthy();
    await press("Heal now");
    expect(hub.calls.at(-1)).toMatchObject({ method: "DELETE", path: "/lab/faults/f1" });
    act(() => lab.over());
    await waitFor(() => expect(screen.queryByText(/is broken on purpose/)).toBeNull());
  });
});

describe("Lab", () => {
  it("runs a scenario, tells its story as it grows, and its verdict", { timeout: 30_000 }, async () => {
    const { lab } = open("/lab");
    await press("Run A cut link");
    expect((await screen.findAllByText("Starting its installation")).length).toBeGreaterThan(0);
    act(() => lab.show("running", { story: [{ at_s: 0.5, kind: "fault", text: "the link of north is cut" }] }));
    const story = await screen.findByRole("list", { name: "Story of A cut link" }, { timeout: 3000 });
    expect(story.textContent).toContain("the link of north is cut");
    expect((await button("Run A killed hub")).title).toBe("A cut link is running; one runs at a time.");
    act(() => lab.show("met", { effects: { strike: { north: 1 } }, end: "succeeded", took_s: 7.6 }));
    const run = screen.getByRole("region", { name: "Run of A cut link" });
    expect(await within(run).findByText("succeeded after 7.6 s, as expected.", {}, { timeout: 3000 })).toBeTruthy();
    expect(within(run).getByText("strike: begun once (north 1)")).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("tells every miss of a run that did not end as expected", { timeout: 30_000 }, async () => {
    const { lab } = open("/lab?run=cut-link:r1");
    const misses = ["it ended failed, expected succeeded", "count: begun 2 times (north 2)"];
    act(() => lab.show("not_met", { end: "failed", misses, took_s: 9 }));
    const run = await screen.findByRole("region", { name: "Run of A cut link" });
    for (const miss of misses) expect(await within(run).findByText(miss, {}, { timeout: 3000 })).toBeTruthy();
  });

  it("stops a run", async () => {
    const { hub, lab } = open("/lab?run=cut-link:r1");
    act(() => lab.show("running"));
    await press("Stop");
    expect(hub.calls.find((call) => call.method === "DELETE")?.path).toBe("/lab/scenarios/cut-link/runs/r1");
    expect((await screen.findAllByText("Stopped")).length).toBeGreaterThan(0);
  });

  it("is not there for a hub without one", async () => {
    open("/lab", {});
    expect(await screen.findByText("This hub was started without a lab.")).toBeTruthy();
  });

  it("is found in the settings", async () => {
    open("/settings");
    await userEvent.click(await screen.findByRole("link", { name: "Open the lab" }));
    expect(await screen.findByRole("heading", { name: "Lab" })).toBeTruthy();
    expect(await screen.findByText("Nothing has been broken yet.", { exact: false })).toBeTruthy();
  });
});
