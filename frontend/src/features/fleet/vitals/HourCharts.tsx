/** The last hour of a device: its calls and its lines below each other, with one time axis, one moment and one zoom. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { figure, type Line, sentenceOf } from "../../../model/fleet/vitals.ts";
import type { Absence } from "../../../model/run/absences.ts";
import { callCounts, callsAt, callsSentence, callsWords, type DeviceCall } from "../../../model/run/deviceCalls.ts";
import type { Vitals } from "../../../model/types.ts";
import { timeOfDay } from "../../../model/words/words.ts";
import { Button } from "../../../ui/parts.tsx";
import { pressedKey } from "../../../ui/pressedKey.ts";
import { Chart, canDraw, type Shown } from "./chart.ts";
import { beginningAt, clipped, decade, decades, stepAt, type View, zoomed } from "./stretch.ts";
import "./hour.css";

interface Props {
  lines: readonly Line[];
  vitals: Vitals;
  calls: readonly DeviceCall[];
  away: readonly Absence[];
}

const ONE_S_MS = 1_000;

interface Row {
  key: string;
  title: string;
  value: string;
  sentence: string;
  shown: Pick<Shown, "points" | "least" | "most" | "figure">;
}

export default function HourCharts({ lines, vitals, calls, away }: Props) {
  const { until_ms: untilMs, step_s: stepS, slots } = vitals;
  const stepMs = stepS * 1000;
  const hour = hourOf(vitals, calls);
  const [stretch, setStretch] = useState<View | null>(null);
  const [momentMs, setMoment] = useState<number | null>(null);
  const view = clipped(stretch, hour, stepMs) ?? hour;
  const times = useMemo(
    () => Array.from({ length: slots }, (_, at) => (untilMs - (slots - 1 - at) * stepMs) / 1000),
    [untilMs, slots, stepMs],
  );
  const rows = rowsOf(lines, calls, momentMs, untilMs, stepS);
  const then = momentMs === null ? [] : callsAt(calls, momentMs - stepMs / 2, momentMs + stepMs / 2);
  const words = momentMs === null ? "" : [timeOfDay(momentMs), callsWords(then, untilMs)].filter(Boolean).join(": ");
  const handlers = useRef({ moment: setMoment, stretch: setStretch as (view: View) => void, whole: () => {} });
  handlers.current = { moment: setMoment, stretch: setStretch, whole: () => setStretch(null) };
  return (
    <div className="hour">
      <Bar
        words={words || `${timeOfDay(view.fromMs).slice(0, 5)} to ${timeOfDay(view.toMs).slice(0, 5)}`}
        closer={zoomed(view, momentMs, stepMs)}
        isWhole={!stretch}
        onStretch={setStretch}
      />
      {rows.map((row, at) => (
        <div className="hourrow" key={row.key}>
          <div className="hourname">
            <b className="strong">{row.title}</b>
            <span className="small nowrap">{row.value}</span>
          </div>
          <Plot
            sentence={row.sentence}
            withTimes={at === rows.length - 1}
            handlers={handlers}
            shown={{ ...row.shown, times, view, momentMs, away, calls, nowMs: untilMs }}
          />
        </div>
      ))}
      <Moment
        view={view}
        stepMs={stepMs}
        momentMs={momentMs}
        say={(ms) => momentWords(lines, calls, ms, untilMs, stepS)}
        onMoment={setMoment}
      />
    </div>
  );
}

interface BarProps {
  words: string;
  closer: View | null;
  isWhole: boolean;
  onStretch: (stretch: View | null) => void;
}

/** The time that is shown, and the ways to a shorter one and back. */
function Bar({ words, closer, isWhole, onStretch }: BarProps) {
  return (
    <div className="row hourbar">
      <output className="small grow cut" title={words}>
        {words}
      </output>
      <Button
        why={closer ? null : "There are no figures closer together."}
        title="Or drag over a stretch of a chart"
        onClick={() => onStretch(closer)}
      >
        Zoom in
      </Button>
      <Button why={isWhole ? "The whole hour is shown." : null} onClick={() => onStretch(null)}>
        Whole hour
      </Button>
    </div>
  );
}

