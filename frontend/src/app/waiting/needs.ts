/** What waits for a person, over all constellations: questions and approvals, read when they change. */
import { create } from "zustand";
import type { InboxQuestion } from "../../link/endpoints.ts";
import type { Question } from "../../model/types.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { forgetStopped, readStopped, STAYS_MS } from "./waiting.ts";

/** An open question, or one that was answered here a moment ago, with its answer in words. */
export type ShownQuestion = InboxQuestion & { said?: string };

interface Needs {
  items: InboxQuestion[];
  /** The open ones, and those that stay in their place for a moment. */
  shown: ShownQuestion[];
  read: boolean;
}

const EMPTY: Needs = { items: [], shown: [], read: false };
const useStore = create<Needs>(() => EMPTY);

const isSame = (one: InboxQuestion, other: InboxQuestion) =>
  one.id === other.id && one.constellation === other.constellation;

/** Takes what is open now; what was answered here keeps its place, and is not open whatever an older reading says. */
function take(read: InboxQuestion[], shown = useStore.getState().shown): void {
  const staying = shown.filter((need) => need.said !== undefined);
  const items = read.filter((need) => !staying.some((one) => isSame(one, need)));
  const merged: ShownQuestion[] = [...items];
  for (const need of staying) merged.splice(shown.indexOf(need), 0, need);
  useStore.setState({ items, shown: merged, read: true });
}

export function useNeeds(): Needs & { count: number } {
  const { items, shown, read } = useStore();
  return { items, shown, count: items.length, read };
}

/**
 * The open questions of a constellation with what the hub's list alone knows: the answers that take files away, and the
 * people whose answer alone counts. One that is not in it yet is held back, since such an answer would look like any
 * other. Without the hub nothing can be answered, and all are shown. One that was answered here stays for a moment.
 */
export function withDangers(constellation: string, open: Question[], needs: ShownQuestion[], away: boolean) {
  const own = needs.filter((need) => need.constellation === constellation);
  const answered = own.filter((need) => need.said !== undefined);
  const asked = open.flatMap((question) => {
    const need = own.find((one) => one.id === question.id);
    if (need?.said !== undefined) return [];
    return need || away ? [{ ...question, takes_away: need?.takes_away, only: need?.only, said: undefined }] : [];
  });
  return [...answered, ...asked].sort((one, other) => one.opened_ms - other.opened_ms);
}

/** The people whose answer alone counts, in words, where this one is none of them; empty: this one may answer. */
export function othersAsked(question: Pick<ShownQuestion, "only">, me: string): string {
  const only = question.only ?? [];
  return only.length === 0 || only.includes(me) ? "" : only.join(" or ");
}

/** Takes a question off the open ones at once, and leaves it in its place for a moment with its answer. */
export function answeredHere(constellation: string, id: string, said: string): void {
  const { items, shown } = useStore.getState();
  const isIt = (need: InboxQuestion) => need.id === id && need.constellation === constellation;
  take(
    items,
    shown.map((need) => (isIt(need) ? { ...need, said } : need)),
  );
  setTimeout(() => {
    const held = useStore.getState();
    if (held.shown.some(isIt))
      take(
        held.items,
        held.shown.filter((need) => !isIt(need)),
      );
  }, STAYS_MS);
}

/** Reading what tasks wait for takes several calls, and a busy hub changes tasks all the time. */
const WORK_PAUSE_MS = 4000;

/** Keeps the list fresh while the page is seen. Returns the end of it. */
export function watchNeeds(workspace: Workspace): () => void {
  let wanted = true;
  const { fleet, changes } = workspace;
  const asking = async (read: () => Promise<void>) => {
    if (workspace.live.status.state === "offline") return;
    try {
      await read();
    } catch {
      // The link's pill already says that the hub does not answer; the list keeps what it has.
    }
  };
  const readQuestions = () =>
    asking(async () => {
      const items = await workspace.hub.approvals();
      if (wanted) take(items);
    });
  const readWork = () =>
    asking(async () => {
      // Before the fleet is known, nobody knows which phones sleep, and the work for them would not be looked at.
      if (fleet.ready) await readStopped(workspace);
    });
  void readQuestions();
  void readWork();
  // The first answer of the hub comes before its stream: the work is read as soon as the fleet is there.
  const begin = fleet.subscribe(() => {
    if (!fleet.ready) return;
    begin();
    void readWork();
  });
  const ends = [
    changes.on(["approvals"], () => void readQuestions()),
    changes.on(["constellations", "tasks", "devices"], () => void readWork(), WORK_PAUSE_MS),
  ];
  return () => {
    wanted = false;
    begin();
    for (const end of ends) end();
    // What waited for one person is not shown to the next one who signs in here.
    useStore.setState(EMPTY);
    forgetStopped();
  };
}
