/**
 * The moments at which messages of the link are taken: once for each frame of the screen, and never so often that taking
 * and drawing them fill more than half of the time. A slow machine or a large page then shows less often,
 * and still answers a person.
 */
import { soon } from "./slices.ts";

/** However long the last turn took, the next one comes this soon. */
const REST_MAX_MS = 250;
/** A hidden page draws no frames; what comes is taken after this time. */
const HIDDEN_MS = 100;

export interface Pace {
  now: () => number;
  setTimer: (run: () => void, ms: number) => void;
  /** Calls before the next frame is drawn. */
  onFrame: (run: () => void) => void;
  /** Calls when that frame has been drawn. */
  afterFrame: (run: () => void) => void;
}

const ofBrowser: Pace = {
  now: () => performance.now(),
  setTimer: (run, ms) => void setTimeout(run, ms),
  onFrame: (run) => (document.hidden ? void setTimeout(run, HIDDEN_MS) : void requestAnimationFrame(run)),
  afterFrame: soon,
};

export function paced(pace: Pace = ofBrowser): (run: () => void) => void {
  let restUntil = 0;
  return (run) => {
    const turn = () => {
      const began = pace.now();
      run();
      pace.afterFrame(() => {
        const ended = pace.now();
        restUntil = ended + Math.min(REST_MAX_MS, ended - began);
      });
    };
    const rest = restUntil - pace.now();
    if (rest > 0) pace.setTimer(() => pace.onFrame(turn), rest);
    else pace.onFrame(turn);
  };
}
