/**
 * Whether the page is being printed. A list that is cut on a screen is whole on paper: it is drawn before the
 * browser lays the sheets out. `printWhole` also waits for pictures and files, which a browser's own menu does not.
 */
import { useSyncExternalStore } from "react";
import { flushSync } from "react-dom";

/** So many rows, files or pictures of one part are printed. */
export const PRINTED_MAX = 2000;
/** A part that is still not read after this time says so on the paper. */
const READING_MS = 15_000;
const LOOK_MS = 50;
const READING = "main [data-reading]";

let printing = false;
const listeners = new Set<() => void>();

function set(now: boolean): void {
  if (now === printing) return;
  printing = now;
  flushSync(() => {
    for (const listener of listeners) listener();
  });
}

if (typeof window !== "undefined") {
  window.addEventListener("beforeprint", () => set(true));
  window.addEventListener("afterprint", () => set(false));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const isPrinting = () => printing;
export const usePrinting = (): boolean => useSyncExternalStore(subscribe, isPrinting, isPrinting);

/** How much of a list is shown: a screen's own bound, or that of the paper. */
export const useBound = (onScreen: number): number => (usePrinting() ? PRINTED_MAX : onScreen);

function isRead(): boolean {
  const pictures = [...document.querySelectorAll<HTMLImageElement>("main img")];
  return document.querySelector(READING) === null && pictures.every((one) => one.complete);
}

/** Draws the page as it is printed, waits until its pictures and files are read, and opens the browser's dialog. */
export async function printWhole(): Promise<void> {
  set(true);
  const end = Date.now() + READING_MS;
  while (!isRead() && Date.now() < end) await new Promise((next) => setTimeout(next, LOOK_MS));
  try {
    window.print();
  } finally {
    set(false);
  }
}
