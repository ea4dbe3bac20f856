/**
 * The lock by which one tab at a time is the device, since its ledger has one writer. It is a lock of the browser; over
 * plain HTTP there are none, and open tabs of this page ask each other by a channel instead.
 */

export interface Hold {
  /** Called once when another tab has taken the lock away on purpose. */
  onLost: (() => void) | null;
}

const NAME = "starloom-tab";
const ANSWER_WITHIN_MS = 300;

/** Take the lock; null if another tab has it. `steal` takes it away from that one. */
export async function takeLock(steal = false): Promise<Hold | null> {
  if (navigator.locks === undefined) return takeByChannel(steal);
  const hold: Hold = { onLost: null };
  return new Promise((resolve, reject) => {
    const keep = (lock: Lock | null) => {
      resolve(lock === null ? null : hold);
      // The lock is held as long as this promise is open: for the life of the tab.
      return lock === null ? Promise.resolve() : new Promise<void>(() => {});
    };
    navigator.locks.request(NAME, steal ? { steal: true } : { ifAvailable: true }, keep).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === "AbortError") hold.onLost?.();
      else reject(error);
    });
  });
}

async function takeByChannel(steal: boolean): Promise<Hold | null> {
  const channel = new BroadcastChannel(NAME);
  const hold: Hold = { onLost: null };
  const taken = await new Promise<boolean>((resolve) => {
    channel.onmessage = ({ data }) => data === "held" && resolve(true);
    channel.postMessage(steal ? "steal" : "anyone?");
    setTimeout(() => resolve(false), ANSWER_WITHIN_MS);
  });
  if (taken && !steal) {
    channel.close();
    return null;
  }
  channel.onmessage = ({ data }) => {
    if (data === "anyone?") channel.postMessage("held");
    if (data !== "steal") return;
    channel.close();
    hold.onLost?.();
  };
  return hold;
}
