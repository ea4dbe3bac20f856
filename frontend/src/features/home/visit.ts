/**
 * When this person was here last, by this browser. A visit lasts while a page of Starloom is seen; it is over once none
 * was for a while. Kept for a few people of one browser in its local storage; nothing but times is in it.
 */
import { useEffect, useState } from "react";
import { useWorkspace } from "../../app/workspace/context.ts";

const KEY = "starloom.visits";
const PEOPLE_MAX = 8;
const NOTED_EVERY_MS = 20_000;
/** Shorter than this nobody was away: a reload, another tab, a look at something else. */
export const AWAY_LEAST_MS = 5 * 60_000;

interface Visit {
  person: string;
  /** When the visit before this one ended; 0: there was none. */
  beforeMs: number;
  seenMs: number;
}

/** The visits with this person seen now; another visit begins after a time away. The person seen last stands first. */
export function seen(visits: readonly Visit[], person: string, nowMs: number): Visit[] {
  const held = visits.find((visit) => visit.person === person);
  const away = held !== undefined && nowMs - held.seenMs >= AWAY_LEAST_MS;
  const now: Visit = { person, beforeMs: held ? (away ? held.seenMs : held.beforeMs) : 0, seenMs: nowMs };
  return [now, ...visits.filter((visit) => visit.person !== person)].slice(0, PEOPLE_MAX);
}

/** When the visit before this one ended, in hub time; 0 for somebody who was never here. */
export function useVisitBefore(): number {
  const workspace = useWorkspace();
  const person = workspace.session?.principal.id ?? "";
  const [before, setBefore] = useState(0);
  useEffect(() => {
    if (!person) return;
    const note = () => {
      if (document.visibilityState === "hidden") return;
      const visits = seen(readVisits(), person, workspace.now());
      writeVisits(visits);
      setBefore(visits[0]?.beforeMs ?? 0);
    };
    note();
    const timer = setInterval(note, NOTED_EVERY_MS);
    document.addEventListener("visibilitychange", note);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", note);
    };
  }, [workspace, person]);
  return before;
}

function readVisits(): Visit[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isVisit).slice(0, PEOPLE_MAX) : [];
  } catch {
    // Not readable, or storage is off: then nobody was here before.
    return [];
  }
}

function writeVisits(visits: Visit[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(visits));
  } catch {
    // Storage is off or full: the next visit does not know of this one.
  }
}

const isVisit = (one: unknown): one is Visit => {
  const visit = one as Partial<Visit> | null;
  return typeof visit?.person === "string" && typeof visit.beforeMs === "number" && typeof visit.seenMs === "number";
};
