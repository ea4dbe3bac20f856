/** The questions that wait for their person, in the order in which they came; each is answered or declined once. */
import type { Dispatch, LeaseRef } from "../generated/protocol.ts";
import { type Question, ToolFailed } from "../tools/interface.ts";

export interface OpenQuestion {
  id: string;
  /** The attempt that asks. */
  at: LeaseRef;
  tool: string;
  /** Who asked for the work, and in which words; both empty if the hub did not say so. */
  asked: { by: string; words: string };
  question: Question;
  answer: (value: unknown) => void;
  decline: (error: Error) => void;
}

export class Questions {
  /** A new list whenever one came or went. */
  open: readonly OpenQuestion[] = [];
  readonly #changed: () => void;
  #count = 0;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /**
   * Ask, and wait for the answer; it is taken back when the signal aborts, and the promise stays open then.
   * @throws ToolFailed `declined` when its time is over; the device may have slept, so this can be later.
   */
  ask({ at, tool, ...dispatch }: Dispatch, question: Question, signal: AbortSignal): Promise<unknown> {
    this.#count += 1;
    const id = `q${this.#count}`;
    let overdue: ReturnType<typeof setTimeout> | undefined;
    const gone = () => {
      clearTimeout(overdue);
      this.open = this.open.filter((item) => item.id !== id);
      this.#changed();
    };
    return new Promise<unknown>((resolve, reject) => {
      const answer = (value: unknown) => {
        gone();
        resolve(value);
      };
      const decline = (error: Error) => {
        gone();
        reject(error);
      };
      const asked = { by: dispatch.asked_by ?? "", words: dispatch.asked_words ?? "" };
      this.open = [...this.open, { id, at, tool, asked, question, answer, decline }];
      const { withinS, text } = question;
      if (withinS !== undefined) {
        const late = () => decline(new ToolFailed("declined", `nobody answered within ${withinS} s: ${text}`));
        overdue = setTimeout(late, withinS * 1000);
      }
      signal.addEventListener("abort", gone, { once: true });
      this.#changed();
    });
  }
}
