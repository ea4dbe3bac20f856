/**
 * From a plan to what is drawn: families become matrices, straight runs become one card, the rest single cards.
 * Pure and independent of states, so that nothing moves when work goes on.
 */

import { everyNth, type Steps, whole } from "../stream/steps.ts";
import type { Dependency, TaskSpec } from "../types.ts";
import { naturalOrder } from "../words/natural.ts";

export interface Member {
  id: string;
  /** Key of an item to the id of its child. */
  children: Map<string, string>;
}

export interface Family {
  root: string;
  members: Member[];
  keys: string[];
  /** Keys whose row was taken out of the plan, with the version that did it. */
  dropped: Map<string, number>;
}

export interface Block {
  id: string;
  kind: "single" | "chain" | "family" | "ghost";
  /** Ids of the single tasks in their order; empty for a family. */
  tasks: string[];
  family: Family | null;
  /** A family as its members only, one below the other: on a narrow screen. */
  folded: boolean;
  width: number;
  /** The width of the open column of a family, where it has room for more than `OPEN_WIDTH`. */
  open?: number;
  height: number;
}

export interface Link {
  from: string;
  to: string;
}

export interface Drawing {
  blocks: Block[];
  links: Link[];
  /** Any task or group id to the block that shows it. */
  place: Map<string, string>;
}

export const NODE_HEIGHT = 44;
/** The device's tag and the longest usual word, "Done, checked", fit into it. */
const CARD_LEAST = 160;
/** A drawing of so few blocks has room for wider cards: names over devices and *Waits, its device is away* fit whole. */
const ROOMY_BLOCKS = 8;
const ROOMY_CARD = 216;
const ROOMY_OPEN = 248;
/** A matrix of more columns is wide without it. */
const ROOMY_MEMBERS = 4;
export const ROW_PITCH = 52;
const FAMILY_ROWS_MAX = 24;
const CHAIN_MAX = 12;
const REDUCE_MAX = 400;
/** So many tasks or dependencies are taken between two places at which the work may pause; below a millisecond. */
const ITEMS_A_STEP = 512;
export const OPEN_WIDTH = 184;
export const SHUT_WIDTH = 104;
export const FAMILY_HEAD = 100;
const FOLDED_WIDTH = 288;
export const FOLDED_TOP = 28;
export const FOLDED_PITCH = 72;

export const isDense = (family: Family): boolean => family.keys.length + family.dropped.size > FAMILY_ROWS_MAX;

/** Side of one cell in a matrix that is too long for cards. */
export function denseCell(count: number): number {
  return count <= 400 ? 12 : count <= 2500 ? 8 : 4;
}

function widthOf(id: string): number {
  return Math.min(208, Math.max(CARD_LEAST, Math.ceil((76 + 8 * id.length) / 8) * 8));
}

/** Builds the drawing. `removed` maps ids that left the plan to the version that removed them; `fold` is of families. */
export function drawing(
  specs: ReadonlyMap<string, TaskSpec>,
  given: Iterable<Dependency>,
  removed: ReadonlyMap<string, number> = new Map(),
  ghosts = false,
  fold = false,
): Drawing {
  return whole(drawingSteps([...specs.values()], [...given], removed, ghosts, fold));
}

/** The same with pauses. Takes arrays, for a plan may change in a pause. */
export function* drawingSteps(
  specs: readonly TaskSpec[],
  dependencies: readonly Dependency[],
  removed: ReadonlyMap<string, number>,
  ghosts: boolean,
  fold: boolean,
): Steps<Drawing> {
  const pause = everyNth(ITEMS_A_STEP);
  const place = new Map<string, string>();
  const families = yield* collectFamilies(specs, removed);
  const blocks = new Map<string, Block>();
  for (const family of families.values()) {
    const id = `family:${family.root}`;
    blocks.set(id, fold ? foldedBlock(id, family) : familyBlock(id, family));
    for (const member of family.members) {
      place.set(member.id, id);
      for (const child of member.children.values()) place.set(child, id);
    }
  }
  for (const spec of specs) {
    if (pause()) yield;
    if (place.has(spec.id)) continue;
    const home = spec.group ? place.get(spec.group) : undefined;
    if (home) {
      place.set(spec.id, home);
      continue;
    }
    place.set(spec.id, spec.id);
    blocks.set(spec.id, singleBlock(spec.id, "single"));
  }
  if (ghosts) {
    for (const id of removed.keys()) {
      if (place.has(id) || id.includes(".")) continue;
      blocks.set(id, singleBlock(id, "ghost"));
      place.set(id, id);
    }
  }
  // A phone has no room beside a card.
  if (blocks.size <= ROOMY_BLOCKS && !fold) widen(blocks);
  const links = yield* collectLinks(dependencies, place, blocks);
  yield* orderMembers(families, dependencies);
  return yield* joinRuns(blocks, links, place);
}

