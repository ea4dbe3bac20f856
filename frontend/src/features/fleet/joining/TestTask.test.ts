import { expect, test } from "vitest";
import type { Offer } from "../../../model/types.ts";
import { isLoopback } from "./JoinWays.tsx";
import { facts, trialOf } from "./TestTask.tsx";

const offer = (...tools: [string, string?][]): Offer =>
  ({
    digest: "d",
    tools: tools.map(([name, unavailable]) => ({ name, title: name, unavailable })),
  }) as unknown as Offer;

test("only a tool that looks and asks nobody is tried", () => {
  expect(trialOf(offer(["ask"], ["system.info"], ["notify"]))?.tool).toBe("system.info");
  expect(trialOf(offer(["system.info", "no shell here"], ["notify"]))?.tool).toBe("notify");
  expect(trialOf(offer(["camera.capture"], ["ask"]))).toBeNull();
});

test("a result's plain values are told a line each, bytes in words", () => {
  expect(facts({ cpus: 2, disk_free_bytes: 2_000_000_000, nested: { a: 1 } })).toMatch(/^cpus: 2\ndisk_free: 2/);
  expect(facts(null)).toBe("");
});

test("what only this computer reaches is known by its address", () => {
  for (const url of ["http://127.0.0.1:8470", "http://localhost:8470", "http://[::1]:8470"])
    expect(isLoopback(url)).toBe(true);
  for (const url of ["https://192.168.1.4:8471", "https://localhost.example.org"]) expect(isLoopback(url)).toBe(false);
});
