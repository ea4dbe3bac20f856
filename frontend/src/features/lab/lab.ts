/** What the page says of faults: what can be broken, in plain words, where one stands, how often work was begun. Pure. */
import type { FaultKind, FaultState, FaultTarget, LabFault } from "../../generated/protocol.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import type { Glyph, Tone } from "../../model/types.ts";

export type { FaultKind, FaultState, FaultTarget } from "../../generated/protocol.ts";

interface Breaking {
  target: "device" | "link";
  kind: FaultKind;
  title: string;
  does: string;
}

/** Everything that can be broken of a simulated device, in the order in which it is offered. */
export const BREAKINGS: readonly Breaking[] = [
  { target: "device", kind: "kill", title: "Kill its agent", does: "It ends at once, in the middle of its work." },
  { target: "device", kind: "freeze", title: "Freeze its agent", does: "It stands still and answers nothing." },
  { target: "device", kind: "disk_full", title: "Fill its disk", does: "Nothing can be written any more." },
  { target: "device", kind: "clock_skew", title: "Set its clock wrong", does: "It is an hour ahead." },
  { target: "link", kind: "cut", title: "Cut its link", does: "Connections end, and none comes through." },
  { target: "link", kind: "freeze", title: "Swallow its messages", does: "The link stands, and nothing passes." },
  { target: "link", kind: "delay", title: "Slow its link down", does: "Everything takes 0.2 s longer, each way." },
  { target: "link", kind: "drop", title: "Lose messages", does: "About a third of them." },
  { target: "link", kind: "duplicate", title: "Duplicate messages", does: "About a third of them." },
  { target: "link", kind: "reorder", title: "Swap messages", does: "About a third of them." },
  { target: "link", kind: "corrupt", title: "Change bytes of messages", does: "In about a third of them." },
];

export function breakingTitle(target: FaultTarget, kind: FaultKind): string {
  const found = BREAKINGS.find((one) => one.target === target && one.kind === kind);
  return found?.title ?? `${target} ${kind}`.replaceAll("_", " ");
}

/** What a scenario breaks, in a few words: `link cut`, `hub kill`. */
export function breakWords(fault: { target: FaultTarget; kind: FaultKind }): string {
  return `${fault.target} ${fault.kind.replaceAll("_", " ")}`;
}

const stateOf = (fault: LabFault): FaultState => fault.state ?? "asked";
export const lasts = (fault: LabFault): boolean => stateOf(fault) === "asked" || stateOf(fault) === "active";

interface FaultShown {
  word: string;
  glyph: Glyph;
  tone: Tone;
}

/** Where a fault stands, with the seconds that are left of it. */
export function faultShown(fault: LabFault, now: number): FaultShown {
  const state = stateOf(fault);
  if (lasts(fault) && fault.healing) return { word: "Being healed", glyph: "open_arc", tone: "blue" };
  if (state === "asked") return { word: "Waits for the lab", glyph: "open_arc", tone: "blue" };
  if (state === "failed") return { word: "Could not be done", glyph: "cross", tone: "vermilion" };
  if (state === "over") return { word: "Over", glyph: "tick", tone: "teal" };
  const left = Math.ceil(((fault.began_ms ?? now) + fault.for_ms - now) / 1000);
  const word = left > 0 ? `Broken, ${left} s left` : "Broken, about to be healed";
  return { word, glyph: "broken_arc", tone: "amber" };
}

/** All faults that are known, newest first. */
export function faults(fleet: StreamModel): LabFault[] {
  const all = [...fleet.kind<LabFault>("lab_fault").values()];
  return all.sort((a, b) => b.asked_ms - a.asked_ms || a.id.localeCompare(b.id));
}

/** How often each task was begun, as a sentence each: `work: begun 2 times (north 1, south 1)`. */
export function begunLines(begun: Record<string, Record<string, number>>): string[] {
  return Object.entries(begun)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([task, places]) => {
      const count = Object.values(places).reduce((sum, one) => sum + one, 0);
      const where = Object.entries(places)
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([place, times]) => `${place} ${times}`);
      return `${task}: begun ${count === 1 ? "once" : `${count} times`} (${where.join(", ")})`;
    });
}
