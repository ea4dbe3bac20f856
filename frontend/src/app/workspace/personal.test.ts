// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";
import { keepDraft, keepSample, keptDraft, keptSample } from "../../features/rows/trials/memory.ts";
import { forgetEverywhere } from "./lastKnown.ts";
import { forgetPersonal, keepPersonal } from "./personal.ts";

const SAMPLE = { value: { text: "a private letter" }, device: "nas", atMs: 1 };

beforeEach(() => {
  localStorage.clear();
  localStorage.setItem("starloom.theme", "dark");
  keepPersonal("ann");
  keepDraft({ head: null, plan: { name: "Ann's plan" } });
  keepSample("fs.read", SAMPLE);
});

const isGone = () => {
  expect(keptDraft()).toBeNull();
  expect(keptSample("fs.read")).toBeNull();
  expect(JSON.stringify({ ...localStorage })).not.toContain("private");
  expect(localStorage.getItem("starloom.theme")).toBe("dark");
};

describe("drafts and outputs of tools in this browser", () => {
  it("stay for the person who made them", () => {
    keepPersonal("ann");
    expect(keptSample("fs.read")).toEqual(SAMPLE);
    expect(keptDraft()?.plan).toEqual({ name: "Ann's plan" });
  });

  it("go when their person signs out", () => {
    forgetEverywhere();
    isGone();
  });

  it("go when the session is over", () => {
    forgetPersonal();
    isGone();
  });

  it("go when another person is signed in", () => {
    keepPersonal("bob");
    isGone();
  });

  it("go when nobody knows whose they are", () => {
    localStorage.removeItem("starloom.rows.person");
    keepPersonal("ann");
    isGone();
  });
});
