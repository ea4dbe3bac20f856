// @vitest-environment jsdom
/** Texts that are not sent yet: after a reload, in two tabs at one place, and once they are sent. */
import { beforeEach, expect, it } from "vitest";
import { Kept } from "./drafts.ts";
import { forgetPersonal, keepPersonal } from "./personal.ts";

const open = () => new Kept<{ words: string }>("words");

/** Another tab of this browser: its session storage is its own. */
function otherTab<T>(run: () => T): T {
  const held = Object.entries({ ...sessionStorage });
  sessionStorage.clear();
  try {
    return run();
  } finally {
    sessionStorage.clear();
    for (const [key, value] of held) sessionStorage.setItem(key, value);
  }
}

/** Does something in another tab, of which `hearer` gets the news as a browser sends them. */
function heard(hearer: Kept<{ words: string }>, run: () => void): void {
  const before = { ...localStorage };
  run();
  const keys = new Set([...Object.keys(before), ...Object.keys({ ...localStorage })]);
  for (const key of keys) {
    const newValue = localStorage.getItem(key);
    if (newValue !== (before[key] ?? null)) hearer.hear(new StorageEvent("storage", { key, newValue }));
  }
}

beforeEach(() => keepPersonal("ann"));

it("is there after a reload, and gone once it is sent", () => {
  open().keep({ words: "back up everything" });
  expect(open().found?.words).toBe("back up everything");
  open().keep(null);
  expect(open().found).toBeNull();
});

it("is kept for each place apart", () => {
  new Kept("draft").keep({ words: "a plan" });
  new Kept("draft.recipe disk").keep({ words: "another" });
  expect(new Kept<{ words: string }>("draft").found?.words).toBe("a plan");
  expect(open().found).toBeNull();
});

it("leaves nothing behind at a place that is only looked at, or where nothing is left to send", () => {
  const before = Object.keys({ ...sessionStorage });
  open().keep({ words: "back up everything" });
  open().keep(null);
  new Kept("text.c.t.hint");
  expect(Object.keys({ ...sessionStorage })).toEqual(before);
});

it("is not touched by a tab that only opens its place", () => {
  open().keep({ words: "mine" });
  const before = JSON.stringify({ ...localStorage });
  expect(otherTab(() => open().found?.words)).toBe("mine");
  expect(JSON.stringify({ ...localStorage })).toBe(before);
});

it("stays its tab's own beside the text of another tab", () => {
  const one = open();
  one.keep({ words: "tab one" });
  heard(one, () => otherTab(() => open().keep({ words: "tab two" })));
  expect(open().found?.words, "tab one after a reload").toBe("tab one");
  one.keep(null);
  expect(open().found?.words, "the one that is left").toBe("tab two");
});

it("is taken over from a tab that is closed, so that one text stays one", () => {
  open().keep({ words: "of yesterday" });
  sessionStorage.clear();
  open().keep({ words: "of yesterday and today" });
  open().keep(null);
  sessionStorage.clear();
  expect(open().found).toBeNull();
});

it("stays its tab's own beside a copy of the tab, which has its session storage", () => {
  const one = open();
  one.keep({ words: "tab one" });
  heard(one, () => open().keep({ words: "the copy" }));
  expect(open().found?.words, "tab one after a reload").toBe("tab one");
});

it("waits while another text is written at its place", () => {
  open().keep({ words: "ten minutes of work" });
  const kept = open();
  kept.begin();
  kept.keep({ words: "how are my machines" });
  expect(open().found?.words).toBe("how are my machines");
  kept.keep(null);
  expect(open().found?.words).toBe("ten minutes of work");
});

it("is not put back by a tab that hears of a sign-out", () => {
  const one = open();
  one.keep({ words: "private" });
  heard(one, forgetPersonal);
  expect(JSON.stringify({ ...localStorage, ...sessionStorage })).not.toContain("private");
});

it("of an older page is found, and what cannot be read is not", () => {
  localStorage.setItem("starloom.rows.words", '{"words":"from before"}');
  localStorage.setItem("starloom.rows.words#x", "{");
  expect(open().found?.words).toBe("from before");
});
