// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keepSample, keptSample } from "../../features/rows/trials/memory.ts";
import { Kept } from "./drafts.ts";
import { forgetEverywhere } from "./lastKnown.ts";
import { forgetOutputs, keepPersonal } from "./personal.ts";

const CALL = '{"tool":"fs.read"}';
const keepDraft = (draft: object) => new Kept("draft").keep(draft);
const keptDraft = () => new Kept<{ plan: object }>("draft").found;
const keepLiveDraft = (id: string, draft: object) => new Kept(`live.${id}`).keep(draft);
const keptLiveDraft = (id: string) => new Kept(`live.${id}`).found;
const SAMPLE = { value: { text: "a private letter" }, device: "nas", atMs: Date.now() };

beforeEach(() => {
  localStorage.setItem("starloom.theme", "dark");
  keepPersonal("ann");
  keepDraft({ head: null, plan: { name: "Ann's plan" } });
  keepSample("fs.read", CALL, SAMPLE);
});

const isGone = () => {
  expect(keptDraft()).toBeNull();
  expect(keptSample("fs.read", CALL)).toBeNull();
  expect(JSON.stringify({ ...localStorage })).not.toContain("private");
  expect(localStorage.getItem("starloom.theme")).toBe("dark");
};

describe("drafts and outputs of tools in this browser", () => {
  it("stay for the person who made them", () => {
    keepPersonal("ann");
    expect(keptSample("fs.read", CALL)).toEqual(SAMPLE);
    expect(keptDraft()?.plan).toEqual({ name: "Ann's plan" });
  });

  it("are real for the call that made them alone, and an example for another one", () => {
    expect(keptSample("fs.read", "another call")).toEqual({ ...SAMPLE, device: "", atMs: 0 });
  });

  it("go when their person signs out", () => {
    forgetEverywhere();
    isGone();
  });

  it("wait for their person when the session is over, without what tools gave", () => {
    forgetOutputs();
    expect(keptSample("fs.read", CALL)).toBeNull();
    expect(JSON.stringify({ ...localStorage })).not.toContain("private");
    keepPersonal("ann");
    expect(keptDraft()?.plan).toEqual({ name: "Ann's plan" });
  });

  it("go when another person is signed in", () => {
    keepPersonal("bob");
    isGone();
  });

  it("of words alone wait for their person while another one is signed in, who has none of them", () => {
    const words = () => new Kept<{ words: string }>("words").found?.words ?? null;
    new Kept("words").keep({ words: "tidy my letters" });
    keepPersonal("bob");
    isGone();
    expect(words()).toBeNull();
    new Kept("words").keep({ words: "of bob" });
    keepPersonal("ann");
    expect([words(), keptDraft(), keptSample("fs.read", CALL)]).toEqual(["tidy my letters", null, null]);
    forgetEverywhere();
    expect(JSON.stringify({ ...localStorage })).not.toContain("letters");
    keepPersonal("bob");
    expect(words()).toBe("of bob");
  });

  it("of words go where many people have signed in since", () => {
    new Kept("words").keep({ words: "tidy my letters" });
    for (const person of ["b", "c", "d", "e", "f", "g"]) {
      vi.setSystemTime(Date.now() + 1);
      keepPersonal(person);
      new Kept("words").keep({ words: `of ${person}` });
    }
    keepPersonal("ann");
    expect(new Kept("words").found).toBeNull();
  });

  it("are neither read nor written by a page of another person that still stands", () => {
    localStorage.setItem("starloom.rows.person", "bob");
    keepDraft({ plan: { name: "Typed by Ann a moment later" } });
    expect([keptDraft(), keptSample("fs.read", CALL)]).toEqual([null, null]);
    expect(JSON.stringify({ ...localStorage })).not.toContain("a moment later");
  });

  it("go when nobody knows whose they are", () => {
    localStorage.removeItem("starloom.rows.person");
    keepPersonal("ann");
    isGone();
  });
});

describe("what this browser keeps", () => {
  const DAY_MS = 24 * 3_600_000;
  const draft = { base: { plan: { name: "Run" }, version: 1 }, draft: { head: null, plan: { name: "Run 2" } } };
  const held = (prefix: string) =>
    Object.keys(localStorage).filter((key) => key.startsWith(`starloom.rows.${prefix}.`));
  beforeEach(() => void vi.useFakeTimers({ now: 100 * DAY_MS }));
  afterEach(() => void vi.useRealTimers());

  it("has a bound for each kind; the oldest go first", () => {
    for (let number = 0; number < 200; number++) {
      vi.setSystemTime(100 * DAY_MS + number);
      keepLiveDraft(`c-${number}`, draft);
      keepSample(`t.${number}`, CALL, { value: number, device: "nas", atMs: 100 * DAY_MS + number });
    }
    expect([held("live").length, held("sample").length]).toEqual([20, 40]);
    expect([keptLiveDraft("c-179"), keptSample("t.160", CALL)]).toEqual([null, null]);
    expect(keptLiveDraft("c-180")).toMatchObject(draft);
    expect(keptSample("t.161", CALL)?.value).toBe(161);
  });

  it("goes after a month in which nobody came back to it", () => {
    keepLiveDraft("c-old", draft);
    keepSample("t.old", CALL, { value: 1, device: "nas", atMs: 100 * DAY_MS });
    vi.setSystemTime(130 * DAY_MS);
    keepLiveDraft("c-new", draft);
    keepPersonal("ann");
    expect(keptLiveDraft("c-old")).toMatchObject(draft);
    vi.setSystemTime(131 * DAY_MS);
    keepPersonal("ann");
    expect([keptLiveDraft("c-old"), keptSample("t.old", CALL)]).toEqual([null, null]);
    expect(keptLiveDraft("c-new")).toMatchObject(draft);
    expect(keptDraft()?.plan).toEqual({ name: "Ann's plan" });
  });
});
