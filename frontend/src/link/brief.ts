/** A request as a text for somebody's own assistant, and the plan in what it answers. The hub's OpenAPI decides. */
import type { Preview } from "./endpoints.ts";
import type { Problem, Rest } from "./rest.ts";

export interface BriefDocument {
  text: string;
  bytes: number;
  left_out: string[];
}

/** The preview of a plan that has no fault, and the plan as it was written. */
export interface Answered extends Preview {
  plan: string;
}

export class Briefs {
  private readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  brief = (words: string, signal?: AbortSignal) =>
    this.rest.get<BriefDocument>(`/brief?request=${encodeURIComponent(words)}`, signal);
  answered = (answer: string, signal?: AbortSignal) => this.rest.post<Answered>("/brief", { answer }, signal);
}

/** The faults of an answer as a text for the assistant; empty where the refusal was about something else. */
export const replyOf = (problem: Problem): string => (typeof problem.more.reply === "string" ? problem.more.reply : "");
