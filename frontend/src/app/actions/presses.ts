/**
 * The double press: a press counts for the control that the person saw. A control that came under the pointer, or got the
 * focus, without their doing takes no press at first; a key that is held down presses once.
 *
 * The answered card goes, *Pause* becomes *Resume*, and the second press of a double click would otherwise count for the
 * next question. Owns no state of the page; `guardPresses` is its one way to the document.
 */

/** A slow double click takes half a second. Nobody reads a new question and decides in less than this. */
const SEEN_AFTER_MS = 700;
/** A hand at rest, and the second tap of a finger, move so far. */
const STILL_PX = 24;
/** An answer of the hub may take so long to bring another control to the place that was pressed. */
const WATCHED_MS = 15_000;
const LOOK_EVERY_MS = 100;

interface Place {
  x: number;
  y: number;
}

/** The control at a place of the window; null where there is none. */
type ControlAt = (place: Place) => object | null;

/** The decisions: which control was aimed at, and since when another one is in its place. */
export class Presses {
  private readonly at: ControlAt;
  private place: Place | null = null;
  private held: object | null = null;
  private cameMs = Number.NEGATIVE_INFINITY;
  private pressedMs = Number.NEGATIVE_INFINITY;
  /** The last act was a press of a key: a control that gets the focus now does not get it from the person. */
  private keyed = false;
  private focused: object | null = null;
  private focusedMs = Number.NEGATIVE_INFINITY;

  constructor(at: ControlAt) {
    this.at = at;
  }

  /** Sees whether another control came to the place; false once nothing is to be watched. */
  notice(nowMs: number): boolean {
    if (!this.place) return false;
    const control = this.at(this.place);
    if (control !== this.held) this.cameMs = nowMs;
    this.held = control;
    return nowMs - this.pressedMs < WATCHED_MS;
  }

  /** The pointer moved: a control that stood there before is aimed at. */
  move(place: Place, nowMs: number): void {
    const still = this.place && Math.hypot(place.x - this.place.x, place.y - this.place.y) <= STILL_PX;
    if (still) this.notice(nowMs);
    if (still && nowMs - this.cameMs < SEEN_AFTER_MS) return;
    this.place = place;
    this.held = this.at(place);
    this.cameMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether a press at this place counts. One that does not begins the wait again. */
  press(place: Place, nowMs: number): boolean {
    this.move(place, nowMs);
    this.keyed = false;
    this.pressedMs = nowMs;
    const counts = nowMs - this.cameMs >= SEEN_AFTER_MS || this.at(place) === null;
    if (!counts) this.cameMs = nowMs;
    return counts;
  }

  /** The person scrolls or uses the keys: whatever comes under the pointer is meant. */
  forget(): void {
    this.place = null;
    this.held = null;
    this.cameMs = Number.NEGATIVE_INFINITY;
    this.keyed = false;
  }

  /** A control got the focus. */
  focus(control: object | null, nowMs: number): void {
    if (this.keyed && control !== this.focused) this.focusedMs = nowMs;
    this.focused = control;
  }

  /** Whether Enter or Space counts for the control that has the focus; `again`: the key is held down. */
  key(control: object, again: boolean, nowMs: number): boolean {
    const counts = !again && !(this.keyed && nowMs - this.focusedMs < SEEN_AFTER_MS);
    this.forget();
    this.keyed = true;
    this.focused = control;
    this.focusedMs = counts ? Number.NEGATIVE_INFINITY : nowMs;
    return counts;
  }
}

/** Buttons do something; a link and a button that looks like one open a place, and a list may move them all the time. */
const controlOf = (target: EventTarget | null): Element | null =>
  target instanceof Element ? target.closest("button:not(.link)") : null;

/** Holds presses that do not count back from the page. Returns the end of it. */
export function guardPresses(page: Document): () => void {
  const presses = new Presses(({ x, y }) => controlOf(page.elementFromPoint(x, y)));
  const ends = new AbortController();
  let timer: ReturnType<typeof setInterval> | undefined;
  let refused = false;
  const hear = <K extends keyof DocumentEventMap>(kind: K, take: (event: DocumentEventMap[K]) => void) =>
    page.addEventListener(kind, take, { capture: true, passive: kind === "wheel", signal: ends.signal });
  const placeOf = (event: MouseEvent) => ({ x: event.clientX, y: event.clientY });
  const hold = (event: Event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const watch = () => {
    clearInterval(timer);
    timer = setInterval(() => {
      if (!presses.notice(performance.now())) clearInterval(timer);
    }, LOOK_EVERY_MS);
  };
  hear("pointermove", (event) => presses.move(placeOf(event), event.timeStamp));
  // A browser says it of a still mouse, too, when the page has moved below it.
  hear("pointerover", (event) => presses.move(placeOf(event), event.timeStamp));
  hear("pointerdown", (event) => {
    refused = !presses.press(placeOf(event), event.timeStamp);
    watch();
  });
  hear("click", (event) => {
    if (refused && event.detail > 0 && controlOf(event.target)) hold(event);
  });
  hear("wheel", () => presses.forget());
  // A finger scrolls.
  hear("pointercancel", () => presses.forget());
  hear("focusin", (event) => presses.focus(controlOf(event.target), event.timeStamp));
  hear("keydown", (event) => {
    const control = event.key === "Enter" || event.key === " " ? controlOf(event.target) : null;
    if (!control) presses.forget();
    else if (!presses.key(control, event.repeat, event.timeStamp)) hold(event);
  });
  return () => {
    clearInterval(timer);
    ends.abort();
  };
}
