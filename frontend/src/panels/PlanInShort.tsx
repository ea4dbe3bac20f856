/** The request's words, and what its plan does where, for an approval that is read away from its plan. */
import { useFleet, useStream } from "../app/context.ts";
import { planInShort, planLineText } from "../model/planInShort.ts";
import { head, specs } from "../model/selectors.ts";

const LINES_MAX = 6;

export function PlanInShort({ constellation }: { constellation: string }) {
  const model = useStream(constellation);
  const fleet = useFleet();
  const request = head(model)?.request;
  const lines = planInShort(specs(model).values(), fleet);
  if (!request && lines.length === 0) return null;
  return (
    <div className="sub stack planinshort">
      {request && <p>“{request}”</p>}
      {lines.length > 0 && (
        <ul className="plain" aria-label="Devices and folders of the plan">
          {lines.slice(0, LINES_MAX).map((line) => (
            <li key={line.device}>
              <b>{line.device}</b> <span className="wraps">{planLineText(line)}</span>
            </li>
          ))}
          {lines.length > LINES_MAX && <li className="dim">and {lines.length - LINES_MAX} more</li>}
        </ul>
      )}
    </div>
  );
}
