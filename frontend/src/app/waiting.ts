/**
 * What waits for a person beside questions: devices that ask their owners or ask to join, tasks that lack a grant or a
 * secret, phones that sleep. Devices are live from the fleet's stream; tasks are read every few seconds.
 */
import { create } from "zustand";
import type { ConstellationRow, OpenAgain, WhyDocument } from "../link/endpoints.ts";
import { ASLEEP, deviceShown, devices, openEnrollments } from "../model/fleet.ts";
import type { StreamModel } from "../model/stream.ts";
import type { Device, DeviceAsks, Enrollment, PendingAsk, Schedule } from "../model/types.ts";
import { FINAL } from "../model/words.ts";
import { useFleet } from "./context.ts";
import type { Workspace } from "./workspace.ts";

export interface Ask extends PendingAsk {
  device: string;
  /** Whose answer counts: a person's here, or only one typed on the device. */
  answers: string;
}

/** One task that cannot go on, with what a person does about it. */
export interface Stopped {
  constellation: string;
  name: string;
  task: string;
  sentence: string;
  line: string;
  asleep: string[];
  open: OpenAgain | null;
}

interface Store {
  stopped: Stopped[];
  set: (stopped: Stopped[]) => void;
}

const useStore = create<Store>((set) => ({ stopped: [], set: (stopped) => set({ stopped }) }));

const LOOKED_AT_MOST = 8;
const LACKS: ReadonlySet<string> = new Set(["missing_grant", "missing_secret"]);

export function openAsks(fleet: StreamModel): Ask[] {
  const all = [...fleet.kind<DeviceAsks>("asks").values()].flatMap((asks) =>
    (asks.open ?? [])
      .filter((ask) => !ask.answer)
      .map((ask) => ({ ...ask, device: asks.device, answers: asks.answers })),
  );
  return all.sort((one, other) => one.asked_ms - other.asked_ms);
}

export interface Waiting {
  asks: Ask[];
  pairings: Enrollment[];
  notices: Schedule[];
  /** Devices that have begun work which this history does not have. */
  remembering: Device[];
  stopped: Stopped[];
  count: number;
}

export function useWaiting(): Waiting {
  const fleet = useFleet();
  const stopped = useStore((state) => state.stopped);
  const asks = openAsks(fleet);
  const pairings = openEnrollments(fleet).filter((enrollment) => enrollment.state === "asking");
  const notices = [...fleet.kind<Schedule>("schedule").values()].filter((schedule) => schedule.notice);
  const remembering = [...fleet.kind<Device>("device").values()].filter((device) => device.remembers);
  const count = asks.length + pairings.length + notices.length + remembering.length + stopped.length;
  return { asks, pairings, notices, remembering, stopped, count };
}

/** The line to type that an action names, or nothing. */
export function lineOf(actions: readonly string[]): string {
  for (const action of actions) {
    const found = /(?:'[^']+starloom-agent'|[\w./~@+:\\-]*starloom(?:-agent)?(?:\.exe)?) (?:grant|secret) [^;]*/.exec(
      action,
    );
    if (found) return found[0].trim().replace(/[.,]$/, "");
  }
  return "";
}

/** What of a constellation waits for a person's hand elsewhere: a line to type, or a page to open. */
export function stoppedOf(row: Pick<ConstellationRow, "id" | "name">, items: readonly WhyDocument[]): Stopped[] {
  const found: Stopped[] = [];
  for (const item of items) {
    const lacks = item.reason !== undefined && LACKS.has(item.reason ?? "");
    if (!lacks && !item.asleep?.length) continue;
    found.push({
      constellation: row.id,
      name: row.name || row.id,
      task: item.task ?? "",
      sentence: item.sentence,
      line: lacks ? lineOf(item.actions ?? []) : "",
      asleep: item.asleep ?? [],
      open: item.open ?? null,
    });
  }
  return found;
}

/** Reads what waits once; constellations that lack nothing are asked only while a phone sleeps. */
export async function readStopped(workspace: Workspace): Promise<void> {
  const { hub, fleet } = workspace;
  const sleeps = [...devices(fleet).values()].some((view) => deviceShown(view, 0).word === ASLEEP);
  const page = await hub.constellations({});
  const live = page.items.filter((row) => !FINAL.has(row.state));
  const asked = live.filter((row) => sleeps || row.attention?.some((reason) => LACKS.has(reason)));
  const found: Stopped[] = [];
  for (const row of asked.slice(0, LOOKED_AT_MOST)) {
    found.push(...stoppedOf(row, (await hub.whyAll(row.id)).items));
  }
  useStore.getState().set(found);
}
