/** The request's words, and what its plan does where, for an approval that is read away from its plan. */
import { useFleet, useStream } from "../../../app/workspace/context.ts";
import {
  type CallLine,
  changingCalls,
  effectWords,
  goneDevices,
  type PlanLine,
  placesBeyond,
  planInShort,
  planLineText,
} from "../../../model/plan/planInShort.ts";
import { head, specs } from "../../../model/tasks/selectors.ts";
import type { Approved, RuleRecord } from "../../../model/types.ts";
import { Glyph } from "../../../ui/Glyph.tsx";

const LINES_MAX = 6;
const CALLS_MAX = 50;
/** So many calls are read at a glance; more stand behind a fold that says how many they are. */
const OPEN_MAX = 6;

/** `whole`: also the words and the places, where the plan itself is not in view. */
export function PlanInShort({ constellation, whole = true }: { constellation: string; whole?: boolean }) {
  const model = useStream(constellation);
  const fleet = useFleet();
  const request = head(model)?.request;
  const rules = [...model.kind<RuleRecord>("rule").values()];
  const approved = model.one<Approved>("approved/plan");
  const lines = planInShort(specs(model).values(), fleet, rules, approved);
  const gone = goneDevices(specs(model).values(), fleet);
  const calls = changingCalls(specs(model).values(), fleet, rules, approved);
  // One call on one device has the effects that stand above it.
  const told = whole && calls.length === 1 && lines.length === 1;
  if (gone.length === 0 && (whole ? !request && lines.length === 0 : calls.length === 0)) return null;
  return (
    <div className="sub stack planinshort">
      {gone.length > 0 && (
        <p className="row strong tone-amber" role="status">
          <Glyph name="barrier" tone="amber" />
          <span>{gone.join(", ")}: its tasks there cannot run. Deny it, or edit the plan to use another device.</span>
        </p>
      )}
      {whole && request && <p>“{request}”</p>}
      {whole && lines.length > 0 && (
        <ul className="plain" aria-label="Devices and folders of the plan">
          {lines.slice(0, LINES_MAX).map(lineOf)}
          {lines.length > LINES_MAX && (
            <li>
              <details>
                <summary>and {lines.length - LINES_MAX} more</summary>
                <ul className="plain">{lines.slice(LINES_MAX).map(lineOf)}</ul>
              </details>
            </li>
          )}
        </ul>
      )}
      {calls.length > 0 && (
        <details open={calls.length <= OPEN_MAX}>
          <summary>
            {calls.length === 1 ? "The call that changes something" : `The ${calls.length} calls that change something`}
          </summary>
          <ul className="plain" aria-label="Calls of the plan">
            {calls.slice(0, CALLS_MAX).map((call) => (
              <li key={`${call.rule}/${call.task}/${call.tool}/${call.device}/${call.args}`}>
                {call.rule && `The rule ${call.rule} may add: `}
                <b>{call.task}</b> <span className="mono">{call.tool}</span> on {call.device}
                {!told && `: ${effectWords(call.effects)}`}
                <details>
                  <summary className="small">All its arguments</summary>
                  <pre className="mono small wraps">{call.args}</pre>
                </details>
              </li>
            ))}
            {calls.length > CALLS_MAX && (
              <li>
                <details>
                  <summary>and {calls.length - CALLS_MAX} more</summary>
                  <pre className="small wraps">{calls.slice(CALLS_MAX).map(callText).join("\n")}</pre>
                </details>
              </li>
            )}
          </ul>
        </details>
      )}
    </div>
  );
}

function lineOf(line: PlanLine) {
  const beyond = placesBeyond(line);
  const told = (
    <>
      <b>{line.device}</b> <span className="wraps">{planLineText(line)}</span>
    </>
  );
  return (
    <li key={line.device}>
      {beyond ? (
        <details>
          <summary>{told}</summary>
          <span className="wraps">{beyond}</span>
        </details>
      ) : (
        told
      )}
    </li>
  );
}

const callText = (call: CallLine): string =>
  `${call.rule ? `The rule ${call.rule} may add: ` : ""}${call.task} ${call.tool} on ${call.device}: ${effectWords(call.effects)}`;
