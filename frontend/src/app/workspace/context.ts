/** React's way to the workspace: hooks that read streams, the link's state, the time, and the screen's width. */
import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { soon } from "../../link/slices.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import { boardOf, type TaskView } from "../../model/tasks/board.ts";
import { inEm } from "../../styles/textSize.ts";
import type { Workspace } from "./workspace.ts";

export const WorkspaceContext = createContext<Workspace | null>(null);

export function useWorkspace(): Workspace {
  const workspace = useContext(WorkspaceContext);
  if (!workspace) throw new Error("a page was drawn outside of the workspace");
  return workspace;
}

/** Draws again whenever the stream changes, and gives its revision. */
export function useRevision(model: StreamModel): number {
  return useSyncExternalStore(model.subscribe, () => model.revision);
}

/** A task as it stands; draws again only when that task is another. */
export function useTask(model: StreamModel, fleet: StreamModel, id: string): TaskView | undefined {
  const board = boardOf(model, fleet);
  return useSyncExternalStore(board.subscribe, () => board.view(id));
}

/** Draws again when any task is shown as another, and gives the number of that change. */
export function useBoard(model: StreamModel, fleet: StreamModel): number {
  const board = boardOf(model, fleet);
  return useSyncExternalStore(board.subscribe, board.readRevision);
}

/** Draws again only when a child of this group is another. */
export function useGroup(model: StreamModel, fleet: StreamModel, group: string): number {
  const board = boardOf(model, fleet);
  return useSyncExternalStore(board.subscribe, () => board.groupRevision(group));
}

/** Draws again only when tasks or dependencies come, go or change, and gives the number of that change. */
export function useStructure(model: StreamModel): number {
  return useSyncExternalStore(model.subscribe, () => model.structure);
}

/** A constellation's stream for as long as the component stands. */
export function useStream(id: string): StreamModel {
  const workspace = useWorkspace();
  const held = useRef<{ id: string; model: StreamModel } | null>(null);
  if (held.current?.id !== id) {
    // Taken while drawing, so that the first drawing already has what is known; the effect below counts the use.
    held.current = { id, model: workspace.acquire(id) };
    workspace.release(id);
  }
  useEffect(() => {
    workspace.acquire(id);
    return () => workspace.release(id);
  }, [workspace, id]);
  useRevision(held.current.model);
  return held.current.model;
}

export function useFleet(): StreamModel {
  const { fleet } = useWorkspace();
  useRevision(fleet);
  return fleet;
}

export function useLink() {
  const { live } = useWorkspace();
  return useSyncExternalStore(live.onStatus, live.readStatus);
}

/** Hub time, fresh every `everyMs`; stands still when `everyMs` is 0. */
export function useNow(everyMs: number): number {
  const workspace = useWorkspace();
  const [now, setNow] = useState(() => workspace.now());
  useEffect(() => {
    const tick = () => setNow(workspace.now());
    tick();
    // The link learns the hub's time when it is up.
    const stop = workspace.live.onStatus(tick);
    const timer = everyMs ? setInterval(tick, everyMs) : undefined;
    return () => {
      stop();
      clearInterval(timer);
    };
  }, [workspace, everyMs]);
  return now;
}

/** The value as it is after a pause; while it changes all the time, the one of this moment every `everyMs`. */
export function usePaced<T>(value: T, everyMs: number): T {
  const held = useRef({ value, atMs: Number.NEGATIVE_INFINITY });
  const [, again] = useState(0);
  const nowMs = performance.now();
  if (held.current.value !== value && nowMs - held.current.atMs >= everyMs) held.current = { value, atMs: nowMs };
  useEffect(() => {
    if (held.current.value === value) return;
    const left = held.current.atMs + everyMs - performance.now();
    const timer = setTimeout(() => again((count) => count + 1), Math.max(0, left) + 1);
    return () => clearTimeout(timer);
  });
  return held.current.value;
}

/** False until the picture in which `begun` became true is out: large parts of a page come in a task of their own. */
export function useLater(begun: boolean): boolean {
  const [later, setLater] = useState(false);
  useEffect(() => {
    let wanted = begun;
    if (wanted) soon(() => wanted && setLater(true));
    return () => {
      wanted = false;
    };
  }, [begun]);
  return begun && later;
}

const phone = typeof matchMedia === "function" ? matchMedia(inEm("(max-width: 720px)")) : null;

export function usePhone(): boolean {
  return useSyncExternalStore(
    (listener) => {
      phone?.addEventListener("change", listener);
      return () => phone?.removeEventListener("change", listener);
    },
    () => phone?.matches ?? false,
  );
}

/** Whether the window fits a media query now. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = typeof matchMedia === "function" ? matchMedia(inEm(query)) : null;
      list?.addEventListener("change", listener);
      return () => list?.removeEventListener("change", listener);
    },
    () => typeof matchMedia === "function" && matchMedia(inEm(query)).matches,
  );
}