function widen(blocks: ReadonlyMap<string, Block>): void {
  for (const block of blocks.values()) {
    const { family } = block;
    if (!family) block.width = Math.max(block.width, ROOMY_CARD);
    else if (!block.folded && !isDense(family) && family.members.length <= ROOMY_MEMBERS) {
      block.width += ROOMY_OPEN - OPEN_WIDTH;
      block.open = ROOMY_OPEN;
    }
  }
}

function singleBlock(id: string, kind: "single" | "ghost"): Block {
  return { id, kind, tasks: [id], family: null, folded: false, width: widthOf(id), height: NODE_HEIGHT };
}

function* collectFamilies(
  specs: readonly TaskSpec[],
  removed: ReadonlyMap<string, number>,
): Steps<Map<string, Family>> {
  const pause = everyNth(ITEMS_A_STEP);
  const families = new Map<string, Family>();
  const memberOf = new Map<string, Member>();
  const rootOf = new Map<string, Family>();
  for (const spec of specs) {
    if (!spec.for_each) continue;
    const root = spec.family ?? spec.id;
    const family: Family = families.get(root) ?? { root, members: [], keys: [], dropped: new Map() };
    families.set(root, family);
    const member: Member = { id: spec.id, children: new Map() };
    family.members.push(member);
    memberOf.set(spec.id, member);
    rootOf.set(spec.id, family);
  }
  const keys = new Map<Family, Set<string>>();
  for (const spec of specs) {
    if (pause()) yield;
    const member = spec.group ? memberOf.get(spec.group) : undefined;
    const family = spec.group ? rootOf.get(spec.group) : undefined;
    if (!member || !family || spec.key === undefined || spec.key === null) continue;
    member.children.set(spec.key, spec.id);
    const held = keys.get(family) ?? new Set();
    held.add(spec.key);
    keys.set(family, held);
  }
  for (const [family, held] of keys) family.keys = naturalOrder(held);
  for (const [id, version] of removed) {
    const dot = id.lastIndexOf(".");
    const family = dot > 0 ? rootOf.get(id.slice(0, dot)) : undefined;
    const key = id.slice(dot + 1);
    if (family && !keys.get(family)?.has(key)) family.dropped.set(key, version);
  }
  return families;
}

/** Members stand in the order of their dependencies, the list's own group first. */
function* orderMembers(families: Map<string, Family>, dependencies: readonly Dependency[]): Steps {
  if (families.size === 0) return;
  const pause = everyNth(ITEMS_A_STEP);
  const after = new Map<string, Set<string>>();
  const groups = new Set<string>();
  for (const family of families.values()) for (const member of family.members) groups.add(member.id);
  for (const dependency of dependencies) {
    if (pause()) yield;
    const [from, to] = [groupOf(dependency.source, groups), groupOf(dependency.target, groups)];
    if (!from || !to || from === to) continue;
    const held = after.get(to) ?? new Set();
    held.add(from);
    after.set(to, held);
  }
  const depth = (id: string, seen: Set<string>): number => {
    if (seen.has(id)) return 0;
    seen.add(id);
    let most = 0;
    for (const from of after.get(id) ?? []) most = Math.max(most, depth(from, seen) + 1);
    return most;
  };
  for (const family of families.values()) {
    const rank = new Map(family.members.map((member, index) => [member.id, depth(member.id, new Set()) * 100 + index]));
    rank.set(family.root, -1);
    family.members.sort((a, b) => (rank.get(a.id) ?? 0) - (rank.get(b.id) ?? 0));
  }
}

function groupOf(id: string, groups: ReadonlySet<string>): string | null {
  if (groups.has(id)) return id;
  const dot = id.lastIndexOf(".");
  const group = dot > 0 ? id.slice(0, dot) : "";
  return groups.has(group) ? group : null;
}

function familyBlock(id: string, family: Family): Block {
  const members = Math.max(1, family.members.length);
  const rows = family.keys.length + family.dropped.size;
  if (isDense(family)) {
    const cell = denseCell(rows);
    const across = Math.floor(160 / cell);
    return {
      id,
      kind: "family",
      tasks: [],
      family,
      folded: false,
      width: 12 + members * 172,
      height: FAMILY_HEAD + Math.ceil(rows / across) * cell + 20,
    };
  }
  const width = 24 + OPEN_WIDTH + (members - 1) * (SHUT_WIDTH + 12) + (members > 1 ? 12 : 0);
  const height = FAMILY_HEAD + Math.max(1, rows) * ROW_PITCH + 8;
  return { id, kind: "family", tasks: [], family, folded: false, width, height };
}

