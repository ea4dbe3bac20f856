import { expect, test } from "vitest";
import { FAULT_KIND_WORDS, type LabFault } from "../../generated/protocol.ts";
import { BREAKINGS, begunLines, breakingTitle, faultShown } from "./lab.ts";

const fault = (more: Partial<LabFault> = {}): LabFault => ({
  asked_ms: 1000,
  by: "person:mara",
  device: "d-1",
  for_ms: 5000,
  id: "f",
  kind: "kill",
  target: "device",
  ...more,
});

test("every kind of fault that a device can have is told in plain words, once", () => {
  const told = new Set(BREAKINGS.map((one) => one.kind));
  expect([...told].sort()).toEqual([...FAULT_KIND_WORDS].sort());
  expect(new Set(BREAKINGS.map((one) => one.title)).size).toBe(BREAKINGS.length);
});

test("what the page does not offer is told by its names", () => {
  expect(breakingTitle("link", "cut")).toBe("Cut its link");
  expect(breakingTitle("hub", "kill")).toBe("hub kill");
});

test("where a fault stands, and how long it will be", () => {
  expect(faultShown(fault(), 1000).word).toBe("Waits for the lab");
  expect(faultShown(fault({ began_ms: 2000, state: "active" }), 3500).word).toBe("Broken, 4 s left");
  expect(faultShown(fault({ began_ms: 2000, state: "active" }), 9000).word).toBe("Broken, about to be healed");
  expect(faultShown(fault({ healing: true, state: "active" }), 9000).word).toBe("Being healed");
  expect(faultShown(fault({ healing: true, state: "over" }), 9000).word).toBe("Over");
  expect(faultShown(fault({ state: "failed" }), 9000).tone).toBe("vermilion");
});

test("beginnings are counted over all devices", () => {
  expect(begunLines({ b: { south: 1 }, a: { south: 1, north: 2 } })).toEqual([
    "a: begun 3 times (north 2, south 1)",
    "b: begun once (south 1)",
  ]);
});
