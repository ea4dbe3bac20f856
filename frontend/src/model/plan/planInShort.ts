/**
 * A plan in a few lines for a person who decides about it: on each device the effects of its tools and the places that
 * they name. Pure.
 */

import { isRow } from "../answer/table.ts";
import { nameOfDevice } from "../fleet/fleet.ts";
import type { StreamModel } from "../stream/stream.ts";
import type { AddTask, Approved, Device, Offer, RuleRecord, TaskSpec } from "../types.ts";
import { known } from "../words/known.ts";
import { readable } from "../words/readable.ts";

export interface PlanLine {
  device: string;
  effects: string[];
  /** Folders, files and addresses that its tasks name, the first first. */
  places: string[];
}

const PLACES = [
  "root",
  "path",
  "paths",
  "folder",
  "folders",
  "under",
  "to",
  "target",
  "source",
  "url",
  "address",
  "argv",
];
const PLACES_MAX = 4;
const UNKNOWN = "A device that is chosen when it begins";
const VERBS: Record<string, string> = {
  read: "reads",
  write: "writes",
  change: "changes",
  destroy: "may destroy",
  reach: "reaches the network",
};
/** The effect of a call whose write can be taken back from the trash. */
export const TO_THE_TRASH = "moves to the trash";
const EACH = "Each device";
const byName = new Intl.Collator("en", { numeric: true }).compare;

/** A task as the plan has it, or as a rule of the plan may add it. */
type Planned = TaskSpec & { rule?: string };

const ofPlan = (specs: Iterable<TaskSpec>, rules: Iterable<RuleRecord>): Planned[] => [
  ...specs,
  ...[...rules].flatMap(({ name, operations }) =>
    (JSON.parse(operations) as AddTask[])
      .filter(({ op }) => op === "add_task")
      .map(({ spec }) => ({ ...spec, rule: name })),
  ),
];

/** The calls that a task may take: its own, the others that it names, and an undo whose arguments it writes itself. */
const waysOf = (spec: Planned): Planned[] => [
  spec,
  ...(spec.any_of ?? []).map(({ args = "{}", device = null, tool }) => ({ ...spec, args, device, tool })),
  ...(spec.undo && (spec.undo.args ?? "{}") !== "{}"
    ? [{ ...spec, id: `undo-${spec.id}`, args: spec.undo.args, tool: spec.undo.tool }]
    : []),
];

export function planInShort(
  specs: Iterable<TaskSpec>,
  fleet: StreamModel,
  rules: Iterable<RuleRecord> = [],
  approved?: Approved,
): PlanLine[] {
  const lines = new Map<string, { effects: Set<string>; places: Set<string> }>();
  const offers = fleet.kind<Offer>("offer");
  const planned = ofPlan(specs, rules);
  const all = new Map(planned.map((spec) => [spec.id, spec]));
  for (const spec of planned.flatMap(waysOf)) {
    if (!spec.tool) continue;
    const effects = effectsOf(spec.tool, spec.device?.id ?? null, offers);
    const places = [...placesIn(spec.args ?? "{}"), ...firstFolder(spec, fleet)];
    if (effects.length === 0 && places.length === 0) continue;
    const device = deviceOf(spec, fleet, all, approved);
    const line = lines.get(device) ?? { effects: new Set(), places: new Set() };
    for (const effect of effects) line.effects.add(effect);
    for (const place of places) line.places.add(place);
    lines.set(device, line);
  }
  const named = [...lines].sort(
    ([one], [other]) => Number(one === UNKNOWN) - Number(other === UNKNOWN) || byName(one, other),
  );
  return named.map(([device, { effects, places }]) => ({
    device,
    effects: [...effects],
    places: [...places],
  }));
}

/**
 * Where a call may go, by the rule of the hub: its own selector decides; without one, a family over devices goes to each
 * of them, and so does a family that follows it. Where a selector names no device, those that an approval holds it to.
 */
function deviceOf(
  spec: TaskSpec,
  fleet: StreamModel,
  all: ReadonlyMap<string, TaskSpec>,
  approved: Approved | undefined,
): string {
  const over = spec.device ? null : spec.for_each && all.get(spec.family ?? spec.id)?.for_each?.devices;
  const selector = spec.device ?? over ?? {};
  const named = namesIn(selector, fleet);
  if (named.length > 0) return named.join(", ");
  const same = JSON.stringify(selector);
  const reach = approved?.reaches?.find((one) => one.tool === spec.tool && JSON.stringify(one.selector ?? {}) === same);
  const held = (reach?.devices ?? []).map((id) => nameOfDevice(fleet, id)).sort(byName);
  return held.join(over ? ", " : " or ") || (over ? EACH : UNKNOWN);
}

/** The devices that a selector names one by one, by name; none where any of its parts names none. */
function namesIn({ id, name, any }: NonNullable<TaskSpec["device"]>, fleet: StreamModel): string[] {
  if (id) return [nameOfDevice(fleet, id)];
  if (name) return [name];
  const each = (any ?? []).map((one) => namesIn(one, fleet));
  return each.every((names) => names.length > 0) ? [...new Set(each.flat())].sort(byName) : [];
}

