/** Finds for the palette beyond the page's own entries: constellations, devices, recipes, schedules, words to run. */
import { useMemo } from "react";
import { useLocation } from "wouter";
import { Schedules } from "../../link/schedules.ts";
import { deviceShown, devices } from "../../model/fleet/fleet.ts";
import type { ConstellationRow } from "../../model/types.ts";
import { momentWords, readerTime } from "../../model/words/clock.ts";
import { createdMs } from "../../model/words/times.ts";
import { type Part, rowShown } from "../../model/words/words.ts";
import { usePart } from "../waiting/mine.ts";
import { useFleet, useWorkspace } from "../workspace/context.ts";
import { useResource } from "../workspace/resource.ts";
import { useSettled } from "../workspace/settled.ts";

export interface PaletteEntry {
  id: string;
  group: string;
  label: string;
  note?: string;
  /** Where the typed words stand, if not in the label. */
  why?: string;
  keys?: string;
  run: () => void;
}

/** The pause between two letters of a quick typist: the hub is not asked for each of them. */
const PAUSE_MS = 150;
const OF_A_KIND_MAX = 6;

/** The dots behind a name, which say that more is asked before anything is done; they are typed in either form. */
const DOTS = /(?:\u2026|\.{1,3})$/;

/** Whether an entry has every word, in its name or beside it. */
export function hasWords(entry: PaletteEntry, words: string): boolean {
  const text = `${entry.group} ${entry.label} ${entry.note ?? ""} ${entry.why ?? ""}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((part) => text.includes(part.replace(DOTS, "")));
}

/** A constellation as a find: its state and time, which tell namesakes apart, and its request where the words stand in that alone. */
export function foundRow(row: ConstellationRow, words: string, part: Part): Omit<PaletteEntry, "run"> {
  const label = row.name || row.request || row.id;
  const at = createdMs(row);
  const note = [rowShown(row, part).word, at ? momentWords(at) : ""].filter(Boolean).join(", ");
  const isNamed = label.toLowerCase().includes(words.trim().toLowerCase());
  return { id: row.id, group: "Constellation", label, note, ...(isNamed || !row.request ? {} : { why: row.request }) };
}

/** What the hub and the fleet have for these words; with none, the newest constellations and no request. */
export function useFinds(words: string): PaletteEntry[] {
  const [, go] = useLocation();
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const part = usePart();
  const asked = useSettled(words.trim(), PAUSE_MS) ?? "";
  const constellations = useResource(`palette ${asked}`, (signal) =>
    hub.constellations(asked ? { q: asked } : {}, signal),
  );
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const schedules = useResource("schedules", (signal) => new Schedules(hub.rest).list(signal));
  return useMemo(() => {
    const open = (path: string) => () => go(path);
    const fitting = (entries: PaletteEntry[]) =>
      entries.filter((entry) => hasWords(entry, words)).slice(0, OF_A_KIND_MAX);
    // What was found for earlier words must not be under Enter.
    const current = asked === words.trim() ? (constellations.value?.items ?? []) : [];
    const found = current.slice(0, OF_A_KIND_MAX).map((row) => ({
      ...foundRow(row, words, part),
      run: open(`/constellations/${row.id}`),
    }));
    const ofFleet = [...devices(fleet).values()].map((view) => ({
      id: view.id,
      group: "Device",
      label: view.device.name,
      note: deviceShown(view, 0).word,
      run: open(`/devices?device=${view.id}`),
    }));
    const known = (recipes.value?.items ?? []).map((row) => ({
      id: `recipe ${row.name}`,
      group: "Recipe",
      label: row.title,
      note: row.name,
      run: open(`/recipes/${row.name}`),
    }));
    const clocks = (schedules.value?.items ?? []).map((row) => ({
      id: `schedule ${row.id}`,
      group: "Schedule",
      label: row.name,
      note: row.next[0] ? readerTime(row.next[0], row.zone).text : row.in_words,
      run: open("/schedules"),
    }));
    if (!words.trim()) return found;
    const fleetFound = fitting(ofFleet);
    const named = fleetFound.filter((entry) => hasWords({ ...entry, group: "", note: "" }, words));
    const rest = fleetFound.filter((entry) => !named.includes(entry));
    // A device whose name is typed is meant; the constellations that ran on it are many.
    return [...named, ...found, ...rest, ...fitting(known), ...fitting(clocks)];
  }, [constellations.value, recipes.value, schedules.value, fleet, asked, words, go, part]);
}

/** The entry that makes a request of what was typed; null where there are no words. */
export function requestOf(words: string, go: (path: string) => void): PaletteEntry | null {
  const text = words.trim();
  if (!text) return null;
  return { id: "ask", group: "Ask", label: text, run: () => go(`/new?q=${encodeURIComponent(text)}`) };
}
