/** Words of a request: kept until they are sent, and those of a link while the page stands. */
import { act, cleanup, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

const box = () => screen.findByRole<HTMLTextAreaElement>("textbox", { name: "What should happen?" });
const WORDS = "Back up the pictures of my phone to the server";

async function reload(path = location.pathname + location.search) {
  cleanup();
  return openPage(path);
}

it("are there after another page and after a reload, and gone once they are launched", async () => {
  openPage("/new");
  await userEvent.type(await box(), WORDS);
  await userEvent.click(within(screen.getByRole("navigation", { name: "Main" })).getByRole("link", { name: "Home" }));
  await screen.findByRole("heading", { name: "Home" });
  act(() => history.pushState(null, "", "/new"));
  expect((await box()).value).toBe(WORDS);
  await reload();
  expect((await box()).value).toBe(WORDS);
  const launch = await screen.findByRole("button", { name: /^Launch/ });
  await waitFor(() => expect(launch.getAttribute("aria-disabled")).toBeNull());
  await userEvent.click(launch);
  await waitFor(() => expect(location.pathname).toMatch(/^\/constellations\//));
  await reload("/new");
  expect((await box()).value).toBe("");
});

it("of the palette are in the box of this page at once, and what was typed before comes back after them", async () => {
  openPage("/new");
  await userEvent.type(await box(), "ten minutes of work");
  await userEvent.keyboard("{Control>}k{/Control}");
  await userEvent.type(await screen.findByRole("combobox", { name: /^Search/ }), "water the plants{Enter}");
  await waitFor(async () => expect((await box()).value).toBe("water the plants"));
  await userEvent.type(await box(), " now");
  await reload();
  expect((await box()).value).toBe("water the plants now");
  await userEvent.clear(await box());
  await reload("/new");
  expect((await box()).value).toBe("ten minutes of work");
});

const RHYTHM = {
  cron: "0 7 * * 1-5",
  except_days: "",
  in_words: "At 07:00 on weekdays",
  request: "how is demo-server",
};
const MEANT = { params: { where: { name: "demo-server" } }, recipe: "fleet-health", score: 1000, title: "How it is" };

it("with a rhythm are scheduled without a choice where just one recipe is meant and lacks nothing", async () => {
  for (const [candidates, ready] of [
    [[MEANT], true],
    [[{ ...MEANT, missing: [{ name: "where", title: "Where", type: "device" }] }], false],
    [[{ ...MEANT, unused: ["ask me first"] }], false],
    [[MEANT, { ...MEANT, recipe: "disk-space" }], false],
  ] as const) {
    openPage("/new");
    const fetched = globalThis.fetch;
    vi.stubGlobal("fetch", async (input: string, init?: RequestInit) =>
      input.endsWith("/constellations/preview")
        ? Response.json({ plan_hash: null, tasks: [], understood: { candidates, outcome: "near", rhythm: RHYTHM } })
        : fetched(input, init),
    );
    await userEvent.click(await box());
    await userEvent.paste("how is demo-server every weekday at 7");
    const schedule = await screen.findByRole("button", { name: "Schedule it..." });
    expect(schedule.getAttribute("aria-disabled") === null).toBe(ready);
    cleanup();
    vi.stubGlobal("fetch", fetched);
    localStorage.clear();
    sessionStorage.clear();
  }
});