function foldedBlock(id: string, family: Family): Block {
  const known = family.keys.length + family.dropped.size > 0;
  const height = FOLDED_TOP + family.members.length * FOLDED_PITCH + (known ? 0 : 24);
  return { id, kind: "family", tasks: [], family, folded: true, width: FOLDED_WIDTH, height };
}

function* collectLinks(
  dependencies: readonly Dependency[],
  place: ReadonlyMap<string, string>,
  blocks: ReadonlyMap<string, Block>,
): Steps<Link[]> {
  const pause = everyNth(ITEMS_A_STEP);
  const isNew = firstTime(blocks.keys());
  const links: Link[] = [];
  for (const dependency of dependencies) {
    if (pause()) yield;
    const from = place.get(dependency.source);
    const to = place.get(dependency.target);
    if (from && to && from !== to && isNew(from, to)) links.push({ from, to });
  }
  return links;
}

/** Says whether a pair of blocks is asked about for the first time. Pairs are numbers: a text for each would be slow. */
function firstTime(ids: Iterable<string>): (from: string, to: string) => boolean {
  const numbers = new Map<string, number>();
  for (const id of ids) numbers.set(id, numbers.size);
  const seen = new Set<number>();
  return (from, to) => {
    const pair = (numbers.get(from) ?? 0) * numbers.size + (numbers.get(to) ?? 0);
    if (seen.has(pair)) return false;
    seen.add(pair);
    return true;
  };
}

/** Links that no longer way makes needless, so that a run beside a shortcut is still a run. */
function reduced(blocks: ReadonlyMap<string, Block>, links: Link[]): Link[] {
  if (blocks.size > REDUCE_MAX) return links;
  const next = new Map<string, string[]>();
  for (const link of links) push(next, link.from, link.to);
  const reaches = (from: string, to: string): boolean => {
    const seen = new Set<string>();
    const open = (next.get(from) ?? []).filter((id) => id !== to);
    while (open.length > 0) {
      const id = open.pop();
      if (id === undefined || seen.has(id)) continue;
      if (id === to) return true;
      seen.add(id);
      open.push(...(next.get(id) ?? []));
    }
    return false;
  };
  return links.filter((link) => !reaches(link.from, link.to));
}

function push(into: Map<string, string[]>, at: string, value: string): void {
  const held = into.get(at);
  if (held) held.push(value);
  else into.set(at, [value]);
}

function* joinRuns(blocks: Map<string, Block>, links: Link[], place: Map<string, string>): Steps<Drawing> {
  const pause = everyNth(ITEMS_A_STEP);
  const slim = reduced(blocks, links);
  /** The one block behind each; null where there are more. */
  const outs = new Map<string, string | null>();
  const ins = new Map<string, number>();
  for (const link of slim) {
    if (pause()) yield;
    outs.set(link.from, outs.has(link.from) ? null : link.to);
    ins.set(link.to, (ins.get(link.to) ?? 0) + 1);
  }
  const follower = (id: string): string | null => {
    const only = outs.get(id);
    if (!only || ins.get(only) !== 1) return null;
    return blocks.get(only)?.kind === "single" && blocks.get(id)?.kind === "single" ? only : null;
  };
  const led = new Set<string>();
  for (const id of blocks.keys()) {
    const next = follower(id);
    if (next) led.add(next);
  }
  const into = new Map<string, string>();
  const result: Block[] = [];
  for (const [id, block] of blocks) {
    if (pause()) yield;
    if (led.has(id)) continue;
    let run: string[] = [id];
    for (let next = follower(id); next; next = follower(next)) {
      if (run.length === CHAIN_MAX) {
        result.push(runBlock(run, blocks));
        for (const task of run) into.set(task, run[0] ?? task);
        run = [];
      }
      run.push(next);
    }
    const first = run[0] ?? id;
    result.push(run.length === 1 && run[0] === id ? block : runBlock(run, blocks));
    for (const task of run) into.set(task, first);
  }
  for (const [task, home] of place) place.set(task, into.get(home) ?? home);
  // Nothing was joined: the links are what they were.
  if (led.size === 0) return { blocks: result, links, place };
  const isNew = firstTime(blocks.keys());
  const joined: Link[] = [];
  for (const link of links) {
    if (pause()) yield;
    const [from, to] = [into.get(link.from) ?? link.from, into.get(link.to) ?? link.to];
    if (from !== to && isNew(from, to)) joined.push({ from, to });
  }
  return { blocks: result, links: joined, place };
}

function runBlock(run: string[], blocks: ReadonlyMap<string, Block>): Block {
  const width = Math.max(...run.map((id) => blocks.get(id)?.width ?? CARD_LEAST));
  const id = run[0] ?? "";
  return {
    id,
    kind: run.length > 1 ? "chain" : "single",
    tasks: run,
    family: null,
    folded: false,
    width,
    height: NODE_HEIGHT * run.length,
  };
}
