/** A request as a text for somebody's own assistant, and the plan in its answer. */
import type { Problem, Rest } from "./rest.ts";

export class Briefs {
  private readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  brief = (words: string, signal?: AbortSignal) => this.rest.get("/brief", { query: { request: words }, signal });
  answered = (answer: string, signal?: AbortSignal) => this.rest.post("/brief", { body: { answer }, signal });
}

/** The faults of an answer as a text for the assistant; empty where the refusal was about something else. */
export const replyOf = (problem: Problem): string => (typeof problem.more.reply === "string" ? problem.more.reply : "");
