/** The lines of one device: small in a row of the fleet, large on its page, there with the same as a table. */

import { useMemo } from "react";
import { Link } from "wouter";
import { lazily } from "../../../app/workspace/lazily.tsx";
import { figure, keptWords, type Line, linesOf, tableOf } from "../../../model/fleet/vitals.ts";
import { type Absence, absenceWords } from "../../../model/run/absences.ts";
import { callEndWords, type DeviceCall } from "../../../model/run/deviceCalls.ts";
import type { DeviceWork, Vitals } from "../../../model/types.ts";
import { constellationShown, timeOfDay } from "../../../model/words/words.ts";
import { Empty } from "../../../ui/parts.tsx";
import { useHour } from "./hour.ts";
import { Spark } from "./Spark.tsx";

/** The charts and the library that draws them are read when a device's page opens. */
const HourCharts = lazily(
  "The charts of the last hour",
  () => import("./HourCharts.tsx"),
  (module) => module.default,
);
const ROW_PX = 64;

/** Rows of the table: one in five minutes. */
const TABLE_STEPS = 10;

const clockTime = (ms: number): string => timeOfDay(ms).slice(0, 5);

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
  const lines = useMemo(() => linesOf(vitals, device), [vitals, device]);
  const { calls, away } = useHour(device, vitals, lines);
  return (
    <section className="card" aria-label="The last hour">
      <header>
        <h2>The last hour</h2>
      </header>
      {lines.length === 0 ? (
        <Empty title="This device has said nothing in the last hour." />
      ) : (
        <>
          <HourCharts
            waiting={<div className="hourroom" style={{ height: lines.length * ROW_PX }} />}
            lines={lines}
            vitals={vitals}
            calls={calls}
            away={away}
          />
          <HourNotes calls={calls} away={away} />
          <KeptLine vitals={vitals} />
          <details className="body">
            <summary>As a table</summary>
            <FigureTable lines={lines} vitals={vitals} />
            {calls.length > 0 && <CallTable calls={calls} nowMs={vitals.until_ms} />}
          </details>
        </>
      )}
    </section>
  );
}

/** The marks of the charts in words. */
function HourNotes({ calls, away }: { calls: readonly DeviceCall[]; away: readonly Absence[] }) {
  const notes = [];
  if (away.length > 0) notes.push(`Shaded: away ${away.map((one) => absenceWords(one, clockTime)).join(", ")}.`);
  if (calls.some((call) => call.end === "failed")) notes.push("Red line: a call failed.");
  if (notes.length === 0) return null;
  return <p className="small hournotes">{notes.join(" ")}</p>;
}

function FigureTable({ lines, vitals }: { lines: readonly Line[]; vitals: Vitals }) {
  const rows = tableOf(lines, vitals.until_ms, vitals.step_s, TABLE_STEPS);
  return (
    <div className="tablescroll">
      <table aria-label="Figures of the last hour">
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
              <th scope="row">{clockTime(row.atMs)}</th>
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
  );
}

/** The calls that the chart draws, the newest first. */
function CallTable({ calls, nowMs }: { calls: readonly DeviceCall[]; nowMs: number }) {
  return (
    <div className="tablescroll">
      <table aria-label="Calls of the last hour">
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col">Task</th>
            <th scope="col">Ended</th>
          </tr>
        </thead>
        <tbody>
          {[...calls].reverse().map((call) => (
            <tr key={`${call.constellation}/${call.task}/${call.fromMs}`}>
              <th scope="row">{timeOfDay(call.fromMs)}</th>
              <td>
                <Link className="link" href={`/constellations/${call.constellation}/t/${call.task}`}>
                  {call.task}
                </Link>{" "}
                <span className="dim">{call.of}</span>
              </td>
              <td>{callEndWords(call, nowMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Since when the lines are kept, and by which of two hubs. */
export function KeptLine({ vitals }: { vitals: Vitals }) {
  return <p className="kept small dim">{keptWords(vitals, clockTime)}</p>;
}

/** `7 today`, `7 today, 1 failed`. */
export function workWordsOf(work: DeviceWork | undefined): string {
  const counts = work?.constellations ?? {};
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (!all) return "";
  const failed = failedHere(work);
  return `${all} today${failed ? `, ${failed} failed` : ""}`;
}

/** The constellations of which a task failed on the device; the others failed elsewhere. */
const failedHere = (work: DeviceWork | undefined): number => work?.failed_here ?? work?.constellations.failed ?? 0;

/** Every state with its count, in words: `5 done, 1 failed, 2 failed elsewhere`. */
export function workParts(work: DeviceWork | undefined): { word: string; count: number }[] {
  const here = failedHere(work);
  const parts = Object.entries(work?.constellations ?? {}).flatMap(([state, count]) => {
    if (state === "failed")
      return [
        { word: "failed", count: here },
        { word: "failed elsewhere", count: count - here },
      ];
    // The counts do not tell those that wait for a person from those at work.
    const shown = constellationShown(state as Parameters<typeof constellationShown>[0]).word.toLowerCase();
    return [{ word: state === "active" ? "not ended" : shown, count }];
  });
  return parts.filter(({ count }) => count > 0);
}
