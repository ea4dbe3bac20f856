/** The strip under the answer: how many stand where, and which devices are in use. Every number filters the list. */
import { useState } from "react";
import { type DeviceView, deviceShown, devices } from "../../../model/fleet/fleet.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { Tally } from "../../../model/tasks/tally.ts";
import type { Count } from "../../../model/words/presentation.ts";
import { plural } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { StateBar } from "../../../ui/parts.tsx";

interface SummaryProps {
  counts: Count[];
  tally: Tally;
  fleet: StreamModel;
  onFilter: (filter: string) => void;
}

/** A state's word in the middle of a sentence, without what follows a comma or colon. */
export const shortWord = (word: string): string => (word.split(/[,:]/)[0] ?? word).toLowerCase();

export function Summary({ counts, tally, fleet, onFilter }: SummaryProps) {
  const merged = mergeDone(counts);
  return (
    <div className="summary">
      <StateBar counts={counts} className="hist" />
      <span className="counts">
        {merged.map(({ shown, count }) => (
          <button
            type="button"
            key={shown.glyph}
            className="count"
            onClick={() => onFilter(`state:${shortWord(shown.word).replaceAll(" ", "-")}`)}
          >
            <Glyph name={shown.glyph} tone={shown.tone} />
            <b>{count}</b>
            <span className="says">
              {shown.stuck && tally.alike(shown.glyph) ? shown.word.toLowerCase() : shortWord(shown.word)}
            </span>
          </button>
        ))}
      </span>
      <UsedDevices tally={tally} fleet={fleet} />
    </div>
  );
}

/** Done and done, checked are one number here; the bar still tells them apart. */
function mergeDone(counts: Count[]): Count[] {
  const done = counts.filter((count) => count.shown.tone === "teal");
  const first = done[0];
  if (!first) return counts;
  const rest = counts.filter((count) => count.shown.tone !== "teal");
  return [{ shown: first.shown, count: done.reduce((sum, count) => sum + count.count, 0) }, ...rest];
}

/** So many devices stand beside the counts at once; the others follow on a press. */
const DEVICES_MAX = 4;

/** The devices in use, those at work first. */
export function UsedDevices({ tally: { onDevices }, fleet }: { tally: Pick<Tally, "onDevices">; fleet: StreamModel }) {
  const [open, setOpen] = useState(false);
  const working = ({ id }: DeviceView) => onDevices.get(id)?.working ?? 0;
  const known = [...devices(fleet).values()]
    .filter((view) => onDevices.has(view.id))
    .sort((one, other) => working(other) - working(one));
  const more = known.length - DEVICES_MAX;
  const chips = (open ? known : known.slice(0, DEVICES_MAX)).map((view) => {
    const count = working(view);
    const shown = deviceShown(view, count);
    return (
      <span key={view.id} className={shown.stuck ? `chip toned tone-${shown.tone}` : "chip"} title={shown.word}>
        {shown.stuck && <Glyph name={shown.glyph} tone={shown.tone} />}
        <b>{view.tag}</b>
        {view.device.name}
        {!shown.stuck && count > 0 && (
          <span className="dim">{`${count} of ${plural(view.offer?.slots ?? 1, "slot")}`}</span>
        )}
      </span>
    );
  });
  return (
    <span className={`end row only-wide ${open ? "wrap" : ""}`}>
      {chips}
      {more > 0 && (
        <button type="button" className="chip out" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fewer" : `and ${more} more`}
        </button>
      )}
    </span>
  );
}
