/** The picture of a timeline on one canvas: lanes, bars, the critical path, moments, the present. Decides nothing. */

import type { Ghost } from "../../../model/run/ghosts.ts";
import { axisOf, axisWords, type Bar, type Lanes, type Window } from "../../../model/run/lanes.ts";
import type { Tone } from "../../../model/types.ts";
import { ON_A_DEVICE, WAITS } from "../../../model/types.ts";
import type { Paint } from "../graph/canvas/paint.ts";

export const AXIS_PX = 26;
export const LANE_GAP_PX = 9;
const ROW_LEAST_PX = 5;
const ROW_MOST_PX = 24;
const NAME_LEAST_PX = 34;
const FAILURE_LEAST_PX = 6;
/** Lower rows have no room for a name. */
const NAMED_ROW_PX = 15;
/** In a larger run names behind short bars would be looked for in vain, and cost a frame. */
const NAMED_BEHIND_MOST = 200;
/** Below it a device's tag and name stand in two lines. */
const GUTTER_WIDE_PX = 100;

/** Where time and rows stand on the canvas. */
export interface Place {
  width: number;
  height: number;
  /** The width of the lanes' names. */
  gutter: number;
  window: Window;
  /** How far the lanes are scrolled up. */
  top: number;
  rowPx: number;
}

export interface Moment {
  atMs: number;
  kind: string;
  text: string;
}

export interface Picture {
  lanes: Lanes;
  names: string[];
  toneOf: (bar: Bar) => Tone;
  nameOf: (task: string) => string;
  /** The cause that a waiting bar has, in words. */
  causeOf: (bar: Bar) => string;
  /** When a bar that goes on should end, as its pace has it; 0 where nothing is known. */
  expectedOf: (bar: Bar) => number;
  selected: string | null;
  /** Tasks of the critical path in order, and the bars of each. */
  path: Bar[][];
  /** Tasks to come, as a forecast has them; those after a change are hatched in a colour of their own. */
  ghosts: readonly Ghost[];
  /** By how much they are late by now. */
  lateMs: number;
  ticks: Moment[];
  beginMs: number;
  nowMs: number;
  live: boolean;
}

/** The height of a row, so that all lanes are seen if they can be. */
export function rowPx({ lanes, rows }: Lanes, height: number): number {
  const room = height - AXIS_PX - lanes.length * LANE_GAP_PX;
  return Math.max(ROW_LEAST_PX, Math.min(ROW_MOST_PX, room / Math.max(1, rows)));
}

export const heightOf = ({ lanes, rows }: Lanes, row: number): number => rows * row + lanes.length * LANE_GAP_PX;

export const xOf = (place: Place, atMs: number): number => {
  const { fromMs, toMs } = place.window;
  return place.gutter + ((atMs - fromMs) / Math.max(1, toMs - fromMs)) * (place.width - place.gutter - 8);
};

/** The same place for what stands later by this time: thousands of ghosts keep the moments that they had. */
export const ahead = (place: Place, lateMs: number): Place => ({
  ...place,
  window: { fromMs: place.window.fromMs - lateMs, toMs: place.window.toMs - lateMs },
});

export const msAt = (place: Place, x: number): number => {
  const { fromMs, toMs } = place.window;
  return fromMs + ((x - place.gutter) / Math.max(1, place.width - place.gutter - 8)) * (toMs - fromMs);
};

export const yOf = (place: Place, bar: Pick<Bar, "lane" | "row">): number =>
  AXIS_PX + LANE_GAP_PX / 2 + bar.lane * LANE_GAP_PX + bar.row * place.rowPx - place.top;

