/** Runs work that may be interrupted in slices, so that the page draws and answers a person between them. */
import { type Steps, untilLate } from "../model/stream/steps.ts";

/** Half of a frame: on a machine that does other things too, a slice takes a few times as long by the clock. */
const SLICE_MS = 8;

interface Slicing {
  now: () => number;
  /** Calls soon, after what the browser has to do. */
  soon: (run: () => void) => void;
}

/** Calls in a task of its own. A timer would wait four milliseconds after the fifth; a hidden page draws no frames. */
export function soon(run: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    run();
  };
  port2.postMessage(null);
}

const ofBrowser: Slicing = { now: () => performance.now(), soon };

/** Runs all of it, soon and not within the caller's own task, then calls `then`. Returns what stops it. */
export function inSlices<T>(steps: Steps<T>, then: (value: T) => void, slicing: Slicing = ofBrowser): () => void {
  let wanted = true;
  const slice = () => {
    if (!wanted) return;
    const ends = slicing.now() + SLICE_MS;
    const done = untilLate(steps, () => slicing.now() >= ends);
    if (done) then(done.value);
    else slicing.soon(slice);
  };
  slicing.soon(slice);
  return () => {
    wanted = false;
  };
}