/** The hour, or what is known of it: a hub that began a while ago has nothing to draw before. */
function hourOf({ until_ms, since_ms, step_s, slots }: Vitals, calls: readonly DeviceCall[]): View {
  const known = Math.min(since_ms || until_ms, ...calls.map((call) => call.fromMs));
  return beginningAt(known, { fromMs: until_ms - (slots - 1) * step_s * 1000, toMs: until_ms }, step_s * 1000);
}

interface PlotProps {
  sentence: string;
  withTimes: boolean;
  shown: Shown;
  handlers: { readonly current: ConstructorParameters<typeof Chart>[3] };
}

function Plot({ sentence, withTimes, shown, handlers }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const first = useRef(shown);
  first.current = shown;
  useEffect(() => {
    if (!place.current || !canDraw()) return;
    const made = new Chart(place.current, first.current, withTimes, {
      moment: (atMs) => handlers.current.moment(atMs),
      stretch: (stretch) => handlers.current.stretch(stretch),
      whole: () => handlers.current.whole(),
    });
    chart.current = made;
    return () => {
      chart.current = null;
      made.end();
    };
  }, [withTimes, handlers]);
  useEffect(() => chart.current?.show(shown));
  return <div className={`hourplot ${withTimes ? "times" : ""}`} role="img" aria-label={sentence} ref={place} />;
}

interface MomentProps {
  view: View;
  stepMs: number;
  momentMs: number | null;
  say: (atMs: number) => string;
  onMoment: (atMs: number | null) => void;
}

/** The moment by keyboard and by finger, in the words of all charts. */
function Moment({ view, stepMs, momentMs, say, onMoment }: MomentProps) {
  const value = Math.min(Math.max(momentMs ?? view.toMs, view.fromMs), view.toMs);
  const leave = (event: KeyboardEvent) => pressedKey(event) === "Escape" && onMoment(null);
  return (
    <div className="hourmoment">
      <input
        type="range"
        aria-label="Moment of the last hour"
        min={view.fromMs}
        max={view.toMs}
        step={stepMs}
        value={value}
        aria-valuetext={say(value)}
        onChange={(event) => onMoment(Number(event.target.value))}
        onKeyDown={leave}
      />
    </div>
  );
}

function momentWords(
  lines: readonly Line[],
  calls: readonly DeviceCall[],
  atMs: number,
  untilMs: number,
  stepS: number,
): string {
  const half = stepS * 500;
  const said = lines.map((line) => `${line.title} ${figure(valueAt(line, atMs, untilMs, stepS), line.unit)}`);
  const then = callsWords(callsAt(calls, atMs - half, atMs + half), untilMs);
  return `${timeOfDay(atMs)}: ${[...said, then].filter(Boolean).join(", ")}`;
}

const valueAt = (line: Line, atMs: number, untilMs: number, stepS: number): number | null =>
  line.points[stepAt(line.points.length, atMs, untilMs, stepS)] ?? null;

function rowsOf(
  lines: readonly Line[],
  calls: readonly DeviceCall[],
  momentMs: number | null,
  untilMs: number,
  stepS: number,
): Row[] {
  const drawn = lines.map((line): Row => {
    const value = momentMs === null ? line.now : valueAt(line, momentMs, untilMs, stepS);
    return {
      key: line.vital,
      title: line.title,
      value: figure(value, line.unit),
      sentence: sentenceOf(line, stepS),
      shown: { points: line.points, least: 0, most: line.most, figure: (end) => (end ? figure(end, line.unit) : "0") },
    };
  });
  if (calls.length === 0) return drawn;
  const took = calls.filter((call) => call.whole).map((call) => (call.toMs || untilMs) - call.fromMs);
  const [least, most] = decades(took.length ? took : [ONE_S_MS]);
  const callsRow: Row = {
    key: "calls",
    title: "Calls",
    value: callCounts(calls),
    sentence: callsSentence(calls, untilMs),
    shown: { points: null, least, most, figure: decade },
  };
  return [callsRow, ...drawn];
}
