/** The pages against the mock hub: what a person sees and does, and axe on each. */
import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openPage as open } from "../dev/openPage.tsx";
import { CONSTELLATION } from "../dev/scenario.ts";
import { readerTime } from "./model/words/clock.ts";

const INVITATION = {
  by: "mara",
  for: "anna",
  may: ["see devices, work, answers and logs", "answer questions and approvals"],
  role: "approver" as const,
  until: "2026-12-28T10:00:00Z",
};

async function faultsOfAxe(): Promise<string[]> {
  const found = await axe.run(document.body, {
    resultTypes: ["violations"],
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  return found.violations.map(
    (violation) => `${violation.id}: ${violation.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`,
  );
}

/** The visits that the browser keeps. The page notes one in an effect, which may run after the page is drawn. */
async function visitsNoted(): Promise<Record<string, unknown>[]> {
  return waitFor(() => {
    const visits = JSON.parse(localStorage.getItem("starloom.visits") ?? "[]");
    expect(visits).toHaveLength(1);
    return visits;
  });
}

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

describe("signing in", () => {
  it("says after a reload that the session was ended, and how to get a new link", async () => {
    open("/", { sessionEnded: true });
    expect((await screen.findByRole("alert")).textContent).toContain("Your sign-in was ended");
    expect(screen.getByText(/sign in by a new link/)).toBeTruthy();
    expect(screen.getByText("starloom open")).toBeTruthy();
    expect(screen.queryByText("This browser is not signed in.")).toBeNull();
  });

  it("says no more than the hub does of a page that lost its session", async () => {
    const hub = open("/");
    await screen.findByRole("region", { name: "Fleet" });
    hub.signedIn = false;
    await userEvent.click(screen.getAllByRole("link", { name: "Recipes" })[0] as HTMLElement);
    expect(await screen.findByText("This browser is not signed in.")).toBeTruthy();
    expect(screen.queryByText(/was ended/)).toBeNull();
  });

  it("says how to get a link when there is none", async () => {
    open("/", { signedIn: false });
    expect(await screen.findByText("starloom open")).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("takes the link out of the address and opens the page", async () => {
    const hub = open("/#/sign-in/abc.good", { signedIn: false });
    expect(await screen.findByRole("heading", { name: "Home" })).toBeTruthy();
    expect(location.hash).toBe("");
    const link = { body: { id: "abc", secret: "good" } };
    expect(hub.calls.slice(0, 2)).toMatchObject([
      { ...link, path: "/sign-in/terms" },
      { ...link, path: "/sign-in" },
    ]);
  });

  it("says what an invited person may do before the link is used", async () => {
    const hub = open("/#/sign-in/abc.good", { invitation: INVITATION, signedIn: false });
    expect(await screen.findByText("mara invites you to this hub as anna. You may:")).toBeTruthy();
    expect(screen.getByText("answer questions and approvals")).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
    expect(hub.calls.map(({ path }) => path)).toEqual(["/sign-in/terms"]);
    await userEvent.click(screen.getByRole("button", { name: "Sign in as anna" }));
    expect(await screen.findByRole("heading", { name: "Home" })).toBeTruthy();
    expect(hub.calls.map(({ path }) => path)).toContain("/sign-in");
  });

  it("says that a link is not whole, in no words of a form", async () => {
    open("/#/sign-in/abc.long", { signedIn: false });
    expect((await screen.findByRole("alert")).textContent).toContain("This sign-in link is not complete");
    expect(screen.queryByText(/characters/)).toBeNull();
    expect(screen.queryByText("This browser is not signed in.")).toBeNull();
  });

  it("says that a used link is used", async () => {
    open("/#/sign-in/abc.old", { signedIn: false });
    expect(await screen.findByText(/unknown, used or too old/)).toBeTruthy();
  });
});

describe("Home", () => {
  it("tells somebody who comes back what changed, and somebody new nothing of it", async () => {
    open("/");
    await screen.findByRole("region", { name: "Fleet" });
    expect(screen.queryByRole("region", { name: "Since you were here" })).toBeNull();
    const [visit] = await visitsNoted();
    localStorage.setItem("starloom.visits", JSON.stringify([{ ...visit, seenMs: 1 }]));
    document.dispatchEvent(new Event("visibilitychange"));
    const since = await screen.findByRole("region", { name: "Since you were here" });
    expect(since.textContent).toMatch(/requests? (or more )?ended|began|devices? joined/);
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("tells each failed request once, also to somebody who comes back", async () => {
    const once = () => document.querySelectorAll('main a[href="/constellations/c-failed"]');
    open("/");
    await screen.findByText("Failed in the last day");
    expect(once()).toHaveLength(1);
    const [visit] = await visitsNoted();
    localStorage.setItem("starloom.visits", JSON.stringify([{ ...visit, seenMs: 1 }]));
    document.dispatchEvent(new Event("visibilitychange"));
    await screen.findByRole("region", { name: "Since you were here" });
    expect(once()).toHaveLength(1);
  });

  it("begins the list of constellations with the state that a link asks for", async () => {
    open("/constellations?state=failed");
    const state = (await screen.findByLabelText("State")) as HTMLSelectElement;
    expect(state.value).toBe("failed");
  });

  it("answers a question where it stands", async () => {
    const hub = open("/", { question: true });
    const text = await screen.findByText("There is little room on the server. Copy all the same?");
    const item = text.closest(".item") as HTMLElement;
    await userEvent.click(within(item).getByRole("button", { name: "Copy" }));
    await waitFor(() =>
      expect(screen.queryByText("There is little room on the server. Copy all the same?")).toBeNull(),
    );
    expect(hub.entities(CONSTELLATION).get("question/q1")?.answer).toBe("go");
    expect(await faultsOfAxe()).toEqual([]);
  });

  it.each(["/", `/constellations/${CONSTELLATION}`])(
    "marks at %s the answer after which files are gone",
    async (path) => {
      open(path, { question: true, takesAway: ["go"] });
      await waitFor(() => expect(screen.getByRole("button", { name: "Copy" }).className).toContain("bad"));
      expect(screen.getByRole("button", { name: "Stop" }).className).not.toContain("bad");
    },
  );

  it("shows a viewer the settings without asking for what is not theirs", async () => {
    const hub = open("/settings", { role: "viewer" });
    expect(await screen.findByText(/an owner sets the model and changes roles/)).toBeTruthy();
    expect(screen.queryByText("Sessions and tokens")).toBeNull();
    expect(document.querySelector(".problem")).toBeNull();
    expect(hub.calls.map((call) => call.path)).not.toContain("/tokens");
    expect(screen.getByRole("button", { name: "Sign out" }).getAttribute("aria-disabled")).toBeNull();
  });

  it("offers a viewer nothing that the hub would refuse", async () => {
    open("/", { question: true, role: "viewer" });
    const answer = await screen.findByRole("button", { name: "Copy" });
    for (const button of [answer, screen.getByRole("button", { name: /^New request/ })]) {
      expect(button.getAttribute("aria-disabled")).toBe("true");
      expect(button.title).toMatch(/^A viewer can look/);
    }
  });

  it("tells a viewer beside the field of Home why nothing can be started", async () => {
    open("/", { role: "viewer" });
    const field = await screen.findByRole("textbox", { name: "What should happen?" });
    expect(document.getElementById(field.getAttribute("aria-describedby") ?? "")?.textContent).toMatch(/^A viewer can/);
    await screen.findByRole("region", { name: "Fleet" });
    expect(screen.queryByRole("link", { name: "how are my machines" })).toBeNull();
  });

  it("offers a viewer no change of a schedule", async () => {
    open("/schedules", { role: "viewer" });
    await screen.findByText("Nightly backup");
    for (const name of ["Change...", "Remove", "Pause", "Run now"]) {
      expect(screen.getByRole("button", { name }).getAttribute("aria-disabled")).toBe("true");
    }
    for (const button of screen.getAllByRole("button", { name: "New schedule" })) {
      expect(button.getAttribute("aria-disabled")).toBe("true");
    }
  });

  it("finds a button of the constellation by its name, with its dots", async () => {
    open("/constellations/c-done");
    await screen.findByRole("button", { name: "Repeat..." });
    await userEvent.keyboard("{Control>}k{/Control}");
    await userEvent.type(screen.getByRole("combobox", { hidden: true }), "Repeat...");
    await userEvent.click(await screen.findByRole("option", { hidden: true, name: /^DoRepeat/ }));
    expect(await screen.findByRole("dialog", { name: /^Repeat / })).toBeTruthy();
  });

  it("keeps no place among the buttons of a finished run for one that it does not have", async () => {
    open("/constellations/c-done");
    await screen.findByRole("button", { name: "Repeat..." });
    expect(document.querySelectorAll(".act:empty")).toHaveLength(0);
  });

  it("finds a device by its name before the constellations that ran on it", async () => {
    open("/");
    await screen.findByRole("region", { name: "Fleet" });
    await userEvent.keyboard("{Control>}k{/Control}");
    await userEvent.type(screen.getByRole("combobox", { hidden: true }), "phone");
    const groups = () =>
      screen.getAllByRole("option", { hidden: true }).map((one) => one.firstElementChild?.textContent);
    await waitFor(() => expect(groups()).toContain("Constellation"));
    expect(groups()[0]).toBe("Device");
  });

  it("offers a first request when nothing has run", async () => {
    open("/", { empty: true });
    expect(await screen.findByText("Nothing has run yet.")).toBeTruthy();
    expect(await screen.findByText("No device yet.")).toBeTruthy();
    // Words that no device can carry out would be the wrong first step.
    expect(screen.getByRole("link", { name: "Add your first device" }).getAttribute("href")).toBe("/devices?add=1");
    const start = await screen.findByRole("region", { name: "Start here" });
    expect(
      within(start)
        .getByRole("link", { name: /Add a phone/ })
        .getAttribute("href"),
    ).toContain("way=phone");
    expect(within(start).getByRole("link", { name: /how are my machines/ })).toBeTruthy();
    const next = await screen.findByRole("region", { name: "Scheduled next" });
    expect(within(next).getByText("Nightly backup")).toBeTruthy();
    const at = readerTime("2026-03-29T02:30:00+01:00", "Europe/Berlin");
    expect(within(next).getByText(at.text)).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });
});

describe("A thing that the hub does not have", () => {
  it.each([
    ["/recipes/nope", "The hub knows no recipe nope.", "all recipes", "/recipes"],
    ["/devices/d-nope", "There is no such device in the fleet.", "all devices", "/devices"],
  ])("at %s is said, with the way to all of them", async (path, title, words, all) => {
    open(path);
    expect(await screen.findByText(title)).toBeTruthy();
    expect(screen.getByRole("link", { name: words }).getAttribute("href")).toBe(all);
    expect(screen.queryByRole("alert")).toBeNull();
  });
});

describe("Constellation", () => {
  it("lists what is stuck first and opens it with the error on top", async () => {
    open(`/constellations/${CONSTELLATION}?lens=list`);
    await screen.findByRole("button", { name: /^send\.3/ });
    const rows = within(screen.getByRole("list", { name: "Tasks" })).getAllByRole("button");
    expect(rows[0]?.textContent).toContain("send.3");
    await userEvent.click(rows[0] as HTMLElement);
    const inspector = await screen.findByRole("complementary", { name: "Task send.3" });
    expect(within(inspector).getByLabelText("What is wrong").textContent).toContain("has not answered for");
    expect(location.pathname).toBe(`/constellations/${CONSTELLATION}/t/send.3`);
    expect(await within(inspector).findByText(/send.3 waits for demo-phone/)).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("moves with j and k and closes with Escape", async () => {
    open(`/constellations/${CONSTELLATION}?lens=list`);
    await screen.findByRole("list", { name: "Tasks" });
    await userEvent.keyboard("jj");
    await waitFor(() => expect(location.pathname).toMatch(/\/t\/send\.4$/));
    await userEvent.keyboard("k{Escape}");
    await waitFor(() => expect(location.pathname).toBe(`/constellations/${CONSTELLATION}`));
  });

  it("draws events as they come", async () => {
    const hub = open(`/constellations/${CONSTELLATION}?lens=list`);
    await screen.findByRole("list", { name: "Tasks" });
    act(() =>
      hub.publish(CONSTELLATION, "answer", {
        answer: { items: [{ show: "value", task: "scan", title: "A new part", value: "7" }], state: "partial" },
      }),
    );
    const chip = await screen.findByRole("button", { name: /A new part/ });
    // Its sentence is of this moment, not of the answer's.
    expect(document.querySelector(".answer .sentence")?.textContent).toMatch(/: \d+ of \d+ tasks done so far/);
    await userEvent.click(chip);
    expect(location.search).toContain("answer=scan");
    expect(within(await screen.findByRole("region", { name: "Result" })).getByText("7")).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("has an address for each part of its answer", async () => {
    const hub = open(`/constellations/${CONSTELLATION}/answer/scan`);
    expect(await screen.findByText("The answer has no such part.")).toBeTruthy();
    act(() =>
      hub.publish(CONSTELLATION, "answer", {
        answer: { items: [{ show: "text", task: "scan", title: "Words", value: '"well"' }], state: "partial" },
      }),
    );
    expect(await screen.findByText("well")).toBeTruthy();
    expect(await screen.findByRole("heading", { name: "Words", level: 1 })).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("retries the failed task and pauses by their buttons", async () => {
    const hub = open("/constellations/c-failed/t/send.3?lens=list");
    const inspector = await screen.findByRole("complementary", { name: "Task send.3" });
    expect(within(inspector).getByRole("button", { name: "Cancel task" }).getAttribute("aria-disabled")).toBe("true");
    expect(
      within(inspector).getByRole("button", { name: "Go on without it" }).getAttribute("aria-disabled"),
    ).toBeNull();
    await userEvent.click(within(inspector).getByRole("button", { name: "Retry" }));
    await waitFor(() =>
      expect(hub.calls.map((call) => call.path)).toContain("/constellations/c-failed/tasks/send.3/retry"),
    );
  });

  it("names the tasks that a retry would repeat, and sends their names once it is confirmed", async () => {
    const hub = open("/constellations/c-failed/t/send.3?lens=list");
    hub.repeats = ["send.3", "send, all"];
    const inspector = await screen.findByRole("complementary", { name: "Task send.3" });
    await userEvent.click(within(inspector).getByRole("button", { name: "Retry" }));
    const dialog = await screen.findByRole("dialog");
    expect(
      within(dialog)
        .getAllByRole("listitem")
        .map((one) => one.textContent),
    ).toEqual(["send.3", "send, all"]);
    await userEvent.click(within(dialog).getByRole("button", { name: "Run 2 tasks again" }));
    await waitFor(() =>
      expect(hub.calls.filter((call) => call.path.endsWith("/send.3/retry")).map((call) => call.body)).toEqual([
        {},
        { confirm: ["send.3", "send, all"] },
      ]),
    );
  });

  it("asks before it cancels", async () => {
    const hub = open(`/constellations/${CONSTELLATION}?lens=list`);
    await userEvent.click(await screen.findByRole("button", { name: "Cancel" }));
    const path = `/constellations/${CONSTELLATION}/cancel`;
    expect(hub.calls.map((call) => call.path)).not.toContain(path);
    await userEvent.click(
      within(await screen.findByRole("dialog")).getByRole("button", { name: "Cancel the constellation" }),
    );
    await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain(path));
  });

  it("says that it does not exist, and offers the way to all", async () => {
    open("/constellations/nope");
    expect(await screen.findByText("The hub knows no constellation nope.")).toBeTruthy();
  });
});

describe("New request", () => {
  it("previews words as one types and launches what was shown", async () => {
    const hub = open("/new");
    await userEvent.click(await screen.findByRole("textbox"));
    await userEvent.paste("Back up the pictures of my phone to the server");
    expect(await screen.findByText("What will run")).toBeTruthy();
    expect(screen.getByText("photo-backup")).toBeTruthy();
    expect(screen.getByText("starloom-agent grant files:write ~/Desktop/Pictures")).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    await waitFor(() => expect(location.pathname).toBe(`/constellations/${CONSTELLATION}`));
    expect(hub.calls.find((call) => call.method === "POST" && call.path === "/constellations")?.body).toEqual({
      able: false,
      plan_hash: "8c1f",
      request: "Back up the pictures of my phone to the server",
    });
  });

  it("asks for the preview of an address once, although the link says everything anew when it is up", async () => {
    const hub = open("/new?q=Back%20up%20the%20pictures%20of%20my%20phone%20to%20the%20server");
    const fetched = globalThis.fetch;
    vi.stubGlobal("fetch", async (input: string, init?: RequestInit) => {
      // The link is up after the page has begun to read.
      if (input.endsWith("/live/tickets")) {
        await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain("/recipes"));
      }
      return fetched(input, init);
    });
    await screen.findByText("Live");
    await screen.findByText("What will run");
    expect(hub.calls.filter((call) => call.path === "/constellations/preview")).toHaveLength(1);
  });

  it("opens what was understood in rows with its values, and goes back to the words", async () => {
    open("/new?q=Back%20up%20the%20pictures%20of%20my%20phone%20to%20the%20server");
    await userEvent.click(await screen.findByRole("button", { name: "Change it in rows" }));
    await waitFor(() => expect(screen.getByRole("tab", { name: "Build" }).getAttribute("aria-selected")).toBe("true"));
    const values = new URLSearchParams(location.search).get("values");
    expect(JSON.parse(values ?? "null")).toMatchObject({ folder: "Pictures", source: { name: "demo-phone" } });
    act(() => history.back());
    expect(
      ((await screen.findByRole("textbox", { name: "What should happen?" })) as HTMLTextAreaElement).value,
    ).toMatch(/^Back up the pictures/);
  });

  it("answers what if a device were missing, with the chance of a deadline, and starts nothing", async () => {
    const hub = open("/new?q=Back%20up%20the%20pictures%20of%20my%20phone%20to%20the%20server");
    await userEvent.click(await screen.findByText("What if a device were missing, or there were one more"));
    await userEvent.selectOptions(screen.getByLabelText("Device"), "demo-server");
    const deadline = screen.getByLabelText("Deadline in seconds");
    await userEvent.type(deadline, "soon");
    expect(screen.getByRole("button", { name: "Estimate" }).getAttribute("aria-disabled")).toBe("true");
    await userEvent.clear(deadline);
    await userEvent.type(deadline, "45{Enter}");
    expect(await screen.findByText("about 40 s (25 s to 50 s); within 45 s with 84 % (78-88)")).toBeTruthy();
    expect(screen.getByText("Without demo-server")).toBeTruthy();
    expect(screen.getByText("It would take about 30 s longer.")).toBeTruthy();
    expect(hub.calls.find((call) => call.path === "/what-if")?.body).toMatchObject({
      without: ["demo-server"],
      within_s: 45,
    });
    expect(hub.calls.some((call) => call.method === "POST" && call.path === "/constellations")).toBe(false);
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("says of words that the hub cannot be reached, and nothing of what they mean", async () => {
    open("/new");
    const box = await screen.findByRole("textbox");
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await userEvent.click(box);
    await userEvent.paste("how are my machines");
    expect((await screen.findByRole("alert")).textContent).toContain("The hub cannot be reached.");
    expect(screen.queryByText(/No recipe fits/)).toBeNull();
    expect(screen.queryByText(/the reason stands above/)).toBeNull();
    expect(document.body.textContent).not.toContain("/constellations/preview");
    expect(screen.getByRole("button", { name: /^Launch/ }).getAttribute("aria-disabled")).toBe("true");
  });

  it("says of words that a fault of the hub kept it from reading them, and nothing of what they mean", async () => {
    open("/new");
    const box = await screen.findByRole("textbox");
    const fetched = globalThis.fetch;
    vi.stubGlobal("fetch", (input: string, init?: RequestInit) =>
      input.endsWith("/constellations/preview")
        ? Promise.resolve(Response.json({ code: "internal", title: "The hub has a fault" }, { status: 500 }))
        : fetched(input, init),
    );
    await userEvent.click(box);
    await userEvent.paste("how are my machines");
    expect((await screen.findByRole("alert")).textContent).toContain("The hub has a fault");
    expect(screen.queryByText(/No recipe fits/)).toBeNull();
    expect(screen.queryByText(/the reason stands above/)).toBeNull();
    expect(screen.getByRole("button", { name: /^Launch/ }).getAttribute("aria-disabled")).toBe("true");
  });

  it("does not launch a plan that no device can ever begin, and says why with the way out", async () => {
    const hub = open("/new");
    const why = "list can never begin: demo-phone does not offer fs.find. Name another device: demo-server.";
    const fetched = globalThis.fetch;
    vi.stubGlobal("fetch", async (input: string, init?: RequestInit) => {
      const answer = await fetched(input, init);
      return input.endsWith("/constellations/preview")
        ? Response.json({ ...((await answer.json()) as object), may_not: why })
        : answer;
    });
    await userEvent.click(await screen.findByRole("textbox"));
    await userEvent.paste("Back up the pictures of my phone to the server");
    expect(await screen.findByText(why)).toBeTruthy();
    expect(screen.getByRole("button", { name: /^Launch/ }).getAttribute("aria-disabled")).toBe("true");
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    expect(hub.calls.some((call) => call.method === "POST" && call.path === "/constellations")).toBe(false);
  });

  it("starts nothing on a near match, and runs the hash once its slots are filled", async () => {
    const hub = open("/new?q=back%20up%20something");
    await screen.findByText("Did you mean");
    expect(screen.getByRole("button", { name: /^Launch/ }).getAttribute("aria-disabled")).toBe("true");
    const form = screen.getByRole("button", { name: "Use this" }).closest("form") as HTMLElement;
    await within(form).findAllByRole("option", { name: "demo-server" });
    await userEvent.selectOptions(within(form).getByLabelText("the device to copy from"), "demo-phone");
    await userEvent.selectOptions(within(form).getByLabelText("the device to copy to"), "demo-server");
    await userEvent.click(within(form).getByRole("button", { name: "Use this" }));
    await screen.findByText("What will run");
    await waitFor(() =>
      expect(screen.getByRole("button", { name: /^Launch/ }).getAttribute("aria-disabled")).toBeNull(),
    );
    await userEvent.click(screen.getByRole("button", { name: /^Launch/ }));
    await waitFor(() =>
      expect(hub.calls.find((call) => call.method === "POST" && call.path === "/constellations")?.body).toMatchObject({
        params: { source: { name: "demo-phone" }, target: { name: "demo-server" } },
        plan_hash: "8c1f",
        recipe: "photo-backup",
      }),
    );
  });

  it("says why a value of a near match is missing", async () => {
    open("/new?q=back%20up%20something");
    expect(await screen.findByText("the device to copy to: there is no device like toaster")).toBeTruthy();
  });

  it("answers a greeting with requests that work here", async () => {
    open("/new?q=hello");
    await userEvent.click(
      await screen.findByRole("button", { name: "back up the pictures of demo-phone to demo-server" }),
    );
    expect(await screen.findByText("What will run")).toBeTruthy();
  });

  it("lets the model plan words that no recipe fits, where one is set", async () => {
    const hub = open("/new?q=sing%20by%20the%20model");
    await userEvent.click(await screen.findByRole("button", { name: /^Have the model plan it/ }));
    await waitFor(() => expect(location.pathname).toBe(`/constellations/${CONSTELLATION}`));
    expect(hub.calls.find((call) => call.method === "POST" && call.path === "/constellations")?.body).toEqual({
      able: false,
      request: "sing by the model",
    });
  });

  it("shows every fault of a pasted plan in its row, with the change that mends it", async () => {
    open("/new?way=build");
    // The editor is loaded on need, which takes a while the first time.
    await userEvent.click(await screen.findByRole("tab", { name: "Text" }, { timeout: 8000 }));
    const text = screen.getByRole("textbox", { name: "Plan, as YAML or JSON" });
    await userEvent.clear(text);
    await userEvent.click(text);
    await userEvent.paste("tasks: [{id: a, tol: fs.find}, {id: a, tool: fs.find}]");
    await userEvent.click(screen.getByRole("tab", { name: "Rows" }));
    expect(await screen.findByText("this field does not exist here.")).toBeTruthy();
    expect(screen.getByText("two tasks have the id a.")).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
    await userEvent.click(screen.getByRole("button", { name: "Call it tool" }));
    // The faults are those of the document before until the hub has looked at the new one; their buttons go with them.
    await waitFor(() => expect(screen.queryByText("this field does not exist here.")).toBeNull());
    await userEvent.click(await screen.findByRole("button", { name: "Give it another name" }));
    await userEvent.click(screen.getByRole("tab", { name: "Text" }));
    const written = screen.getByRole("textbox", { name: "Plan, as YAML or JSON" }) as HTMLTextAreaElement;
    expect(written.value).toContain("tool: fs.find");
    expect(written.value).toContain("id: a-2");
  });
});

describe("Fleet", () => {
  it("adds a device: line, words, approved, ready", async () => {
    const hub = open("/devices?add=1");
    expect(await screen.findByText(/python3 join.py/)).toBeTruthy();
    act(() => hub.knock());
    expect(await screen.findByText("amber bridge cedar delta ember fjord")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Same, approve" }));
    expect(await screen.findByText(/in the fleet/)).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("renames and drains a device", async () => {
    const hub = open("/devices?device=d-server");
    const sheet = await screen.findByRole("complementary", { name: "Device demo-server" });
    const name = within(sheet).getByLabelText("Name");
    await userEvent.clear(name);
    await userEvent.type(name, "cellar");
    await userEvent.click(within(sheet).getByRole("button", { name: "Rename" }));
    await waitFor(() => expect(hub.entities("fleet").get("device/d-server")?.name).toBe("cellar"));
    await userEvent.click(await screen.findByRole("button", { name: "Drain..." }));
    await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Drain" }));
    expect(await screen.findByRole("button", { name: "Take work again" })).toBeTruthy();
    expect(screen.getByText(/It drains: it gets no new work/)).toBeTruthy();
  });

  it("shows each device alive, and leaves open what was not heard", async () => {
    open("/fleet"); // as the menu calls it
    const row = (await screen.findByText("demo-server")).closest("tr") as HTMLElement;
    const load = await within(row).findByRole("img", { name: /^Load \d+ %, from \d+ % to \d+ % in 60 min/ });
    expect(load.getAttribute("aria-label")).toContain("nothing was heard for 10 min of it");
    expect(load.querySelectorAll("polyline")).toHaveLength(2);
    expect(within(row).getByRole("link", { name: "5 today, 1 failed" })).toBeTruthy();
    const other = screen.getByText("demo-phone").closest("tr") as HTMLElement;
    expect(within(other).getByRole("img", { name: /^Load/ }).querySelectorAll("polyline")).toHaveLength(1);
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("gives each device a page with its lines, their table, its rights in words and its controls", async () => {
    const hub = open("/devices/d-server");
    expect(await screen.findByRole("heading", { name: "demo-server" })).toBeTruthy();
    const hour = await screen.findByRole("region", { name: "The last hour" });
    expect(await within(hour).findByRole("img", { name: /^Calls: 2 calls, 1 failed/ })).toBeTruthy();
    expect(within(hour).getAllByRole("img")).toHaveLength(4);
    expect(within(hour).getByText(/^Shaded: away \d\d:\d\d to \d\d:\d\d \(10 min 00 s\)\. Red line/)).toBeTruthy();
    await userEvent.click(within(hour).getByText("As a table"));
    expect(within(hour).getAllByRole("row").length).toBeGreaterThan(8);
    const calls = within(hour).getByRole("table", { name: "Calls of the last hour" });
    expect(within(calls).getByText("failed after 3 min 00 s")).toBeTruthy();
    expect(within(calls).getByRole("link", { name: "send.3" })).toBeTruthy();
    const rights = screen.getByRole("region", { name: "What it may do" });
    expect(within(rights).getByText(/starloom-agent policy/)).toBeTruthy();
    expect(within(screen.getByRole("region", { name: "Today" })).getByText("4 done, 1 failed")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Drain..." }));
    await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Drain" }));
    await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain("/devices/d-server/drain"));
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("shows any moment of the hour by keyboard, and a stretch of it and back", async () => {
    open("/devices/d-server");
    const moment = await screen.findByRole("slider", { name: "Moment of the last hour" });
    const span = () => Number(moment.getAttribute("max")) - Number(moment.getAttribute("min"));
    const whole = span();
    expect(moment.getAttribute("aria-valuetext")).toMatch(/^\d\d:\d\d:\d\d: Load \d+ %, Memory \d+ %, Latency \d ms/);
    const ago = (minutes: number) => String(Number(moment.getAttribute("max")) - minutes * 60_000);
    fireEvent.change(moment, { target: { value: ago(10) } });
    expect(moment.getAttribute("aria-valuetext")).toContain("send.3 failed after 3 min 00 s");
    fireEvent.change(moment, { target: { value: ago(25) } });
    expect(moment.getAttribute("aria-valuetext")).toContain("Load not heard, Memory not heard");
    await userEvent.click(screen.getByRole("button", { name: "Zoom in" }));
    expect(span()).toBeLessThan(whole * 0.6);
    await userEvent.click(screen.getByRole("button", { name: "Whole hour" }));
    expect(span()).toBe(whole);
    fireEvent.keyDown(moment, { key: "Escape" });
    expect(Number((moment as HTMLInputElement).value)).toBe(Number(moment.getAttribute("max")));
    expect(await faultsOfAxe()).toEqual([]);
  });

  it("says that an address is of no device here", async () => {
    open("/devices/d-nobody");
    expect(await screen.findByText("There is no such device in the fleet.")).toBeTruthy();
  });

  it("says why a device is set aside, and stops everything with the confirmations of each device", async () => {
    const hub = open("/devices?device=d-server");
    await screen.findByRole("complementary", { name: "Device demo-server" });
    const held = hub.entities("fleet").get("device/d-server") ?? {};
    const aside = { ...held, aside: "6 of its tasks failed", quarantined: true };
    act(() => hub.publish("fleet", "device_quarantined", { "device/d-server": aside }));
    expect(await screen.findByText(/It is set aside: 6 of its tasks failed/)).toBeTruthy();
    expect(screen.getByRole("button", { name: "Take work again" })).toBeTruthy();
    act(() => history.pushState(null, "", "/devices?stop=1"));
    await userEvent.click(
      within(await screen.findByRole("dialog", { name: "Stop everything" })).getByRole("button", {
        name: "Let it run",
      }),
    );
    expect(location.search).toBe("");
    await userEvent.click(screen.getByRole("button", { name: "Stop everything" }));
    const asking = await screen.findByRole("dialog", { name: "Stop everything" });
    expect(asking.textContent).not.toContain("schedule");
    const saved = { name: "Nightly backup", author: "person:ann", owner: "ann", cron: "@daily", zone: "UTC" };
    act(() =>
      hub.publish("fleet", "schedule_saved", {
        "schedule/s-1": { ...saved, id: "s-1", state: "active" },
        "schedule/s-2": { ...saved, id: "s-2", state: "active" },
        "schedule/s-3": { ...saved, id: "s-3", state: "paused" },
      }),
    );
    await waitFor(() => expect(asking.textContent).toContain("2 schedules go on; pause them in Schedules."));
    await userEvent.click(within(asking).getByRole("button", { name: "Stop everything" }));
    const told = await screen.findByRole("region", { name: "Stop everything" });
    expect(within(told).getByText("Stopping: 1 of 2 devices confirmed")).toBeTruthy();
    expect(within(told).getByText("confirmed, 1 task ended")).toBeTruthy();
    expect(within(told).getByText("send.3")).toBeTruthy();
  });
});

describe("a restored history", () => {
  it("tells what a device remembers, until a person has seen it", async () => {
    const hub = open("/inbox");
    await screen.findByRole("heading", { name: "Inbox" });
    const held = hub.entities("fleet").get("device/d-server") ?? {};
    const remembering = { ...held, remembers: "it has begun 2 tasks that this history does not have" };
    act(() => hub.publish("fleet", "device_remembers", { "device/d-server": remembering }));
    expect(await screen.findByText(/demo-server remembers more than this history/)).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Seen" }));
    await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain("/devices/d-server/seen"));
  });
});

describe("everywhere", () => {
  it("opens by the key of the filter where nothing can be filtered", async () => {
    open("/");
    await screen.findByRole("region", { name: "Fleet" });
    await userEvent.keyboard("/");
    expect(await screen.findByRole("dialog", { name: "Search and do anything" })).toBeTruthy();
  });

  it("goes by keys, and the palette finds a place", async () => {
    open("/");
    await screen.findByRole("heading", { name: "Home" });
    await userEvent.keyboard("gf");
    await screen.findByRole("heading", { name: "Fleet" });
    await userEvent.keyboard("{Control>}k{/Control}");
    await userEvent.type(await screen.findByRole("combobox"), "sett{Enter}");
    expect(await screen.findByRole("heading", { name: "Settings" })).toBeTruthy();
    expect(await faultsOfAxe()).toEqual([]);
  });

  it.each([
    ["demo-serv", "Device", /^\/devices$/],
    ["contact sheet", "Recipe", /^\/recipes\/photo-backup$/],
    ["nightly", "Schedule", /^\/schedules$/],
    ["back up the pic", "Constellation", /^\/constellations\/c-/],
  ])("finds by %s a %s and opens it", async (words, group, where) => {
    open("/");
    await screen.findByRole("heading", { name: "Home" });
    await userEvent.keyboard("{Control>}k{/Control}");
    await userEvent.type(await screen.findByRole("combobox"), words);
    const [found] = await screen.findAllByRole("option", { name: new RegExp(`^${group}`) });
    expect(await faultsOfAxe()).toEqual([]);
    await userEvent.click(found as HTMLElement);
    await waitFor(() => expect(location.pathname).toMatch(where));
  });

  it("makes a request of words that nothing is called by", async () => {
    open("/");
    await screen.findByRole("heading", { name: "Home" });
    await userEvent.keyboard("{Control>}k{/Control}");
    await userEvent.type(await screen.findByRole("combobox"), "water the plants{Enter}");
    await waitFor(() => expect(location.pathname).toBe("/new"));
    expect(new URLSearchParams(location.search).get("q")).toBe("water the plants");
  });

  it("has schedules in its menu", async () => {
    open("/");
    const menu = await screen.findByRole("navigation", { name: "Main" });
    expect(within(menu).getByRole("link", { name: "Schedules" }).getAttribute("href")).toBe("/schedules");
  });
});
