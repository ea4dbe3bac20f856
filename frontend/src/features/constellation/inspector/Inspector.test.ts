import { describe, expect, it } from "vitest";
import { presentation } from "../../../model/words/presentation.ts";
import { naturalTab } from "./Inspector.tsx";

type View = Parameters<typeof naturalTab>[0];
const failed = (tail: string) =>
  ({ shown: presentation("failed", null), attempt: { tail }, record: { state: "failed" } }) as unknown as View;

describe("the tab that a task opens on", () => {
  it("is the log of a failure that wrote something, and else the reason", () => {
    expect(naturalTab(failed("no such file"))).toBe("log");
    expect(naturalTab(failed(""))).toBe("why");
  });
});
