/** Courtesy in words: why a device takes no new work or is taken last, by its condition as it reports it. */
import type { Device } from "../types.ts";

const LOW_PERCENT = 20;
const TIME_OF_DAY = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** The facts of a condition that decide on new work; all are texts. */
interface Condition {
  battery?: string;
  charging?: string;
  courtesy?: string;
  courtesy_until?: string;
  courtesy_why?: string;
  owner_present?: string;
}

interface Cause {
  /** For a card. */
  short: string;
  /** For a sentence. */
  long: string;
}

const CAUSES: Record<string, Cause> = {
  battery: { short: "on battery", long: "it runs on its battery" },
  in_use: { short: "in use", long: "somebody sits at it" },
  quiet_hours: { short: "quiet hours", long: "its quiet hours have begun" },
};
// A device may state a cause that this page does not know; its own text is not repeated.
const OWN_CAUSE: Cause = { short: "its owner's rule", long: "its owner wants it so" };

function cause(condition: Condition): Cause {
  const said = condition.courtesy_why ?? "";
  const until = condition.courtesy_until ?? "";
  if (said === "quiet_hours" && TIME_OF_DAY.test(until)) {
    return { short: `quiet hours until ${until}`, long: `its quiet hours last until ${until} by its clock` };
  }
  return Object.hasOwn(CAUSES, said) ? (CAUSES[said] ?? OWN_CAUSE) : OWN_CAUSE;
}

/** Why a device takes no new work by the rule of its owner, for a card; empty if it takes some. */
export function noWorkCause(device: Device): string {
  const condition: Condition = device.condition ?? {};
  return condition.courtesy === "no" ? cause(condition).short : "";
}

function lastCause(condition: Condition): string {
  if (condition.courtesy) return condition.courtesy === "less" ? cause(condition).long : "";
  if (condition.owner_present === "true") return "its owner is at it";
  const battery = (condition.battery ?? "").replace(/[% ]+$/, "");
  const low = /^\d+$/.test(battery) && Number(battery) < LOW_PERCENT && condition.charging !== "true";
  return low ? `its battery has ${battery} % left` : "";
}

/** How a device takes new work now, as a sentence; empty if it takes any, or is not there. */
export function courtesySentence(device: Device): string {
  const condition: Condition = device.condition ?? {};
  if (device.link !== "online") return "";
  if (condition.courtesy === "no") return `It takes no new work, because ${cause(condition).long}.`;
  const last = lastCause(condition);
  return last ? `It takes new work only where no other device is free, because ${last}.` : "";
}
