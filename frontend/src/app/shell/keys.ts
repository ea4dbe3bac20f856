/** The keyboard map: one listener, two-key sequences, nothing while one types or behind a dialog. `?` shows the list. */
import { useEffect, useRef } from "react";
import { pressedKey } from "../../ui/pressedKey.ts";

export interface Key {
  keys: string;
  does: string;
  run: () => void;
  /** Works while one types, too. */
  always?: boolean;
}

const SEQUENCE_MS = 900;
/** A letter that follows one which means nothing so soon is typed for a field that has not got the focus. */
const TYPING_MS = 400;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable]"));
}

function nameOf(event: KeyboardEvent): string {
  const control = event.ctrlKey || event.metaKey ? "Ctrl-" : "";
  const key = pressedKey(event);
  if (key.length > 1 || !control) return control + key;
  return `${control}${event.shiftKey ? "Shift-" : ""}${key.toUpperCase()}`;
}

/** Listens for these keys for as long as the component stands. Later components hear first. */
export function useKeys(keys: Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let before = "";
    let at = 0;
    let strayAt = Number.NEGATIVE_INFINITY;
    const hear = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || !pressedKey(event)) return;
      const name = nameOf(event);
      const sequence = event.timeStamp - at < SEQUENCE_MS ? `${before} ${name}` : "";
      before = name;
      at = event.timeStamp;
      const typing = isTyping(event.target);
      const inDialog = document.querySelector("dialog[open]") !== null;
      const found =
        latest.current.find((key) => key.keys === sequence) ?? latest.current.find((key) => key.keys === name);
      const letter = pressedKey(event).length === 1 && !event.ctrlKey && !event.metaKey;
      const meant = found || latest.current.some((key) => key.keys.startsWith(`${name} `));
      const strayed = event.timeStamp - strayAt < TYPING_MS;
      if (letter && !typing && (strayed || !meant)) strayAt = event.timeStamp;
      if (!found || (typing && !found.always)) return;
      if (letter && strayed) return;
      // The browser's own Ctrl-K leaves the page; the others are for the fields of the dialog.
      if (!inDialog || found.keys === "Ctrl-K") event.preventDefault();
      if (!inDialog) found.run();
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  }, []);
}
