/**
 * Everything that waits for a person beside questions: devices that ask their owners or ask to join, tasks that lack a
 * grant or a secret, phones that sleep. Devices are live from the fleet's stream; tasks are read when they change.
 */

import { create } from "zustand";
import { devices, neverCame, openEnrollments, sleeps } from "../../model/fleet/fleet.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import type {
  AttentionRow,
  ConstellationRow,
  Device,
  DeviceAsks,
  Enrollment,
  PageAddress,
  PendingAsk,
  Schedule,
  WhyRow,
} from "../../model/types.ts";
import { FINAL } from "../../model/words/words.ts";
import { useFleet, useWorkspace } from "../workspace/context.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { byCause } from "./causes.ts";
import { type Unplanned, unplannedOf } from "./unplanned.ts";

export interface Ask extends PendingAsk {
  device: string;
  /** Whose answer counts: a person's here, or only one typed on the device. */
  answers: string;
  /** The answer in words, where it was given here a moment ago. */
  said?: string;
}

/** One task that cannot go on, with what a person does about it. */
export interface Stopped {
  constellation: string;
  name: string;
  task: string;
  sentence: string;
  /** The way out, in words; empty where a line or a page to open says it. */
  todo: string;
  line: string;
  asleep: string[];
  open: PageAddress | null;
  /** The calls of which nobody knows whether they happened: the task itself, or those of the group `task`. */
  doubted: string[];
}

interface Store {
  answered: Ask[];
  stopped: Stopped[];
  unplanned: Unplanned[];
  /** Whether it was read since this page was opened: until then nobody can say that nothing waits. */
  read: boolean;
  set: (stopped: Stopped[], unplanned?: Unplanned[]) => void;
}

const useStore = create<Store>((set) => ({
  answered: [],
  stopped: [],
  unplanned: [],
  read: false,
  set: (stopped, unplanned) => set(unplanned ? { stopped, unplanned, read: true } : { stopped, read: true }),
}));

/** Forgets what was read, as somebody else may sign in next. */
export function forgetStopped(): void {
  useStore.setState({ answered: [], stopped: [], unplanned: [], read: false });
}

/** A card that leaves with the press moves the next one under the hand; so long its answer can be read in its place. */
export const STAYS_MS = 2_000;
/** Each is a call of its own, for the first time: a hub on which more stand still has another trouble. */
const LOOKED_AT_MOST = 100;
/** Each that may stand still; the hub lists the constellations of one state at a time. */
const UNFINISHED = [
  "active",
  "paused",
  "cancelling",
  "awaiting_approval",
  "planning",
  "looking",
] satisfies ConstellationRow["state"][];
const PAGE_ROWS = 100;
const LACKS: ReadonlySet<string> = new Set(["missing_grant", "missing_secret"]);
/** Reasons of tasks that end only by a person's hand. */
export const STUCK: ReadonlySet<string> = new Set([...LACKS, "no_capable_device"]);
/** Attention of a constellation that the list has in another form: a question, an ask, or the tasks themselves. */
const ELSEWHERE: ReadonlySet<string> = new Set([...STUCK, "question_open", "owner_asked", "task_unknown"]);

const LACKING = "Allow it on the device, put there what it lacks, or edit the plan to use another device.";
const NO_DEVICE = "Add a device that can, allow it on one of yours, or edit the plan to use another device or tool.";
const MAY_HAVE = "Look at the device, then say whether it happened.";

const isSame = (one: Ask, other: Ask) => one.device === other.device && one.action === other.action;

/** What devices ask their owners now; what was answered here keeps its place for a moment. */
export function useAsks(): Ask[] {
  const answered = useStore((state) => state.answered);
  const open = [...useFleet().kind<DeviceAsks>("asks").values()].flatMap((asks) =>
    (asks.open ?? [])
      .filter((ask) => !ask.answer)
      .map((ask) => ({ ...ask, device: asks.device, answers: asks.answers }))
      .filter((ask) => !answered.some((one) => isSame(one, ask))),
  );
  return [...open, ...answered].sort((one, other) => one.asked_ms - other.asked_ms);
}

