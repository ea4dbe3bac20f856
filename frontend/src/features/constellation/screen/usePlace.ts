/**
 * The address of a constellation's page: the task that is open, lens, filter, version, tab and part of the answer all
 * stand in it, so that a link or a reload shows the same. Reads and writes the address; draws nothing.
 */
import { useCallback, useEffect, useRef } from "react";
import { useLocation, useSearch } from "wouter";
import type { InspectorTab } from "../inspector/Inspector.tsx";

/** What the address asks the answer to be when a person closed it. */
export const HIDDEN = "none";

interface Change {
  /** Another task, or none; left out, the task stays. */
  task?: string | null;
  /** Fields of the address by name; null or an empty text takes a field away. */
  set?: Record<string, string | null>;
}

export interface Place {
  id: string;
  task: string | null;
  tab: InspectorTab | null;
  lens: string | null;
  filter: string;
  version: number | null;
  part: string | null;
  /** Go to a changed address; `replace` leaves no step for the browser's *back*. */
  to: (change: Change, replace?: boolean) => void;
  select: (task: string) => void;
  /** A key that chooses a task takes the focus along; a click leaves it in the graph or the list. */
  selectByKey: (task: string) => void;
  /** The log of the open task, with the focus. */
  openLog: () => void;
}

const intoTask = (): void =>
  document.querySelector<HTMLElement>(".con > .inspector h2")?.focus({ preventScroll: true });

export function usePlace(id: string, task: string | null): Place {
  const [, go] = useLocation();
  const search = new URLSearchParams(useSearch());
  const tab = search.get("tab");
  const to = useCallback(
    (change: Change, replace = false) => {
      const next = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(change.set ?? {})) {
        if (value === null || value === "") next.delete(name);
        else next.set(name, value);
      }
      const chosen = change.task === undefined ? task : change.task;
      if (change.task !== undefined && !change.set?.tab) next.delete("tab");
      const path = `/constellations/${encodeURIComponent(id)}${chosen ? `/t/${encodeURIComponent(chosen)}` : ""}`;
      go(`${path}${next.size ? `?${next}` : ""}`, { replace });
    },
    [go, id, task],
  );
  const select = useCallback((next: string) => to({ task: next }), [to]);
  const byKey = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus follows each choice of a task or of its tab.
  useEffect(() => {
    if (byKey.current) intoTask();
    byKey.current = false;
  }, [task, tab]);
  return {
    id,
    task,
    tab: tab as InspectorTab | null,
    lens: search.get("lens"),
    filter: search.get("q") ?? "",
    version: search.get("v") ? Number(search.get("v")) : null,
    part: search.get("answer"),
    to,
    select,
    selectByKey: (next) => {
      if (next === task) return intoTask();
      byKey.current = true;
      select(next);
    },
    openLog: () => {
      byKey.current = task !== null;
      to({ set: { tab: "log" } });
    },
  };
}
