/** Notes above the lens: the chances of its deadline and its budget, the run that it was forked from, and the fault that ended it. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { budgetWords, deadlineWords } from "../../../model/plan/forecast.ts";
import type { Head, RunWhatIf } from "../../../model/types.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Said } from "../../../ui/Said.tsx";

/** The chance that a running constellation meets its deadline; nothing where it would be a guess. */
export function DeadlineChance({ forecast }: { forecast: RunWhatIf | null }) {
  const words = deadlineWords(forecast?.now ?? null);
  return words ? (
    <span className="chip" title="Of the runs that were played from here, so many meet the deadline">
      {words}
    </span>
  ) : null;
}

/** The chance that a running constellation stays inside its budgets of the model; nothing where it is not known. */
export function BudgetChance({ forecast }: { forecast: RunWhatIf | null }) {
  const words = budgetWords(forecast);
  return words ? (
    <span className="chip" title={forecast?.budget?.said}>
      {words}
    </span>
  ) : null;
}

interface FaultNoteProps {
  fault: NonNullable<Head["fault"]>;
  tried?: string;
  children?: ReactNode;
}

export function OriginLine({ origin }: { origin: NonNullable<Head["origin"]> }) {
  return (
    <p className="small dim origin">
      Forked from{" "}
      <Link className="link" href={`/constellations/${origin.constellation}`}>
        an earlier run
      </Link>
      {origin.task
        ? `, from ${origin.task} on; what stands before it was not done again.`
        : `, as it was at v${origin.version}.`}
    </p>
  );
}

/** Why the whole ended; `tried` is what was asked before, and `children` the ways out. */
export function FaultNote({ fault, tried, children }: FaultNoteProps) {
  return (
    <section className="note tone-vermilion asked" role="alert">
      <Glyph name="cross" tone="vermilion" />
      <p className="strong">
        <Said text={fault.reason} />
      </p>
      <p className="small dim">
        <Said text={fault.hint} />
        {tried && ` ${tried}`}
      </p>
      {children}
    </section>
  );
}