/** Takes an ask off the open ones at once, and leaves it in its place for a moment with its answer. */
export function askAnsweredHere(ask: Ask, said: string): void {
  useStore.setState(({ answered }) => ({ answered: [...answered, { ...ask, said }] }));
  setTimeout(
    () => useStore.setState(({ answered }) => ({ answered: answered.filter((one) => !isSame(one, ask)) })),
    STAYS_MS,
  );
}

/** The schedules with news that this person has not seen, the newest first; `count` of each is the number of these. */
export function useNotices(): Schedule[] {
  const person = useWorkspace().session?.principal.id ?? "";
  const told = [...useFleet().kind<Schedule>("schedule").values()].flatMap((schedule) => {
    const { notice } = schedule;
    const count = (notice?.count ?? 1) - (notice?.seen?.[person] ?? 0);
    return notice && count > 0 ? [{ ...schedule, notice: { ...notice, count } }] : [];
  });
  return told.sort((one, other) => other.notice.at_ms - one.notice.at_ms);
}

export interface Waiting {
  asks: Ask[];
  /** How many of them have no answer yet. */
  openAsks: number;
  pairings: Enrollment[];
  notices: Schedule[];
  /** Devices that have begun work which this history does not have. */
  remembering: Device[];
  stopped: Stopped[];
  /** Requests for which no plan could be made, by their cause. */
  unplanned: Unplanned[];
  count: number;
  read: boolean;
}

export function useWaiting(): Waiting {
  const fleet = useFleet();
  const stopped = useStore((state) => state.stopped);
  const unplanned = useStore((state) => state.unplanned);
  const read = useStore((state) => state.read);
  const asks = useAsks();
  const openAsks = asks.filter((ask) => ask.said === undefined).length;
  const pairings = openEnrollments(fleet).filter((enrollment) => enrollment.state === "asking");
  const notices = useNotices();
  const remembering = [...fleet.kind<Device>("device").values()].filter((device) => device.remembers);
  const work = stopped.length + unplanned.length;
  const count = openAsks + pairings.length + byCause(notices).length + remembering.length + work;
  return { asks, openAsks, pairings, notices, remembering, stopped, unplanned, count, read };
}

/** Removes a task that was marked here from the list at once; the next reading replaces the list. */
export function markedHere(constellation: string, task: string): void {
  const { stopped, set } = useStore.getState();
  set(stopped.filter((one) => one.constellation !== constellation || one.task !== task || one.doubted.length === 0));
}

/**
 * The parts of a constellation that wait for a person's hand: a line to type, a page to open, a plan to change. Reasons
 * of the whole (`attention`) come after its tasks.
 */
