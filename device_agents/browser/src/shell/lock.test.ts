/** The lock over plain HTTP, where tabs ask each other: however they are opened, one of them is the device. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Hold, takeLock } from "./lock.ts";

/** The tabs' channel; its messages take some time, as between processes of a browser. */
class Channel {
  static tabs = new Set<Channel>();
  static delayMs = 5;
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor() {
    Channel.tabs.add(this);
  }

  postMessage(data: unknown): void {
    for (const tab of Channel.tabs) {
      if (tab === this) continue;
      setTimeout(() => Channel.tabs.has(tab) && tab.onmessage?.({ data }), Channel.delayMs);
    }
  }

  close(): void {
    Channel.tabs.delete(this);
  }
}

/** What became of a tab: it waits, was refused, is the device, or has lost that. */
function opened(steal = false): { state: string } {
  const tab = { state: "asking" };
  void takeLock(steal).then((hold: Hold | null) => {
    tab.state = hold === null ? "refused" : "device";
    if (hold !== null) hold.onLost = () => (tab.state = "lost");
  });
  return tab;
}

const states = (tabs: { state: string }[]) => tabs.map((tab) => tab.state).sort();

describe("tabs over plain HTTP", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("BroadcastChannel", Channel);
    vi.stubGlobal("navigator", {});
    Channel.tabs.clear();
    Channel.delayMs = 5;
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it.each([0, 3, 100, 250, 297, 400])("that are opened %s ms apart are one device", async (gapMs) => {
    const tabs = [opened()];
    for (let count = 1; count < 3; count += 1) {
      await vi.advanceTimersByTimeAsync(gapMs);
      tabs.push(opened());
    }
    await vi.advanceTimersByTimeAsync(2_000);
    expect(states(tabs)).toEqual(["device", "refused", "refused"]);
  });

  it.each([0, 100, 400])("that are taken over %s ms apart are one device", async (gapMs) => {
    const tabs = [opened()];
    await vi.advanceTimersByTimeAsync(1_000);
    tabs.push(opened(true));
    await vi.advanceTimersByTimeAsync(gapMs);
    tabs.push(opened(true), opened());
    await vi.advanceTimersByTimeAsync(2_000);
    expect(tabs[0]?.state).toBe("lost");
    expect(states(tabs).filter((state) => state === "device")).toHaveLength(1);
  });

  it("let go where the one that has the lock answers late", async () => {
    const first = opened();
    await vi.advanceTimersByTimeAsync(1_000);
    Channel.delayMs = 200;
    const second = opened();
    await vi.advanceTimersByTimeAsync(2_000);
    expect([first.state, second.state]).toEqual(["device", "lost"]);
  });
});
