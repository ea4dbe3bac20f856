/** Home for someone who comes back: what changed since this browser showed Starloom to this person last. */

import { Link } from "wouter";
import { usePart } from "../../app/waiting/mine.ts";
import { deviceShown } from "../../model/fleet/fleet.ts";
import type { ConstellationRow } from "../../model/types.ts";
import { age, plural, rowShown } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { isNothing, type Since } from "./since.ts";

const DEVICES_MAX = 4;

interface SinceCardProps {
  /** When the person was here last. */
  sinceMs: number;
  now: number;
  found: Since;
  /** The ends that are told here. */
  worth: readonly ConstellationRow[];
}

export function SinceCard({ sinceMs, now, found, worth }: SinceCardProps) {
  const part = usePart();
  const more = found.more ? " or more" : "";
  const parts = [
    found.ended.length && `${plural(found.ended.length, "request")}${more} ended`,
    found.failed.length && `${found.failed.length} failed`,
    found.alarms.length && `${found.alarms.length} raised an alarm`,
    found.asked.length && `${found.asked.length}${more} began`,
    found.joined.length && `${plural(found.joined.length, "device")} joined`,
    found.gone.length && `${plural(found.gone.length, "device")} went out of reach`,
  ].filter(Boolean);
  return (
    <section className="card" aria-label="Since you were here">
      <header>
        <h2>Since you were here</h2>
        <span className="dim">{age(sinceMs, now)}</span>
      </header>
      <p className="body">{isNothing(found) ? "Nothing changed." : `${parts.join(", ")}.`}</p>
      {worth.map((row) => {
        const shown = rowShown(row, part);
        return (
          <Link key={row.id} className="item" href={`/constellations/${row.id}`}>
            <Glyph name={shown.glyph} tone={shown.tone} />
            <b className="strong cut">{row.name || row.request || row.id}</b>
            <span className="small dim nowrap">{shown.word}</span>
            {row.sentence && <span className="sub">{row.sentence}</span>}
          </Link>
        );
      })}
      {[...found.joined, ...found.gone].slice(0, DEVICES_MAX).map((view) => (
        <Link key={view.id} className="deviceline" href={`/devices/${view.id}`}>
          <span className="tag">{view.tag}</span>
          <span className="cut">{view.device.name}</span>
          <span className="end small dim nowrap">
            {found.joined.includes(view) ? "joined" : deviceShown(view, 0).word.toLowerCase()}
          </span>
        </Link>
      ))}
    </section>
  );
}