export function stoppedOf(
  row: Pick<ConstellationRow, "id" | "name">,
  items: readonly WhyRow[],
  attention: readonly AttentionRow[] = [],
): Stopped[] {
  const found: Stopped[] = [];
  /** How many more tasks wait for what a row tells. */
  const more = new Map<Stopped, number>();
  const add = (task: string, sentence: string, parts: Partial<Stopped>) =>
    found.push({
      constellation: row.id,
      name: row.name || row.id,
      task,
      sentence,
      todo: "",
      line: "",
      asleep: [],
      open: null,
      doubted: [],
      ...parts,
    });
  for (const item of items) {
    const stuck = STUCK.has(item.reason ?? "");
    const doubted = item.state === "unknown";
    const asleep = item.asleep ?? [];
    if (!stuck && !doubted && !asleep.length) continue;
    if (doubted) {
      const task = item.task ?? "";
      const calls = item.doubted ?? [];
      // The hub tells the calls of a group as one thing to decide, with its own way out.
      const [of, todo] = calls.length > 1 ? [calls, ""] : [[task], MAY_HAVE];
      add(task, item.sentence, { doubted: of, todo });
      continue;
    }
    const lacks = LACKS.has(item.reason ?? "");
    const line = lacks ? (item.line ?? "") : "";
    const todo = item.reason === "no_capable_device" ? NO_DEVICE : "";
    const same = line ? found.find((one) => one.line === line) : undefined;
    if (same) {
      more.set(same, (more.get(same) ?? 0) + 1);
      continue;
    }
    add(item.task ?? "", withoutLine(item.sentence, line), {
      asleep,
      line,
      open: item.open ?? null,
      todo: lacks && !line ? LACKING : todo,
    });
  }
  for (const [one, count] of more)
    one.todo = `${count === 1 ? "One more task waits" : `${count} more tasks wait`} for the same.`;
  const told = found.length > 0 && items.every((item) => item.state !== "ready" || STUCK.has(item.reason ?? ""));
  for (const one of attention)
    if (!ELSEWHERE.has(one.reason) && !(told && one.reason === "waits_long")) add("", one.sentence, {});
  return found;
}

/** The line stands below the sentence, to be copied, so the sentence tells only where it is typed. */
function withoutLine(sentence: string, line: string): string {
  const said = `; on the device: ${line}.`;
  return line && sentence.endsWith(said) ? `${sentence.slice(0, -said.length)}. Type this on the device.` : sentence;
}

/** Whether a person has to look at why a constellation stands still; questions and asks are read elsewhere. */
export const isStuck = (attention: readonly string[] | undefined): boolean =>
  (attention ?? []).some((reason) => reason !== "question_open" && reason !== "owner_asked");

/** The phones that sleep, by id: work waits for them without any attention of its constellation. */
const sleeping = (fleet: StreamModel): string[] =>
  [...devices(fleet).values()]
    .filter(({ device }) => sleeps(device) && !neverCame(device))
    .map((view) => view.device.id)
    .sort();

/** The stopped tasks of each constellation as a page has read them, and the mark of that moment. */
const known = new WeakMap<Workspace, Map<string, { mark: string; found: Stopped[] }>>();

/** All constellations that have not ended, the newest first, however many have ended since. */
export async function unfinished(hub: Workspace["hub"]): Promise<ConstellationRow[]> {
  const found: ConstellationRow[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await hub.constellations({ state: UNFINISHED, limit: PAGE_ROWS, ...(cursor ? { cursor } : {}) });
    found.push(...page.items);
    cursor = page.next ?? undefined;
  }
  return found;
}

/**
 * Reads what waits once; constellations that lack nothing are asked only while a phone sleeps, and none again before it
 * has changed itself.
 */
export async function readStopped(workspace: Workspace): Promise<void> {
  const { hub, fleet, changes } = workspace;
  const asleep = sleeping(fleet).join();
  const sleeps = asleep !== "";
  const page = await hub.constellations({});
  const live = page.next ? await unfinished(hub) : page.items.filter((row) => !FINAL.has(row.state));
  // Work that may wait for a phone is looked at after work of which the hub says that it stands still.
  const stuck = live.filter((row) => isStuck(row.attention));
  const asked = sleeps ? [...stuck, ...live.filter((row) => !stuck.includes(row))] : stuck;
  const found: Stopped[] = [];
  const before = known.get(workspace);
  const now = new Map<string, { mark: string; found: Stopped[] }>();
  for (const row of asked.slice(0, LOOKED_AT_MOST)) {
    const mark = `${changes.markOf(row.id)} ${asleep}`;
    let read = before?.get(row.id);
    if (read?.mark !== mark) {
      const { items, attention } = await hub.whyAll(row.id);
      read = { mark, found: stoppedOf(row, items, attention) };
    }
    now.set(row.id, read);
    found.push(...read.found);
  }
  known.set(workspace, now);
  useStore.getState().set(found, unplannedOf(page.items, workspace.now()));
}
