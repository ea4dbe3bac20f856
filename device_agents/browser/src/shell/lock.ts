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

/** A tab that asks for the lock, as the other tabs that ask at the same time hear of it. */
interface Asking {
  id: number;
  steal: boolean;
}

/** Whether of two tabs that ask at once the first goes before: one that takes the lock on purpose does, then chance. */
function goesBefore(one: Asking, other: Asking): boolean {
  return one.steal === other.steal ? one.id < other.id : one.steal;
}

async function takeByChannel(steal: boolean): Promise<Hold | null> {
  const channel = new BroadcastChannel(NAME);
  const hold: Hold = { onLost: null };
  const own: Asking = { id: Math.random(), steal };
  const lost = () => {
    channel.close();
    hold.onLost?.();
  };
  return new Promise((resolve) => {
    const keep = () => {
      channel.onmessage = ({ data }) => {
        if (data === "anyone?") channel.postMessage("held");
        // An answer that comes late is of a tab that had the lock before this one.
        if (data === "steal" || data === "held") lost();
      };
      resolve(hold);
    };
    const waiting = setTimeout(keep, ANSWER_WITHIN_MS);
    const yieldTo = () => {
      clearTimeout(waiting);
      channel.close();
      resolve(null);
    };
    channel.onmessage = ({ data }) => {
      if (typeof data === "object") {
        if (goesBefore(data as Asking, own)) yieldTo();
        // The other one was opened later and has not heard of this one.
        else channel.postMessage(own);
      } else if (data === "held" && !steal) yieldTo();
    };
    channel.postMessage(steal ? "steal" : "anyone?");
    channel.postMessage(own);
  });
}