export function paintLanes(context: CanvasRenderingContext2D, paint: Paint, picture: Picture, place: Place): void {
  const { width, height, gutter } = place;
  context.clearRect(0, 0, width, height);
  paintAxis(context, paint, picture, place);
  context.save();
  context.beginPath();
  context.rect(0, AXIS_PX, width, height - AXIS_PX);
  context.clip();
  paintNames(context, paint, picture, place);
  context.beginPath();
  context.rect(gutter, AXIS_PX, width - gutter, height - AXIS_PX);
  context.clip();
  paintBars(context, paint, picture, place);
  paintNamesBehind(context, paint, picture, place);
  paintGhosts(context, paint, picture, ahead(place, picture.lateMs));
  paintPath(context, paint, picture, place);
  paintPresent(context, paint, picture, place);
  context.restore();
}

function paintAxis(context: CanvasRenderingContext2D, paint: Paint, picture: Picture, place: Place): void {
  const { width, height, gutter, window } = place;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "alphabetic";
  for (const { atMs, stepMs } of axisOf(window, picture.beginMs, (width - gutter) / 76)) {
    const x = Math.round(xOf(place, atMs)) + 0.5;
    line(context, paint.line, 1, [x, AXIS_PX - 5], [x, AXIS_PX]);
    context.globalAlpha = 0.35;
    line(context, paint.line, 1, [x, AXIS_PX], [x, height]);
    context.globalAlpha = 1;
    context.fillStyle = paint.ink2;
    const words = axisWords(atMs - picture.beginMs, stepMs);
    // The last clock stands before its line where it has no room behind it.
    const fits = x + 3 + context.measureText(words).width <= width;
    context.textAlign = fits ? "left" : "right";
    context.fillText(words, fits ? x + 3 : width - 4, AXIS_PX - 8);
    context.textAlign = "left";
  }
  for (const tick of picture.ticks) {
    const x = xOf(place, tick.atMs);
    if (x < gutter || x > width) continue;
    const colour =
      tick.kind === "version" ? paint.tone.indigo : tick.kind === "fault" ? paint.tone.amber : paint.tone.vermilion;
    context.setLineDash([2, 3]);
    line(context, colour, 1, [x, AXIS_PX], [x, height]);
    context.setLineDash([]);
    context.fillStyle = colour;
    context.beginPath();
    if (tick.kind === "version") context.arc(x, AXIS_PX - 2, 3.5, 0, 2 * Math.PI);
    else {
      context.moveTo(x - 4.5, AXIS_PX + 2);
      context.lineTo(x + 4.5, AXIS_PX + 2);
      context.lineTo(x, AXIS_PX - 6);
    }
    context.fill();
  }
  line(context, paint.line, 1, [0, AXIS_PX + 0.5], [width, AXIS_PX + 0.5]);
}

function paintNames(context: CanvasRenderingContext2D, paint: Paint, { lanes, names }: Picture, place: Place): void {
  context.textBaseline = "middle";
  const narrow = place.gutter < GUTTER_WIDE_PX;
  lanes.lanes.forEach((lane, at) => {
    const top = AXIS_PX + at * LANE_GAP_PX + lane.top * place.rowPx - place.top;
    const high = lane.rows * place.rowPx + LANE_GAP_PX;
    if (top > place.height || top + high < AXIS_PX) return;
    if (at % 2 === 1) {
      context.fillStyle = paint.surface;
      context.globalAlpha = 0.6;
      context.fillRect(0, top, place.width, high);
      context.globalAlpha = 1;
    }
    line(context, paint.line, 0.5, [0, top + high], [place.width, top + high]);
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = paint.ink;
    const middle = Math.max(AXIS_PX + 9, top + high / 2);
    const [tag, name] =
      narrow && lane.kind === "device" && high >= 36 ? halves(names[at] ?? "") : ["", names[at] ?? ""];
    if (tag) context.fillText(tag, 12, middle - 8);
    context.fillText(cut(context, name, place.gutter - 16), 12, tag ? middle + 8 : middle);
    if (lane.crowded && high > 34) {
      context.font = "12px system-ui, sans-serif";
      context.fillStyle = paint.ink2;
      context.fillText("more than rows", 12, top + high / 2 + 15);
    }
  });
}

