/**
 * Lists that have changed, as the hub says beside the fleet's stream: whoever shows a list reads it again then. Nothing
 * is asked for while nothing changes, and nothing while the page is hidden.
 */
import type { BesideItem, Topic } from "../../model/types.ts";

/** The least time between two readings of one list: a busy hub changes it with every task. */
const PAUSE_MS = 1000;

const OF_WORK: ReadonlySet<string> = new Set<Topic>(["constellations", "tasks", "devices"]);

export class Changes {
  private readonly listeners = new Map<Topic, Set<() => void>>();
  /** How often each constellation was named as changed, and how often work was without a name. */
  private readonly named = new Map<string, number>();
  private unnamed = 0;

  /** Takes what came beside the fleet's stream. */
  take(items: readonly BesideItem[]): void {
    for (const item of items) {
      if (item.kind !== "changed") continue;
      if (typeof item.value === "string") this.named.set(item.value, (this.named.get(item.value) ?? 0) + 1);
      else if (OF_WORK.has(item.about)) this.unnamed += 1;
      this.say(item.about as Topic);
    }
  }

  /** A text that is another one once a constellation, or what any may wait for, has changed. */
  markOf(constellation: string): string {
    return `${this.named.get(constellation) ?? 0}/${this.unnamed}`;
  }

  say(topic: Topic): void {
    for (const hear of [...(this.listeners.get(topic) ?? [])]) hear();
  }

  /** The link is back: whatever changed meanwhile was said to nobody. */
  sayAll(): void {
    this.unnamed += 1;
    for (const hear of new Set([...this.listeners.values()].flatMap((found) => [...found]))) hear();
  }

  /**
   * Calls `run` when one of the topics has changed: at once, then at most every `pauseMs`, and never for nothing. A
   * hidden page reads when it is seen again. Returns the end of it.
   */
  on(topics: readonly Topic[], run: () => void, pauseMs = PAUSE_MS): () => void {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let missed = false;
    const hear = () => {
      if (timer !== null || document.hidden) {
        missed = true;
        return;
      }
      missed = false;
      timer = setTimeout(() => {
        timer = null;
        if (missed) hear();
      }, pauseMs);
      run();
    };
    const seen = () => {
      if (!document.hidden && missed) hear();
    };
    for (const topic of topics) {
      const found = this.listeners.get(topic) ?? new Set();
      this.listeners.set(topic, found.add(hear));
    }
    document.addEventListener("visibilitychange", seen);
    return () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      for (const topic of topics) this.listeners.get(topic)?.delete(hear);
      document.removeEventListener("visibilitychange", seen);
    };
  }
}
