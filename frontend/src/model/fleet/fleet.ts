/**
 * What the page says of devices: their short tags, whether they can be reached, their words.
 * A tag is a letter and a number by joining order, so that a device is never told by hue.
 */
import type { StreamModel } from "../stream/stream.ts";
import type { Device, Enrollment, Glyph, Health, Offer, Stopping, Tone } from "../types.ts";
import { age } from "../words/words.ts";
import { courtesySentence, noWorkCause } from "./courtesy.ts";

export interface DeviceView {
  id: string;
  tag: string;
  device: Device;
  offer: Offer | undefined;
  health: Health | undefined;
  kind: "phone" | "server" | "laptop" | "desktop" | "tab" | "machine";
}

interface DeviceShown {
  word: string;
  glyph: Glyph;
  tone: Tone;
  stuck: boolean;
}

const LETTER = { phone: "P", server: "S", laptop: "L", desktop: "D", tab: "T", machine: "M" } as const;

function kindOf(device: Device): DeviceView["kind"] {
  const words = [...(device.labels ?? []), device.name, device.os ?? ""].join(" ").toLowerCase();
  if (/\b(tab|browser)\b/.test(words)) return "tab";
  if (/phone|android|ios\b/.test(words)) return "phone";
  if (/server|vps|\bnas\b/.test(words)) return "server";
  if (/laptop|book/.test(words)) return "laptop";
  if (/desktop/.test(words)) return "desktop";
  return "machine";
}

interface Kept {
  revision: number;
  views: Map<string, DeviceView>;
  named: Map<string, DeviceView>;
}
const cache = new WeakMap<StreamModel, Kept>();

/** Whether a device offers all of these tools; one that has never sent an offer may. */
export const offersAll =
  (tools: readonly string[]) =>
  ({ offer }: DeviceView): boolean =>
    !offer?.tools?.length || tools.every((tool) => offer.tools?.some((one) => one.name === tool));

/** All devices that were not revoked, by id, in joining order. */
export function devices(fleet: StreamModel): ReadonlyMap<string, DeviceView> {
  return kept(fleet).views;
}

function kept(fleet: StreamModel): Kept {
  const held = cache.get(fleet);
  if (held?.revision === fleet.revision) return held;
  const offers = fleet.kind<Offer>("offer");
  const health = fleet.kind<Health>("health");
  const all = [...fleet.kind<Device>("device").values()].filter((device) => !device.revoked);
  all.sort((a, b) => a.joined_ms - b.joined_ms || a.id.localeCompare(b.id));
  const counts = new Map<string, number>();
  const views = new Map<string, DeviceView>();
  for (const device of all) {
    const kind = kindOf(device);
    const number = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, number);
    views.set(device.id, {
      id: device.id,
      tag: `${LETTER[kind]}${number}`,
      device,
      offer: offers.get(device.id),
      health: health.get(device.id),
      kind,
    });
  }
  const named = new Map<string, DeviceView>();
  for (const view of views.values()) if (!named.has(view.device.name)) named.set(view.device.name, view);
  for (const view of views.values())
    for (const name of view.device.former_names ?? []) if (!named.has(name)) named.set(name, view);
  const made = { revision: fleet.revision, views, named };
  cache.set(fleet, made);
  return made;
}

/** A device's name, also of one that was revoked; its id when it was never known here. */
export function nameOfDevice(fleet: StreamModel, id: string): string {
  return fleet.one<Device>(`device/${id}`)?.name ?? id;
}

/** The device of this name, or that had it before: plans go on after a device was renamed. */
export function deviceNamed(fleet: StreamModel, name: string): DeviceView | undefined {
  return kept(fleet).named.get(name);
}

/** The one word for a device that comes back without help, or as soon as somebody opens it. */
export const ASLEEP = "Asleep";

/** The word for a device that can work and has none. */
export const IDLE = "Idle";

/** Whether a device sleeps: a browser tab that nobody looks at, or a machine that told the hub that it would. */
export const sleeps = (device: Pick<Device, "os" | "link">): boolean =>
  // A link that is left out is offline, as every default is.
  device.link === "suspended" || (device.os === "browser" && device.link !== "online");

