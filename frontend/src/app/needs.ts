/** What waits for a person, over all constellations: questions and approvals, read every few seconds. */
import { create } from "zustand";
import type { Need } from "../link/endpoints.ts";
import { readStopped, sleeping } from "./waiting.ts";
import type { Workspace } from "./workspace.ts";

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

/** Takes a question off the list at once; the next reading is the truth. */
export function answeredHere(constellation: string, id: string): void {
  const { items, set } = useStore.getState();
  set(items.filter((item) => item.id !== id || item.constellation !== constellation));
}

const EVERY_MS = 4000;
const STOPPED_EVERY = 3;

/** Keeps the list fresh while the page is seen. Returns what stops it. */
export function watchNeeds(workspace: Workspace): () => void {
  let wanted = true;
  let times = 0;
  let asleep = "";
  const { fleet } = workspace;
  const readWork = async () => {
    // Before the fleet is known, nobody knows which phones sleep, and the work for them would not be looked at.
    if (!fleet.ready) return;
    const now = sleeping(fleet).join();
    // What lacks a grant or sleeps stands for longer than a question: it is looked at less often.
    if (now === asleep && times++ % STOPPED_EVERY !== 0) return;
    asleep = now;
    await readStopped(workspace);
  };
  const read = async () => {
    if (document.hidden || workspace.live.status.state === "offline") return;
    try {
      const items = await workspace.hub.approvals();
      if (wanted) useStore.getState().set(items);
      if (wanted) await readWork();
    } catch {
      // The link's pill already says that the hub does not answer; the list keeps what it has.
    }
  };
  void read();
  // The first answer of the hub comes before its stream: the work is read as soon as the fleet is there.
  const begin = fleet.subscribe(() => {
    if (!fleet.ready) return;
    begin();
    void read();
  });
  const timer = setInterval(() => void read(), EVERY_MS);
  return () => {
    wanted = false;
    begin();
    clearInterval(timer);
  };
}
