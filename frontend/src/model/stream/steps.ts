/**
 * Long work that may be interrupted: a generator that yields wherever what it has done so far is whole. Pure; the clock
 * and the pauses come from `link/slices.ts`.
 */
export type Steps<T = void> = Generator<void, T, void>;

/** Says after every so many calls that it is time for a pause. */
export function everyNth(count: number): () => boolean {
  let calls = 0;
  return () => {
    calls += 1;
    return calls % count === 0;
  };
}

/** Does all of it without a pause. */
export function whole<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Does as much as fits. Returns what came out of it, or null while there is more to do. */
export function untilLate<T>(steps: Steps<T>, late: () => boolean): { value: T } | null {
  do {
    const step = steps.next();
    if (step.done) return { value: step.value };
  } while (!late());
  return null;
}