/** Whether its agent was stopped: it took its slots back before it ended. */
const isStopped = ({ device, offer }: DeviceView): boolean => device.link !== "online" && offer?.slots === 0;
const STOPPED = "Agent stopped";

/** Whether it was approved and has never connected: its link stands as it was when it joined. */
export const neverCame = ({ link, session, joined_ms, link_since_ms }: Device): boolean =>
  link !== "online" && !session && Boolean(joined_ms) && link_since_ms === joined_ms;

/** The word for a device that was approved and has never connected. */
const NOT_YET = "Not connected yet";
export const NOT_YET_NEXT_STEP = "its terminal asks how to start it";

/** Whether its agent said that it can write nothing down: it gets no work until there is room. */
export const diskIsFull = (device: Device): boolean => device.condition?.disk === "full";

/** Why the hub refuses its agent, which shares no version of the protocol with it; null where it does not. */
export const refusedAs = (device: Device): "agent" | "hub" | null =>
  device.revoked || !device.refused || (device.link ?? "offline") !== "offline"
    ? null
    : device.refused === "hub_too_old"
      ? "hub"
      : "agent";

/** Where a device stands; `busy` is how many attempts it has now, as far as the page knows. */
export function deviceShown(view: DeviceView, busy: number): DeviceShown {
  const { device, offer, health } = view;
  if (neverCame(device)) return { word: NOT_YET, glyph: "ring", tone: "grey", stuck: false };
  const refused = refusedAs(device);
  if (refused) {
    const word = refused === "hub" ? "Hub too old" : "Agent too old";
    return { word, glyph: "broken_arc", tone: "amber", stuck: true };
  }
  if (sleeps(device)) return { word: ASLEEP, glyph: "barrier", tone: "amber", stuck: true };
  if (isStopped(view)) return { word: STOPPED, glyph: "broken_arc", tone: "amber", stuck: true };
  if (device.link !== "online") return { word: "Out of reach", glyph: "broken_arc", tone: "amber", stuck: true };
  if (diskIsFull(device)) return { word: "Disk full", glyph: "barrier", tone: "amber", stuck: true };
  if (device.quarantined) return { word: "Set aside", glyph: "barrier", tone: "amber", stuck: true };
  if (device.draining) {
    return {
      word: busy > 0 ? `Draining, ${busy} left` : "Drained",
      glyph: "ringed_square",
      tone: "blue",
      stuck: false,
    };
  }
  const noWork = noWorkCause(device);
  if (noWork) return { word: `No new work, ${noWork}`, glyph: "barrier", tone: "amber", stuck: false };
  if (health?.state === "suspect") {
    return { word: "Asked last", glyph: "barrier", tone: "amber", stuck: false };
  }
  if (busy > 0) {
    return { word: `Busy, ${busy} of ${offer?.slots ?? 1}`, glyph: "turning_arc", tone: "blue", stuck: false };
  }
  return { word: IDLE, glyph: "ring", tone: "indigo", stuck: false };
}

/** Since when it is connected or not: `connected 3 min ago`, `lost 12:40`; empty for one that never was. */
export function linkWords(device: Device, now: number): string {
  if (!device.link_since_ms || neverCame(device)) return "";
  const word = device.link === "online" ? "connected" : sleeps(device) ? "asleep" : "lost";
  return `${word} ${age(device.link_since_ms, now)}`;
}

/** Where a clock stands beside the hub's, as the terminal says it: `1 h 0 min ahead of the hub's`. */
function clockWords(aheadS: number): string {
  const minutes = Math.max(1, Math.round(Math.abs(aheadS) / 60));
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const span = days ? `${days} d ${hours % 24} h` : hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
  return `${span} ${aheadS > 0 ? "ahead of" : "behind"} the hub's`;
}

