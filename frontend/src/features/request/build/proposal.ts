/** The sentence of a proposal: the person's words, with the values that may change at each run. Pure. */
import type { Fields } from "../../../model/rows/document.ts";
import { selectorWords } from "../../../model/rows/where.ts";
import type { ProposalRow } from "../../../model/types.ts";

export interface Part {
  key: string;
  text: string;
  /** The parameter that stands here; empty for plain words. */
  slot: string;
}

const SLOT = /\{([a-z0-9_-]+)\}/g;

/** A value as it is said: a device by its name, other devices in words, a text as it is. */
export function saidOf(value: unknown): string {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return selectorWords(value as Fields);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The phrase with its values filled in; where the words make no phrase, the words as they were typed. */
export function sentenceOf(proposal: Pick<ProposalRow, "phrase" | "request" | "values">): Part[] {
  if (!proposal.phrase) return [{ key: "0", text: proposal.request, slot: "" }];
  const parts: Part[] = [];
  let at = 0;
  for (const found of proposal.phrase.matchAll(SLOT)) {
    const slot = found[1] ?? "";
    if (found.index > at) parts.push({ key: `${at}`, text: proposal.phrase.slice(at, found.index), slot: "" });
    parts.push({ key: `${found.index}`, text: saidOf(proposal.values[slot] ?? slot), slot });
    at = found.index + found[0].length;
  }
  if (at < proposal.phrase.length) parts.push({ key: `${at}`, text: proposal.phrase.slice(at), slot: "" });
  return parts;
}
