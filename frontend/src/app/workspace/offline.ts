/** Starts the service worker that serves the page's files while the hub is away; browsers have one on https and localhost. */

const SETTLED_MS = 3000;

/** Once the page has settled, lest its first picture waits for files that it may never need. */
export function keepPage(): void {
  if (!("serviceWorker" in navigator)) return;
  setTimeout(() => void register(), SETTLED_MS);
}

async function register(): Promise<void> {
  try {
    await navigator.serviceWorker.register("/sw.js");
    const { active } = await navigator.serviceWorker.ready;
    active?.postMessage("keep");
  } catch {
    // The browser forbids it, as in a private window: the page works as before, and a reload needs the hub.
  }
}
