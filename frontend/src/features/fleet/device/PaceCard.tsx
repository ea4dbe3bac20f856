/** How long the calls of each tool take on a device: the usual time, and the range of two of three calls. */
import { useFleet } from "../../../app/workspace/context.ts";
import { pacesOf } from "../../../model/fleet/paces.ts";
import { duration, plural } from "../../../model/words/words.ts";

const SHOWN_MAX = 12;

export function PaceCard({ device }: { device: string }) {
  const all = pacesOf(useFleet(), device);
  if (all.length === 0) return null;
  const most = Math.max(...all.map((line) => line.highMs));
  const share = (ms: number) => `${((ms / most) * 100).toFixed(2)}%`;
  return (
    <section className="card" aria-label="How long its calls take">
      <header>
        <h2>How long its calls take</h2>
        <span className="small dim">from the last calls of each tool</span>
      </header>
      <ul className="plainlist body stack paces">
        {all.slice(0, SHOWN_MAX).map((line) => (
          <li key={line.tool} className="course">
            <b className="strong cut">{line.tool}</b>
            <span className="small dim">
              usually {duration(line.usualMs)}
              {duration(line.lowMs) !== duration(line.highMs) &&
                `, two of three within ${duration(line.lowMs)} to ${duration(line.highMs)}`}
              ; {plural(line.count, "call")}
              {line.failures > 0 ? `, ${plural(line.failures, "fault")} of the device` : ""}
            </span>
            <span className="range" aria-hidden="true">
              <i style={{ left: share(line.lowMs), width: share(line.highMs - line.lowMs) }} />
              <b style={{ left: share(line.usualMs) }} />
            </span>
          </li>
        ))}
        {all.length > SHOWN_MAX && <li className="dim">and {all.length - SHOWN_MAX} faster tools</li>}
      </ul>
    </section>
  );
}
