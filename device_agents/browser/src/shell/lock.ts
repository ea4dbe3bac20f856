/**
 * One tab at a time for a key: its ledger has one writer. The browser's own locks say so, where it has them; over
 * plain HTTP it has not, and open tabs of this page answer each other instead.
 */

export interface Hold {
  /** Called once when another tab has taken the lock away on purpose. */
  onLost: (() => void) | null;
}

const NAME = "starloom-tab";
const ANSWER_WITHIN_MS = 300;

/** Take the lock; null if another tab has it. `steal` takes it away from that one. */
export async function takeLock(steal = false): Promise<Hold | null> {
  if (navigator.locks === undefined) return takeByVoice(steal);
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

async function takeByVoice(steal: boolean): Promise<Hold | null> {
  const voice = new BroadcastChannel(NAME);
  const hold: Hold = { onLost: null };
  const taken = await new Promise<boolean>((resolve) => {
    voice.onmessage = ({ data }) => data === "held" && resolve(true);
    voice.postMessage(steal ? "steal" : "anyone?");
    setTimeout(() => resolve(false), ANSWER_WITHIN_MS);
  });
  if (taken && !steal) {
    voice.close();
    return null;
  }
  voice.onmessage = ({ data }) => {
    if (data === "anyone?") voice.postMessage("held");
    if (data !== "steal") return;
    voice.close();
    hold.onLost?.();
  };
  return hold;
}
