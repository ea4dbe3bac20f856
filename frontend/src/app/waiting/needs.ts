/** What waits for a person, over all constellations: questions and approvals, read when they change. */
import { create } from "zustand";
import type { Need } from "../../link/endpoints.ts";
import type { Question } from "../../model/types.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { forgetStopped, readStopped } from "./waiting.ts";

interface Needs {
  items: Need[];
  read: boolean;
  set: (items: Need[]) => void;
}

const useStore = create<Needs>((set) => ({ items: [], read: false, set: (items) => set({ items, read: true }) }));

export function useNeeds(): { items: Need[]; count: number; read: boolean } {
  const items = useStore((state) => state.items);
  const read = useStore((state) => state.read);
  return { items, count: items.length, read };
}

/**
 * The open questions of a constellation with the answers that take files away, which the hub's list alone knows. One that
 * is not in it yet is held back, since such an answer would look like any other. Without the hub nothing can be answered,
 * and all are shown.
 */
export function withDangers(constellation: string, open: Question[], needs: Need[], away: boolean) {
  return open.flatMap((question) => {
    const need = needs.find((one) => one.constellation === constellation && one.id === question.id);
    return need || away ? [{ ...question, takes_away: need?.takes_away }] : [];
  });
}

/** Takes a question off the list at once; the next reading is the truth. */
export function answeredHere(constellation: string, id: string): void {
  const { items, set } = useStore.getState();
  set(items.filter((item) => item.id !== id || item.constellation !== constellation));
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
      if (wanted) useStore.getState().set(items);
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
    useStore.setState({ items: [], read: false });
    forgetStopped();
  };
}
