/** A small line over the last hour. A time at which nothing was heard is left open; a lone value is a dot. */
import type { Line } from "../../../model/fleet/vitals.ts";
import { figure, nearlyFull, overFull, runs, sentenceOf } from "../../../model/fleet/vitals.ts";

const WIDTH = 72;
const HEIGHT = 20;
const EDGE = 2;

export function Spark({ line, stepS }: { line: Line; stepS: number }) {
  return (
    <span className="spark" title={sentenceOf(line, stepS)}>
      <span className="small dim">{line.title}</span>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={sentenceOf(line, stepS)}
      >
        <line className="base" x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
        <Runs line={line} width={WIDTH} height={HEIGHT} edge={EDGE} />
      </svg>
      <span
        className={`small num nowrap ${overFull(line) || nearlyFull(line) ? "tone-amber word" : ""}`}
        aria-hidden="true"
      >
        {line.now === null ? "?" : figure(line.now, line.unit)}
      </span>
    </span>
  );
}

/** The runs of a line in a box, from its lower left corner. */
function Runs({ line, width, height, edge }: { line: Line; width: number; height: number; edge: number }) {
  const across = (step: number) => edge + (step * (width - 2 * edge)) / Math.max(1, line.points.length - 1);
  const up = (value: number) => height - edge - (value / line.most) * (height - 2 * edge);
  return runs(line.points).map(([first, values]) =>
    values.length === 1 ? (
      // A line of no length has round ends, so it stays a dot however the box is stretched.
      <path key={first} className="run lone" d={`M${across(first)} ${up(values[0] ?? 0)}h0.01`} />
    ) : (
      <polyline
        key={first}
        className="run"
        points={values.map((value, at) => `${across(first + at).toFixed(1)},${up(value).toFixed(1)}`).join(" ")}
      />
    ),
  );
}
