import { describe, expect, it } from "vitest";
import { AWAY_LEAST_MS, seen } from "./visit.ts";

const NOW = 1_790_000_000_000;

describe("visits of a browser", () => {
  it("begin anew after a time away, and not by a reload", () => {
    const first = seen([], "mara", NOW);
    expect(first).toEqual([{ person: "mara", beforeMs: 0, seenMs: NOW }]);
    const reloaded = seen(first, "mara", NOW + 1000);
    expect(reloaded[0]?.beforeMs).toBe(0);
    const later = seen(reloaded, "mara", NOW + 1000 + AWAY_LEAST_MS);
    expect(later[0]?.beforeMs).toBe(NOW + 1000);
    expect(seen(later, "mara", NOW + 2000 + AWAY_LEAST_MS)[0]?.beforeMs).toBe(NOW + 1000);
  });

  it("belong to a person each, and to a few at most", () => {
    let visits = seen([], "mara", NOW);
    for (let at = 0; at < 20; at += 1) visits = seen(visits, `guest ${at}`, NOW + at);
    expect(visits).toHaveLength(8);
    expect(visits[0]?.person).toBe("guest 19");
    expect(visits.some((visit) => visit.person === "mara")).toBe(false);
  });
});
