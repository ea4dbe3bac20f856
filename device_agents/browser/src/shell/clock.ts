/** Time as the agent uses it: seconds that go on during sleep and over reloads, timers, pauses. */

let latest = 0;

/** The system's clock, never running backwards within one life of the tab. */
export function nowS(): number {
  latest = Math.max(latest, Date.now() / 1000);
  return latest;
}

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
