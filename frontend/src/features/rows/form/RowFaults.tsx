/** The faults of a row, each with the buttons that mend it. */
import type { RowFault } from "../../../model/rows/faults.ts";
import { Button } from "../../../ui/parts.tsx";
import { Said } from "../../../ui/Said.tsx";

/** Whether a fault has its words below the row, beside what mends it; the form of the row tells of the others. */
export const isTold = (fault: RowFault): boolean => !fault.open || fault.fixes.length > 0;

const OUTDATED = "The plan has changed; it is being checked again.";

export function RowFaults({
  faults,
  onFix,
}: {
  faults: readonly RowFault[];
  onFix: (fault: RowFault, at: number) => void;
}) {
  const told = faults.filter(isTold);
  if (told.length === 0) return null;
  return (
    <ul className="rowfaults" aria-label="Faults of this row">
      {told.map((fault) => (
        <li key={`${fault.field} ${fault.reason}`} className="row wrap small">
          <span className={`word ${fault.open ? "tone-violet" : "tone-vermilion"}`}>
            <Said text={fault.reason.replace(/\.$/, "")} />.
          </span>
          {fault.hint && fault.fixes.length === 0 && (
            <span className="dim">
              <Said text={fault.hint} />
            </span>
          )}
          {fault.fixes.map((fix, at) => (
            <Button key={fix.label} why={fault.outdated ? OUTDATED : null} onClick={() => onFix(fault, at)}>
              {fix.label}
            </Button>
          ))}
        </li>
      ))}
    </ul>
  );
}
