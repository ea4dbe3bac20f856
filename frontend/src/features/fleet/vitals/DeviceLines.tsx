/** The lines of one device: small in a row of the fleet, large on its page, there with the same as a table. */

import { figure, keptWords, linesOf, tableOf } from "../../../model/fleet/vitals.ts";
import type { DeviceWork, Vitals } from "../../../model/types.ts";
import { constellationShown, timeOfDay } from "../../../model/words/words.ts";
import { Empty } from "../../../ui/parts.tsx";
import { LineChart } from "./LineChart.tsx";
import { Spark } from "./Spark.tsx";

/** Rows of the table: one in five minutes. */
const TABLE_STEPS = 10;

export function SmallLines({ vitals, device }: { vitals: Vitals | null; device: string }) {
  const lines = linesOf(vitals, device);
  if (!vitals) return null;
  if (lines.length === 0) return <span className="small dim">no figures in the last hour</span>;
  return (
    <span className="sparks">
      {lines.map((line) => (
        <Spark key={line.vital} line={line} stepS={vitals.step_s} />
      ))}
    </span>
  );
}

export function LargeLines({ vitals, device }: { vitals: Vitals; device: string }) {
  const lines = linesOf(vitals, device);
  const rows = tableOf(lines, vitals.until_ms, vitals.step_s, TABLE_STEPS);
  return (
    <section className="card" aria-label="The last hour">
      <header>
        <h2>The last hour</h2>
      </header>
      {lines.length === 0 ? (
        <Empty title="This device has said nothing in the last hour." />
      ) : (
        <>
          <div className="linecharts">
            {lines.map((line) => (
              <LineChart key={line.vital} line={line} stepS={vitals.step_s} untilMs={vitals.until_ms} />
            ))}
          </div>
          <KeptLine vitals={vitals} />
          <details className="body">
            <summary>As a table</summary>
            <div className="tablescroll">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Time</th>
                    {lines.map((line) => (
                      <th key={line.vital} scope="col" className="num">
                        {line.title}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {rows.map((row) => (
                    <tr key={row.atMs}>
                      <th scope="row">{timeOfDay(row.atMs).slice(0, 5)}</th>
                      {row.values.map((value, at) => (
                        <td key={lines[at]?.vital} className="num">
                          {figure(value, lines[at]?.unit ?? "")}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </details>
        </>
      )}
    </section>
  );
}

/** Since when the lines are kept, and by which of two hubs. */
export function KeptLine({ vitals }: { vitals: Vitals }) {
  return <p className="kept small dim">{keptWords(vitals, (ms) => timeOfDay(ms).slice(0, 5))}</p>;
}

/** `7 today`, `7 today, 1 failed`. */
export function workWordsOf(work: DeviceWork | undefined): string {
  const counts = work?.constellations ?? {};
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (!all) return "";
  const failed = counts.failed ?? 0;
  return `${all} today${failed ? `, ${failed} failed` : ""}`;
}

/** Every state with its count, in words: `5 done, 1 failed`. */
export function workParts(work: DeviceWork | undefined): { word: string; count: number }[] {
  return Object.entries(work?.constellations ?? {}).map(([state, count]) => ({
    // The counts do not tell those that wait for a person from those at work.
    word:
      state === "active"
        ? "not ended"
        : constellationShown(state as Parameters<typeof constellationShown>[0]).word.toLowerCase(),
    count,
  }));
}
