/** Time as the agent uses it: seconds that go on during sleep and over reloads, timers, pauses. */

/** The least difference of date and elapsed time, in ms, that is a sleep or a date that was set, and no slow clock. */
const STEP_MS = 1_000;

/**
 * A clock that begins with the date, goes on with the time that has passed and is not set back with the date. Where the
 * browser's measure of passed time stood still in a sleep, the date tells how long that was; one that is set forward
 * counts as such a sleep, since nothing tells them apart and a fence that comes early does no harm.
 */
export function awakeClock(date = () => Date.now(), passed = () => performance.now()): () => number {
  let gap = date() - passed();
  let offset = gap;
  return () => {
    const passedMs = passed();
    const step = date() - passedMs - gap;
    if (Math.abs(step) >= STEP_MS) {
      gap += step;
      offset += Math.max(0, step);
    }
    return (passedMs + offset) / 1000;
  };
}

export const nowS = awakeClock();

const LONGEST_S = 2 ** 31 / 1000 - 1;

export function after(s: number, act: () => void): () => void {
  // A timer beyond 24 days would fire at once.
  const timer = setTimeout(act, Math.min(s, LONGEST_S) * 1000);
  return () => clearTimeout(timer);
}

export function every(s: number, act: () => void): () => void {
  const timer = setInterval(act, s * 1000);
  return () => clearInterval(timer);
}

/** Wait, or return at once when the signal aborts. */
export function pause(s: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, s * 1000);
    const early = () => {
      clearTimeout(timer);
      resolve();
    };
    if (signal.aborted) early();
    signal.addEventListener("abort", early, { once: true });
  });
}
