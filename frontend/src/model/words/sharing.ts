/** What a model may be shown of results, in words, and the cost of a prompt before it is sent. */
import type { FirstPrompt, Sharing } from "../types.ts";

export const SHARED: Readonly<Record<Sharing, string>> = {
  names: "Names only: it cannot look",
  cards: "Cards: shapes and facts, no content of files",
  cards_and_file_heads: "Cards, and the beginning of files",
};

/** From least to most. */
const ORDER: readonly Sharing[] = ["names", "cards", "cards_and_file_heads"];

/** What one request may share: never more than the hub. */
export const upTo = (hub: Sharing): readonly Sharing[] => ORDER.slice(0, ORDER.indexOf(hub) + 1);

/** The size of a prompt and about what it costs. */
export function costWords({ bytes, dollars, local, tokens }: FirstPrompt): string {
  const size = `${bytes.toLocaleString("en")} bytes, about ${tokens.toLocaleString("en")} tokens with the form of an answer`;
  if (local) return `${size}; it costs no money, since the model is on this machine`;
  if (dollars === null) return `${size}; the price of this model is not known here`;
  return `${size}, about ${dollars.toFixed(4)} dollars with a plan as the answer`;
}

/** Where a prompt goes, and where it goes if the model cannot be reached there. */
export function whereWords({ fallback, host, model }: FirstPrompt): string {
  const first = `To ${model} at ${host}`;
  return fallback ? `${first}, or to ${fallback.model} at ${fallback.host} where that cannot be reached` : first;
}
