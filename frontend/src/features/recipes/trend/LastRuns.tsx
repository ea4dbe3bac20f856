/** The last runs of a recipe or a schedule beside each other: what has changed, their times as a line, a row for each. */
import { Link } from "wouter";
import { type TrendRun, WAITS } from "../../../model/types.ts";
import { ownZone, readerTime } from "../../../model/words/clock.ts";
import { constellationShown, duration } from "../../../model/words/words.ts";

const WIDTH = 240;
const HEIGHT = 32;
const EDGE = 3;

interface Trend {
  more: boolean;
  runs: readonly TrendRun[];
  sentence: string;
}

/** `title` names the part of the page; a page with several of them gives each its own. */
export function LastRuns({ trend, title = "Trend" }: { trend: Trend; title?: string }) {
  const { runs } = trend;
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <div className="body">
        <p>{trend.sentence}</p>
        {runs.length > 1 && <TimesLine runs={runs} />}
      </div>
      {runs.length > 0 && (
        <div className="tablescroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Began</th>
                <th scope="col">State</th>
                <th scope="col" className="num">
                  Took
                </th>
                <th scope="col" className="num">
                  Work
                </th>
                <th scope="col" className="num">
                  Tasks
                </th>
                <th scope="col">Waited longest</th>
                <th scope="col" className="num">
                  Mended
                </th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <tr key={run.constellation}>
                  <th scope="row">
                    <Link className="link nowrap" href={`/constellations/${run.constellation}`}>
                      {readerTime(run.created_at ?? "", ownZone()).text}
                    </Link>
                  </th>
                  <td>{stateWord(run)}</td>
                  <td className="num">{duration(run.makespan_ms)}</td>
                  <td className="num">{duration(run.work_ms)}</td>
                  <td className="num">{run.tasks}</td>
                  <td>{waitWords(run)}</td>
                  <td className="num">{run.mended}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {trend.more && <p className="small dim body">There are earlier ones.</p>}
        </div>
      )}
    </section>
  );
}

/** The times, the oldest on the left; the scale begins at 0. */
function TimesLine({ runs }: { runs: readonly TrendRun[] }) {
  const times = runs.map((run) => run.makespan_ms).reverse();
  const most = Math.max(...times, 1);
  const across = (at: number) => EDGE + (at * (WIDTH - 2 * EDGE)) / Math.max(1, times.length - 1);
  const up = (ms: number) => HEIGHT - EDGE - (ms / most) * (HEIGHT - 2 * EDGE);
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`Times of the last ${times.length} runs, from ${duration(times[0] ?? 0)} to ${duration(times.at(-1) ?? 0)}`}
    >
      <polyline
        points={times.map((ms, at) => `${across(at).toFixed(1)},${up(ms).toFixed(1)}`).join(" ")}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
      />
    </svg>
  );
}

const stateWord = (run: TrendRun): string => constellationShown(run.state).word;

/** What a run waited for longest; empty where it did not wait. */
function waitWords(run: TrendRun): string {
  const words = run.wait ? WAITS[run.wait] : undefined;
  return words && run.wait_ms > 0 ? `${duration(run.wait_ms)} ${words}` : "";
}
