/** The part of all that waits which this person may answer or do: the rest waits for somebody with other rights. */
import { useContext } from "react";
import { RightsContext, whyNotBy } from "../../ui/away.tsx";
import { useNeeds } from "./needs.ts";
import { useWaiting } from "./waiting.ts";

interface Mine {
  /** How many things this person may answer or do, and how many there are. */
  count: number;
  all: number;
  /** Why this person may answer no question; null where that is possible. */
  whyNot: string | null;
}

export function useMine(): Mine {
  const rights = useContext(RightsContext);
  const needs = useNeeds();
  const waiting = useWaiting();
  const whyNot = whyNotBy(rights, "approver");
  const questions = needs.count + waiting.asks.length;
  const all = needs.count + waiting.count;
  const deeds = all - questions;
  return { count: (whyNot ? 0 : questions) + (whyNotBy(rights, true) ? 0 : deeds), all, whyNot };
}
