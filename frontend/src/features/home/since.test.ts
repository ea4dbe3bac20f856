import { describe, expect, it } from "vitest";
import type { DeviceView } from "../../model/fleet/fleet.ts";
import type { ConstellationRow } from "../../model/types.ts";
import { changesSince, isNothing, worthShowing } from "./since.ts";

const LEFT = Date.parse("2026-11-25T10:00:00Z");
const row = (id: string, created: string, ended: string | null, state = "succeeded") =>
  ({
    id,
    name: id,
    state,
    version: 1,
    created_at: `2026-11-25T${created}:00Z`,
    ended_at: ended && `2026-11-25T${ended}:00Z`,
  }) as ConstellationRow;
const device = (id: string, joined: number, link: string, since: number) =>
  ({ id, device: { joined_ms: joined, link, link_since_ms: since } }) as DeviceView;

describe("what changed since somebody was here", () => {
  it("is what ended, failed and was begun, and which devices came and went", () => {
    const found = changesSince(
      LEFT,
      [
        row("new", "10:30", null, "active"),
        row("bad", "10:10", "10:11", "failed"),
        row("long", "09:00", "10:05"),
        row("old", "08:00", "08:01"),
      ],
      true,
      [
        device("came", LEFT + 1, "online", LEFT + 1),
        device("went", LEFT - 9, "offline", LEFT + 5),
        device("away", LEFT - 9, "offline", LEFT - 5),
        device("back", LEFT - 9, "online", LEFT + 5),
      ],
    );
    expect(found.ended.map((one) => one.id)).toEqual(["bad", "long"]);
    expect(found.failed.map((one) => one.id)).toEqual(["bad"]);
    expect(found.asked.map((one) => one.id)).toEqual(["new"]);
    expect(found.joined.map((one) => one.id)).toEqual(["came"]);
    expect(found.gone.map((one) => one.id)).toEqual(["went"]);
    expect(found.more).toBe(false);
    expect(isNothing(found)).toBe(false);
  });

  it("says when there may be more than the list holds", () => {
    const rows = [row("a", "10:30", null), row("b", "10:20", "10:21")];
    expect(changesSince(LEFT, rows, false, []).more).toBe(true);
    expect(changesSince(LEFT, rows, true, []).more).toBe(false);
    expect(changesSince(LEFT, [...rows, row("c", "09:00", null)], false, []).more).toBe(false);
  });

  it("is nothing where nothing happened", () => {
    expect(isNothing(changesSince(LEFT, [row("old", "08:00", "08:01")], true, []))).toBe(true);
  });
});

describe("what is worth showing of it", () => {
  it("begins with what failed, and leaves out what stands above", () => {
    const rows = [
      row("bad", "10:10", "10:11", "failed"),
      row("good", "10:12", "10:13"),
      row("worse", "10:14", "10:15", "failed"),
    ];
    const found = changesSince(LEFT, rows, true, []);
    expect(worthShowing(found, []).map((one) => one.id)).toEqual(["bad", "worse", "good"]);
    expect(worthShowing(found, [row("bad", "10:10", "10:11", "failed")]).map((one) => one.id)).toEqual([
      "worse",
      "good",
    ]);
  });
});