/** The effects of a call as a person reads them: a write that is a move to the trash is called that. */
export const shownEffects = (tool: string | null | undefined, effects: readonly string[]): string[] =>
  effects.map((effect) => (tool === "fs.trash" && effect === "write" ? TO_THE_TRASH : effect));

function effectsOf(tool: string, device: string | null, offers: ReadonlyMap<string, Offer>): string[] {
  const own = device ? offers.get(device) : undefined;
  for (const offer of own ? [own] : offers.values()) {
    const found = offer.tools?.find((one) => one.name === tool);
    if (found) return shownEffects(tool, found.effects ?? []);
  }
  return [];
}

export function placesIn(args: string): string[] {
  const value: unknown = JSON.parse(args);
  if (!isRow(value)) return [];
  return PLACES.flatMap((name) => {
    // Beside a program of the plan they are its own words; alone they are the command.
    if (name === "argv" && "code" in value) return [];
    const at = value[name];
    if (Array.isArray(at)) {
      const words = at.filter((one): one is string => typeof one === "string");
      return name === "argv" && words.length > 0 ? [words.join(" ")] : words;
    }
    return typeof at === "string" && at && at !== "." ? [at] : [];
  });
}

/** The folder that a call writes into by `.` on the one device that it names: the first that its owner allows. */
function firstFolder({ tool, device, args, inputs }: TaskSpec, fleet: StreamModel): string[] {
  const value: unknown = JSON.parse(args ?? "{}");
  const late = new Set((inputs ?? []).map((one) => one.name));
  if (!isRow(value) || !PLACES.some((name) => value[name] === "." && !late.has(name))) return [];
  const devices = [...fleet.kind<Device>("device").values()];
  const id = device?.id ?? devices.find((one) => device?.name && one.name === device.name && !one.revoked)?.id;
  const offer = id ? fleet.kind<Offer>("offer").get(id) : undefined;
  const writes = offer?.tools?.find((one) => one.name === tool)?.grant === "files:write";
  return writes ? (offer?.facts?.writes ?? "").split("\n").slice(0, 1).filter(Boolean) : [];
}

/** The devices that a plan names and that are no longer in the fleet, each with how it went: `nas was revoked`. */
export function goneDevices(specs: Iterable<TaskSpec>, fleet: StreamModel): string[] {
  const all = fleet.kind<Device>("device");
  const gone = new Map<string, string>();
  for (const { device, look } of specs) {
    if (!device || look) continue;
    const named = [...all.values()].filter((one) => (device.id ? one.id === device.id : one.name === device.name));
    const last = named[named.length - 1];
    if (!last || named.some((one) => !one.revoked && !one.left)) continue;
    gone.set(last.id, `${last.name} ${last.revoked ? "was revoked" : "has left"}`);
  }
  return [...gone.values()];
}

export interface CallLine {
  task: string;
  tool: string;
  device: string;
  effects: string[];
  /** The arguments as they are sent, cut at `ARGS_CHARS_MAX`. */
  args: string;
  /** The rule that may add it; undefined for a call of the plan itself. */
  rule: string | undefined;
}

const ARGS_CHARS_MAX = 2000;

/**
 * The calls that do more than read, by name, those of the plan and then those of its rules: a yes to the plan is one to what a
 * rule adds. A group stands for its calls.
 */
export function changingCalls(
  specs: Iterable<TaskSpec>,
  fleet: StreamModel,
  rules: Iterable<RuleRecord> = [],
  approved?: Approved,
): CallLine[] {
  const offers = fleet.kind<Offer>("offer");
  const lines: CallLine[] = [];
  const planned = ofPlan(specs, rules);
  const all = new Map(planned.map((spec) => [spec.id, spec]));
  for (const spec of planned.flatMap(waysOf)) {
    // A child of a group has a key; its group is in the list.
    if (!spec.tool || spec.key != null || spec.look) continue;
    const effects = effectsOf(spec.tool, spec.device?.id ?? null, offers);
    if (effects.every((effect) => effect === "read")) continue;
    const args = spec.args ?? "{}";
    const shown =
      args.length > ARGS_CHARS_MAX ? `${args.slice(0, ARGS_CHARS_MAX)} ... (${args.length} characters)` : args;
    const device = deviceOf(spec, fleet, all, approved);
    lines.push({ task: spec.id, tool: spec.tool, device, effects, args: readable(shown), rule: spec.rule });
  }
  // The records of a plan come in no order.
  return lines.sort((one, other) => Number(!!one.rule) - Number(!!other.rule) || byName(one.task, other.task));
}

/** `reads, writes: Keepsakes`. */
export function planLineText({ effects, places }: PlanLine): string {
  const more = places.length - PLACES_MAX;
  const named = places.slice(0, PLACES_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return readable([effectWords(effects), named].filter(Boolean).join(": "));
}

/** The places for which the line has no room. */
export const placesBeyond = ({ places }: PlanLine): string => readable(places.slice(PLACES_MAX).join(", "));

/** `reads, may destroy`. */
export const effectWords = (effects: readonly string[]): string =>
  effects.map((effect) => known(VERBS, effect) ?? effect).join(", ");
