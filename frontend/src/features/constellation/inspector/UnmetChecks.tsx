/** The checks of a task whose result did not meet them: each with its words, and the value that was found. */
import { partAt } from "../../../model/answer/files.ts";
import { resultOf, type TaskView } from "../../../model/tasks/selectors.ts";
import { parseExact } from "../../../model/words/exact.ts";
import { readable } from "../../../model/words/readable.ts";

const OPS: Record<string, string> = {
  contains: "contains",
  empty: "is empty",
  eq: "is",
  exists: "is there:",
  ge: "is at least",
  gt: "is more than",
  in: "is one of",
  le: "is at most",
  lt: "is less than",
  matches: "matches",
  ne: "is not",
  not_empty: "is not empty",
  not_in: "is none of",
};
const SHOWN_MAX = 200;

const short = (text: string): string => readable(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)} ...` : text);

/** What was found at a pointer; its text where the whole result is not here. */
function foundAt(view: TaskView, pointer: string): string {
  const fact = view.attempt?.facts?.[pointer];
  if (fact !== undefined) return fact;
  const text = resultOf(view);
  if (text === null) return "";
  try {
    const found = partAt(parseExact(text), pointer);
    return found === undefined ? "nothing" : JSON.stringify(found);
  } catch {
    return "";
  }
}

export function UnmetChecks({ view }: { view: TaskView }) {
  const checks = view.spec.checks ?? [];
  if (checks.length === 0) return null;
  return (
    <ul className="stack small" aria-label="Its checks">
      {checks.map((check) => {
        const found = foundAt(view, check.output);
        const wanted = [check.output || "the result", OPS[check.op] ?? check.op, check.value ?? ""].filter(Boolean);
        return (
          <li key={`${check.output} ${check.op} ${check.value}`}>
            {check.says && <b className="strong">{readable(check.says)}: </b>}
            Wanted: <code className="mono">{short(wanted.join(" "))}</code>
            {found && (
              <>
                . Found: <code className="mono">{short(found)}</code>
              </>
            )}
          </li>
        );
      })}
    </ul>
  );
}
