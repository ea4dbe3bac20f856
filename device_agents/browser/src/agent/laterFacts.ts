/** Facts that the hub asks of an attempt after its end: looked up in the result that this device keeps. */
import type { FactsFrame, FetchFacts, Receipt, ResultFrame } from "../generated/protocol.ts";
import type { Json } from "../protocol/values.ts";
import { factsOf } from "./outcomes.ts";

/** The answer; `kept` false if the value is not here: forgotten, or gone to the hub as an artifact. */
export function lookUp({ at, wants }: FetchFacts, kept: ResultFrame | Receipt | null): FactsFrame {
  if (kept?.t !== "result" || kept.value == null) return { t: "facts", at, kept: false };
  return { t: "facts", at, ...factsOf(JSON.parse(kept.value) as Json, wants) };
}