function paintBars(context: CanvasRenderingContext2D, paint: Paint, picture: Picture, place: Place): void {
  const { lanes, toneOf } = picture;
  const painted = new Float64Array(lanes.rows).fill(-1);
  const high = Math.max(3, place.rowPx - (place.rowPx > 10 ? 3 : 1));
  const late: Bar[] = [];
  const waits: Bar[] = [];
  const work: Bar[] = [];
  for (const bar of lanes.bars) {
    if (bar.fromMs > place.window.toMs || bar.toMs < place.window.fromMs) continue;
    const y = yOf(place, bar);
    if (y > place.height || y + high < AXIS_PX) continue;
    (WAITS[bar.span.phase] ? waits : work).push(bar);
  }
  // Work stands before what waits for it.
  for (const bar of waits) paintBar(context, paint, picture, place, bar, toneOf(bar), high, painted, true);
  painted.fill(-1);
  for (const bar of work) {
    const tone = toneOf(bar);
    if (tone === "vermilion") late.push(bar);
    else paintBar(context, paint, picture, place, bar, tone, high, painted, false);
  }
  // Last, so that no neighbour covers a failure.
  for (const bar of late) paintBar(context, paint, picture, place, bar, "vermilion", high, null, false);
}

function paintBar(
  context: CanvasRenderingContext2D,
  paint: Paint,
  picture: Picture,
  place: Place,
  bar: Bar,
  tone: Tone,
  high: number,
  painted: Float64Array | null,
  waits: boolean,
): void {
  const { selected, nameOf, nowMs } = picture;
  const left = Math.max(place.gutter - 4, xOf(place, bar.fromMs));
  const end = Math.min(place.width + 4, xOf(place, Math.min(bar.toMs, nowMs)));
  const least = tone === "vermilion" ? FAILURE_LEAST_PX : 1.5;
  const wide = Math.max(least, end - left);
  const isSelected = selected !== null && bar.span.task === selected;
  // Thousands of bars of one pixel: the first one of a pixel stands for the others.
  if (painted && !isSelected && left + wide <= (painted[bar.row] ?? -1) + 0.5) return;
  if (painted) painted[bar.row] = left + wide;
  const y = yOf(place, bar);
  const { phase } = bar.span;
  if (waits) {
    context.fillStyle = paint.tint[tone];
    context.fillRect(left, y, wide, high);
    if (wide > 3) {
      context.fillStyle = hatch(context, paint.tone[tone]);
      context.fillRect(left, y, wide, high);
    }
  } else if (phase === "starting" || bar.span.hedge) {
    context.fillStyle = paint.tint[tone];
    context.fillRect(left, y, wide, high);
    if (wide > 3) stroke(context, paint.tone[tone], 1, left + 0.5, y + 0.5, wide - 1, high - 1);
  } else {
    context.fillStyle = paint.tone[tone];
    context.fillRect(left, y, wide, high);
    if (phase === "stopping") {
      context.fillStyle = hatch(context, paint.surface);
      context.fillRect(left, y, wide, high);
    }
  }
  const expected = xOf(place, picture.expectedOf(bar));
  if (expected > end + 2) {
    context.setLineDash([3, 3]);
    stroke(context, paint.tone[tone], 1, end + 0.5, y + 0.5, expected - end - 1, high - 1);
    context.setLineDash([]);
  }
  if (tone === "vermilion" && high >= 9) {
    const [cx, cy, r] = [left + Math.min(wide, 14) / 2, y + high / 2, Math.min(3, wide / 3)];
    line(context, paint.surface, 1.5, [cx - r, cy - r], [cx + r, cy + r]);
    line(context, paint.surface, 1.5, [cx + r, cy - r], [cx - r, cy + r]);
  }
  if (isSelected) stroke(context, paint.ink, 2, left - 1, y - 1, wide + 2, high + 2);
  if (wide >= NAME_LEAST_PX && high >= 12 && (ON_A_DEVICE.has(phase) || waits)) {
    const inset = tone === "vermilion" ? 14 : 5;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const said = waits
      ? waitWords(context, nameOf(bar.span.task), picture.causeOf(bar), wide - inset - 4)
      : cut(context, nameOf(bar.span.task), wide - inset - 4);
    if (!said) return;
    if (waits) {
      context.fillStyle = paint.tint[tone];
      context.fillRect(left + 3, y + 1, context.measureText(said).width + 5, high - 2);
    }
    const dark = waits || phase === "starting" || bar.span.hedge;
    context.fillStyle = dark ? paint.ink : phase === "stopping" ? paint.ink : paint.surface;
    context.fillText(said, left + inset, y + high / 2 + 0.5);
  }
}

