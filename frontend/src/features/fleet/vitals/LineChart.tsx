/** One line over the last hour, large: with its scale, its times and its gaps. The table beside it says the same. */

import type { Line } from "../../../model/fleet/vitals.ts";
import { figure, gaps, sentenceOf } from "../../../model/fleet/vitals.ts";
import { timeOfDay } from "../../../model/words/words.ts";
import { Runs } from "./Spark.tsx";

const WIDTH = 360;
const HEIGHT = 96;
const EDGE = 4;

export function LineChart({ line, stepS, untilMs }: { line: Line; stepS: number; untilMs: number }) {
  const across = (step: number) => EDGE + (step * (WIDTH - 2 * EDGE)) / Math.max(1, line.points.length - 1);
  const began = untilMs - (line.points.length - 1) * stepS * 1000;
  return (
    <figure className="linechart">
      <figcaption className="row">
        <b className="strong">{line.title}</b>
        <span className="num end">{figure(line.now, line.unit)}</span>
      </figcaption>
      <div className="plot">
        <span className="scale small dim num" aria-hidden="true">
          <span>{figure(line.most, line.unit)}</span>
          <span>0</span>
        </span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={sentenceOf(line, stepS)}
        >
          <line className="base" x1="0" x2={WIDTH} y1={EDGE} y2={EDGE} />
          <line className="base" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
          <line className="base" x1="0" x2={WIDTH} y1={HEIGHT - EDGE} y2={HEIGHT - EDGE} />
          {gaps(line.points).map(([first, last]) => (
            <rect
              key={first}
              className="gap"
              x={across(first - 1)}
              width={across(last + 1) - across(first - 1)}
              y={EDGE}
              height={HEIGHT - 2 * EDGE}
            />
          ))}
          <Runs line={line} width={WIDTH} height={HEIGHT} edge={EDGE} />
        </svg>
      </div>
      <div className="row small dim num times" aria-hidden="true">
        <span>{timeOfDay(began).slice(0, 5)}</span>
        <span className="end">{timeOfDay(untilMs).slice(0, 5)}</span>
      </div>
    </figure>
  );
}