/** Why a device gets no work, or is asked last, in sentences; empty for one that works as any other. */
export function deviceReasons(view: DeviceView, now: number): string[] {
  const { device, health } = view;
  const said: string[] = [];
  if (neverCame(device)) said.push(`It has not connected yet; ${NOT_YET_NEXT_STEP}.`);
  const refused = refusedAs(device);
  if (refused === "agent") said.push("The hub refuses it: its agent is too old for this hub.");
  if (refused === "hub") said.push("The hub refuses it: this hub is too old for its agent. Update the hub.");
  if (device.draining) {
    const why = device.drain_reason ? ` (${device.drain_reason})` : "";
    const left = device.drain_due_ms ? Math.ceil((device.drain_due_ms - now) / 60_000) : 0;
    const when = left > 0 ? ` In ${left} min what may be repeated is moved to other devices.` : "";
    said.push(`It drains${why}: it gets no new work, and what it has goes on.${when}`);
  }
  if (device.reserved) said.push("It is reserved: it takes only work that names it.");
  if (device.quarantined) {
    said.push(
      `It is set aside: ${device.aside || "too many of its tasks failed"}. From time to time it gets one task to show that it works again.`,
    );
  } else if (health?.state === "suspect") {
    said.push(`It is asked last: ${health.faults ?? 0} faults, more than its peers. Success takes them back.`);
  }
  if (diskIsFull(device)) {
    const folder = device.condition?.disk_folder ? ` (${device.condition.disk_folder})` : "";
    said.push(`Its disk is full${folder}: nothing begins there and no result leaves. Free some space there.`);
  }
  const courtesy = courtesySentence(device);
  if (courtesy) said.push(courtesy);
  const ahead = device.condition?.clock ?? "";
  if (device.link === "online" && /^-?[1-9]\d{0,10}$/.test(ahead)) {
    said.push(
      `Its clock is ${clockWords(Number(ahead))}: times of its files and logs are off by as much, and so is what a request finds there by its age. Set it there; where several devices are off alike, it is the clock of the hub.`,
    );
  }
  if (device.link === "suspended") said.push("It is asleep: the clocks of its work stand still until it wakes.");
  return said;
}

/** What each device was told to end by the last stop-all, those that have not confirmed first. */
export function stopRows(fleet: StreamModel): Stopping[] {
  const rows = [...fleet.kind<Stopping>("stopping").values()];
  return rows.sort(
    (a, b) => Number(Boolean(a.confirmed_ms)) - Number(Boolean(b.confirmed_ms)) || a.device.localeCompare(b.device),
  );
}

/** An operator ends a device that they let in, and no other; below that role nobody ends any. */
export function mayNotRevoke(
  device: Pick<Device, "joined_by">,
  session: { role: string; principal: { id: string } } | null,
): string | null {
  const mine = device.joined_by && device.joined_by === session?.principal.id;
  return session?.role === "operator" && !mine
    ? "An owner revokes it, or the person who let it in. Drain gives it no new work."
    : null;
}

/** What approving a device does to the one whose place it takes; empty where that is no longer in the fleet. */
export function replacesWords(fleet: StreamModel, enrollment: Enrollment, now: number): string {
  const before = enrollment.replaces ? fleet.one<Device>(`device/${enrollment.replaces}`) : undefined;
  if (!before || before.revoked) return "";
  const since = linkWords(before, now) || "never connected";
  return `Approving it revokes the device that is called ${before.name} now (${since}), for good.`;
}

/** Pairings that still need something, newest first. */
export function openEnrollments(fleet: StreamModel): Enrollment[] {
  const open = [...fleet.kind<Enrollment>("enrollment").values()].filter(
    (enrollment) => enrollment.state === undefined || enrollment.state === "open" || enrollment.state === "asking",
  );
  return open.sort((a, b) => b.created_ms - a.created_ms);
}

/** What people call a task by its id alone: `info on laptop` for the child of a device, the id for any other. */
export function taskNamed(fleet: StreamModel, task: string): string {
  const at = task.lastIndexOf(".");
  const key = task.slice(at + 1);
  if (at < 0 || !key.startsWith("d-")) return task;
  const name = nameOfDevice(fleet, key);
  return name === key ? task : `${task.slice(0, at)} on ${name}`;
}

/** Ids of calls that a task makes on each device, as they stand in sentences. */
const CALL = /[\w-]+(?:\.[\w-]+)*\.d-[\w-]+/g;

/** A sentence in which calls on devices have the names of their devices. */
export const callsNamed = (fleet: StreamModel, text: string): string =>
  text.replaceAll(CALL, (call) => taskNamed(fleet, call));