/** A wait's task and cause, or the cause alone; a cause that has no room is left out whole. */
function waitWords(context: CanvasRenderingContext2D, task: string, cause: string, room: number): string {
  const all = [task, cause].filter(Boolean).join(", ");
  return [all, cause].find((words) => context.measureText(words).width <= room) ?? "";
}

/** The names of bars that are too short for them, behind the bar where its row is free. */
function paintNamesBehind(context: CanvasRenderingContext2D, paint: Paint, picture: Picture, place: Place): void {
  if (place.rowPx < NAMED_ROW_PX || picture.lanes.bars.length > NAMED_BEHIND_MOST) return;
  const high = place.rowPx - 3;
  const rows = new Map<number, [number, number][]>();
  const later = ahead(place, picture.lateMs);
  for (const bar of [...picture.lanes.bars, ...picture.ghosts]) {
    const from = "span" in bar ? xOf(place, bar.fromMs) : xOf(later, bar.fromMs);
    const drawn = "span" in bar ? xOf(place, Math.max(Math.min(bar.toMs, picture.nowMs), picture.expectedOf(bar))) : 0;
    const stretch: [number, number] = [from, Math.max(from + 2, "span" in bar ? drawn : xOf(later, bar.toMs))];
    const held = rows.get(bar.row);
    if (held) held.push(stretch);
    else rows.set(bar.row, [stretch]);
  }
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = paint.ink;
  for (const bar of picture.lanes.bars) {
    const { task, phase } = bar.span;
    const [left, end] = [xOf(place, bar.fromMs), xOf(place, Math.min(bar.toMs, picture.nowMs))];
    if (!task || end - left >= NAME_LEAST_PX || end < place.gutter || !ON_A_DEVICE.has(phase)) continue;
    const stretches = rows.get(bar.row) ?? [];
    const behind = Math.max(end, left + FAILURE_LEAST_PX) + 5;
    // A bar that touches the next one is the begin of it: the name stands behind the last of them.
    if (stretches.some(([from, to]) => from > left && from < behind && to > end)) continue;
    const free = Math.min(place.width, ...stretches.map(([from]) => from).filter((from) => from > end));
    const words = picture.nameOf(task);
    if (behind + context.measureText(words).width + 4 > free) continue;
    context.fillText(words, behind, yOf(place, bar) + high / 2 + 0.5);
    stretches.push([behind, behind + context.measureText(words).width]);
  }
}

