import { describe, expect, it } from "vitest";
import type { RecipeRow } from "../../model/types.ts";
import { hasWords, sections, trialProgress, tryOf } from "./gallery.ts";

const row = (more: Partial<RecipeRow>): RecipeRow => ({
  name: "a",
  title: "A title",
  version: 1,
  phrases: [],
  params: {},
  asks_for: {},
  effects: [],
  built_in: true,
  clock: false,
  purpose: null,
  trust: null,
  demo: null,
  sentence: { words: "", parts: [], lacks: [], ungranted: [] },
  shape: { columns: 0, rows: 0, tasks: [], links: [] },
  ...more,
});

describe("sections", () => {
  it("puts one's own first, then the purposes in their order, then what has none", () => {
    const rows = [
      row({ name: "odd" }),
      row({ name: "up", purpose: "upkeep" }),
      row({ name: "safe", purpose: "backup" }),
      row({ name: "mine", built_in: false, purpose: "backup" }),
    ];
    expect(sections(rows).map((one) => [one.key, one.items.map((item) => item.name)])).toEqual([
      ["own", ["mine"]],
      ["backup", ["safe"]],
      ["upkeep", ["up"]],
      ["others", ["odd"]],
    ]);
  });
  it("has the recipes on trial apart, with how far they are", () => {
    const runs = { clean: 1, failed: 0, last_clean_at: null, last_clean: "", last_failed_at: null, last_failed: "" };
    const trust = {
      author: "person:ann",
      trial: true,
      in_a_row: 1,
      needed: 3,
      source: "c",
      went_back: "",
      back_from: 0,
      unread: false,
      runs,
    };
    const tried = row({ name: "tried", built_in: false, trust });
    const mine = row({ name: "mine", built_in: false, trust: { ...trust, trial: false } });
    const theirs = row({
      name: "theirs",
      built_in: false,
      trust: { ...trust, author: "assistant:helper#k", trial: false },
    });
    const found = sections([mine, theirs, tried]);
    expect(found.map((one) => [one.key, one.items.map((item) => item.name)])).toEqual([
      ["trial", ["tried"]],
      ["own", ["mine"]],
      ["assistant", ["theirs"]],
    ]);
    expect([trialProgress(tried), trialProgress(row({}))]).toEqual(["1 of 3 clean runs", ""]);
  });
  it("has no empty section", () => expect(sections([])).toEqual([]));
});

describe("hasWords", () => {
  const found = row({ sentence: { words: "copy Documents of wolke7", parts: [], lacks: [], ungranted: [] } });
  it("finds every word anywhere, also the names of devices in the sentence", () => {
    expect(hasWords(found, "WOLKE7 title")).toBe(true);
    expect(hasWords(found, "wolke7 nas")).toBe(false);
    expect(hasWords(found, "  ")).toBe(true);
  });
});

describe("tryOf", () => {
  const demo = { words: "how is demo-server", devices: ["demo-server"], leaves: "Nothing." };
  it("is not offered where a recipe is not made for it", () => {
    expect(tryOf(row({ demo: null }), { all: 2, online: 2 })).toBeNull();
  });
  it("has the words while the devices are there", () => {
    expect(tryOf(row({ demo }), { all: 2, online: 2 })).toEqual({ words: "how is demo-server", why: null });
  });
  it.each([
    [{ all: 0, online: 0 }, /no demo devices.*`starloom up --demo`/],
    [{ all: 2, online: 0 }, /not running.*`starloom up --demo`/],
    [{ all: 2, online: 1 }, /do not offer/],
  ])("says how to have them: %o", (demos, why) => {
    expect(tryOf(row({ demo: { ...demo, words: "" } }), demos)?.why).toMatch(why);
  });
});
