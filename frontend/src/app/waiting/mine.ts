/** The part of all that waits which this person may answer or do: the rest waits for somebody with other rights. */
import { useContext, useMemo } from "react";
import type { Part } from "../../model/words/words.ts";
import { RightsContext, useMay, whyNotBy } from "../../ui/away.tsx";
import { useWorkspace } from "../workspace/context.ts";
import { byCause } from "./causes.ts";
import { othersAsked, useNeeds } from "./needs.ts";
import { useWaiting } from "./waiting.ts";

interface Mine {
  /** How many things this person may answer or do, and how many there are. */
  count: number;
  all: number;
  /** Why this person may answer no question; null where that is possible. */
  whyNot: string | null;
  /** Whether every open question asks other people by name. */
  asksOthers: boolean;
}

/** What this person may do about work that waits, for the lists of it. */
export function usePart(): Part {
  const [answers, acts] = [useMay("approver"), useMay(true)];
  return useMemo(() => ({ answers, acts }), [answers, acts]);
}

export function useMine(): Mine {
  const rights = useContext(RightsContext);
  const needs = useNeeds();
  const waiting = useWaiting();
  const me = useWorkspace().session?.principal.name ?? "";
  const whyNot = whyNotBy(rights, "approver");
  const others = needs.items.filter((need) => othersAsked(need, me)).length;
  const questions = needs.count + waiting.openAsks;
  const asksOthers = others > 0 && others === needs.count;
  const all = needs.count + waiting.count;
  // Each person reads their own notices, whatever their rights.
  const notices = byCause(waiting.notices).length;
  const deeds = all - questions - notices;
  return {
    count: (whyNot ? 0 : questions - others) + (whyNotBy(rights, true) ? 0 : deeds) + notices,
    all,
    whyNot,
    asksOthers,
  };
}
