/** Stretches of the last hour: what a zoom shows, which step a moment is in, where a scale of decades ends. Pure. */

export interface View {
  fromMs: number;
  toMs: number;
}

/** A zoom shows so many steps at least: fewer points are no line. */
const STEPS_LEAST = 4;
/** All that is known of a device that joined just now. */
const KNOWN_LEAST = 10;

/** The part of the hour from the step of `knownMs` on, long enough for a line. */
export function beginningAt(knownMs: number, hour: View, stepMs: number): View {
  const steps = Math.max(KNOWN_LEAST, Math.ceil((hour.toMs - knownMs) / stepMs));
  return { fromMs: Math.max(hour.fromMs, hour.toMs - steps * stepMs), toMs: hour.toMs };
}

/** A stretch on whole steps within the hour, long enough for a line; null if none of it is in the hour any more. */
export function clipped(stretch: View | null, hour: View, stepMs: number): View | null {
  if (!stretch || stretch.toMs <= hour.fromMs) return null;
  const onStep = (ms: number) => hour.toMs - Math.round((hour.toMs - ms) / stepMs) * stepMs;
  const asked = onStep(stretch.toMs) - onStep(stretch.fromMs);
  const long = Math.max(asked, STEPS_LEAST * stepMs);
  const begin = onStep(stretch.fromMs) - Math.floor((long - asked) / (2 * stepMs)) * stepMs;
  const fromMs = Math.max(hour.fromMs, Math.min(begin, hour.toMs - long));
  return { fromMs, toMs: Math.min(fromMs + long, hour.toMs) };
}

/** Half of what is shown, about a moment or its end; null where that would be too little. */
export function zoomed(view: View, aboutMs: number | null, stepMs: number): View | null {
  const half = (view.toMs - view.fromMs) / 2;
  if (half < STEPS_LEAST * stepMs) return null;
  const middle = aboutMs ?? view.toMs;
  const fromMs = Math.max(view.fromMs, Math.min(middle - half / 2, view.toMs - half));
  return { fromMs, toMs: fromMs + half };
}

/** The place of a moment in points whose last one is that of `untilMs`. */
export const stepAt = (count: number, atMs: number, untilMs: number, stepS: number): number =>
  count - 1 - Math.round((untilMs - atMs) / (stepS * 1000));

/** The powers of ten about these times, one decade at least. */
export function decades(took: readonly number[]): [number, number] {
  const least = 10 ** Math.floor(Math.log10(Math.max(1, Math.min(...took))));
  const most = 10 ** Math.ceil(Math.log10(Math.max(1, ...took)));
  return [least, Math.max(most, least * 10)];
}

/** `10 ms`, `1 s`, `100 s`: the end of a scale, short enough to stand beside it. */
export const decade = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);
