/** The palette: every action with its key, and the finds of the hub for the typed words; arrows and Enter choose. */
import { type KeyboardEvent, useId, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Modal } from "../../ui/Modal.tsx";
import { pressedKey } from "../../ui/pressedKey.ts";
import { hasWords, type PaletteEntry, requestOf, useFinds } from "./finds.ts";

const SHOWN_MAX = 40;

export function Palette({ entries, onClose }: { entries: PaletteEntry[]; onClose: () => void }) {
  const [words, setWords] = useState("");
  // The entry itself: what the hub finds meanwhile moves the others, and none of them comes under Enter.
  const [chosen, setChosen] = useState("");
  const list = useId();
  const [, go] = useLocation();
  const finds = useFinds(words);
  const found = useMemo(() => {
    const own = entries.filter((entry) => hasWords(entry, words)).slice(0, SHOWN_MAX);
    const request = requestOf(words, go);
    return [...own, ...finds, ...(request ? [request] : [])];
  }, [entries, finds, words, go]);
  const active = found.find((entry) => entry.id === chosen) ?? found[0];

  const onKeyDown = (event: KeyboardEvent) => {
    const key = pressedKey(event);
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (step && active) {
      event.preventDefault();
      const next = found[(found.indexOf(active) + step + found.length) % found.length];
      if (next) setChosen(next.id);
    } else if (key === "Enter" && active) {
      event.preventDefault();
      onClose();
      active.run();
    }
  };

  return (
    <Modal label="Search and do anything" className="palette" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={active ? `${list}-${found.indexOf(active)}` : undefined}
        aria-label="Search, or say what should happen"
        placeholder="Search, or say what should happen"
        // biome-ignore lint/a11y/noAutofocus: the palette is opened to type into it.
        autoFocus
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setChosen("");
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={list} aria-label="Found">
        {found.map((entry, index) => (
          <div
            key={entry.id}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={entry === active}
            onMouseMove={() => setChosen(entry.id)}
            onClick={() => {
              onClose();
              entry.run();
            }}
            onKeyDown={undefined}
          >
            <span className="dim small">{entry.group}</span>
            <span className="hit">
              <span className="cut">{entry.label}</span>
              {entry.why && <span className="dim small cut">{entry.why}</span>}
            </span>
            {entry.note && <span className="dim small about">{entry.note}</span>}
            {entry.keys && (
              <kbd className="end only-wide" aria-hidden="true">
                {entry.keys}
              </kbd>
            )}
          </div>
        ))}
      </div>
    </Modal>
  );
}