/** Tasks to come: hatched in a dashed frame, so that none is taken for work. */
function paintGhosts(context: CanvasRenderingContext2D, paint: Paint, picture: Picture, place: Place): void {
  const painted = new Float64Array(picture.lanes.rows).fill(-1);
  const high = Math.max(3, place.rowPx - (place.rowPx > 10 ? 3 : 1));
  for (const ghost of picture.ghosts) {
    if (ghost.fromMs > place.window.toMs || ghost.toMs < place.window.fromMs) continue;
    const y = yOf(place, ghost);
    if (y > place.height || y + high < AXIS_PX) continue;
    const left = Math.max(place.gutter - 4, xOf(place, ghost.fromMs));
    const wide = Math.max(1.5, Math.min(place.width + 4, xOf(place, ghost.toMs)) - left);
    const isSelected = picture.selected === ghost.task;
    if (!isSelected && left + wide <= (painted[ghost.row] ?? -1) + 0.5) continue;
    painted[ghost.row] = left + wide;
    const tone = ghost.changed ? "indigo" : "grey";
    context.globalAlpha = 0.45;
    context.fillStyle = wide > 3 ? hatch(context, paint.tone[tone]) : paint.tone[tone];
    context.fillRect(left, y, wide, high);
    context.globalAlpha = 1;
    if (wide > 3) {
      context.setLineDash([3, 3]);
      stroke(context, paint.tone[tone], 1, left + 0.5, y + 0.5, wide - 1, high - 1);
      context.setLineDash([]);
    }
    if (isSelected) stroke(context, paint.ink, 2, left - 1, y - 1, wide + 2, high + 2);
    if (wide < NAME_LEAST_PX || high < 12) continue;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const said = cut(context, picture.nameOf(ghost.task), wide - 9);
    if (!said) continue;
    context.fillStyle = paint.tint[tone];
    context.fillRect(left + 3, y + 1, context.measureText(said).width + 5, high - 2);
    context.fillStyle = paint.ink;
    context.fillText(said, left + 5, y + high / 2 + 0.5);
  }
}

/** The tasks that decided when the run ended: underlined, and joined from the end of one to the begin of the next. */
function paintPath(context: CanvasRenderingContext2D, paint: Paint, picture: Picture, place: Place): void {
  const high = Math.max(3, place.rowPx - (place.rowPx > 10 ? 3 : 1));
  let before: [number, number] | null = null;
  for (const bars of picture.path) {
    for (const bar of bars) {
      const [x, y] = [xOf(place, bar.fromMs), yOf(place, bar)];
      const end = Math.max(x + 2, xOf(place, Math.min(bar.toMs, picture.nowMs)));
      if (before) {
        context.beginPath();
        context.moveTo(...before);
        const middle = Math.max(before[0], x - 4);
        context.lineTo(middle, before[1]);
        context.lineTo(middle, y + high);
        context.lineTo(x, y + high);
        context.strokeStyle = paint.ink;
        context.lineWidth = 1.5;
        context.stroke();
      }
      line(context, paint.ink, 3, [x, y + high], [end, y + high]);
      before = [end, y + high];
    }
  }
}

function paintPresent(context: CanvasRenderingContext2D, paint: Paint, picture: Picture, place: Place): void {
  if (!picture.live) return;
  const x = xOf(place, picture.nowMs);
  line(context, paint.tone.blue, 2, [x, AXIS_PX], [x, place.height]);
}

function line(
  context: CanvasRenderingContext2D,
  colour: string,
  thick: number,
  from: [number, number],
  to: [number, number],
): void {
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function stroke(
  context: CanvasRenderingContext2D,
  colour: string,
  thick: number,
  x: number,
  y: number,
  wide: number,
  high: number,
): void {
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(x, y, wide, high);
}

/** A lane's name as tag and name. */
function halves(name: string): [string, string] {
  const at = name.indexOf(" ");
  return at < 0 ? ["", name] : [name.slice(0, at), name.slice(at + 1)];
}

/** As much of a text as has room; nothing where not even a few letters have. */
function cut(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  const letters = Math.floor((text.length * room) / Math.max(1, context.measureText(text).width)) - 1;
  return letters < 3 ? "" : `${text.slice(0, letters)}…`;
}

const patterns = new Map<string, CanvasPattern | string>();

function hatch(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
  const held = patterns.get(colour);
  if (held) return held;
  const tile = document.createElement("canvas");
  tile.width = 6;
  tile.height = 6;
  const inner = tile.getContext("2d");
  if (!inner) return colour;
  inner.strokeStyle = colour;
  inner.lineWidth = 1.2;
  for (const shift of [-6, 0, 6]) line(inner, colour, 1.2, [shift, 6], [shift + 6, 0]);
  const made = context.createPattern(tile, "repeat") ?? colour;
  patterns.set(colour, made);
  return made;
}
