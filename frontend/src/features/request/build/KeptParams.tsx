/** Of a plan that is kept as a recipe: its parameters with names to change, its sentence, its calls, and its trial. */
import { type Draft, type Fields, isFields, nodeOf, paramsOf, tasksOf, textOf } from "../../../model/rows/document.ts";
import { PARAM_NAME } from "../../../model/rows/params.ts";
import { selectorWords } from "../../../model/rows/where.ts";
import { saidOf, sentenceOf } from "./proposal.ts";

interface Call {
  id: string;
  tool: string;
  where: string;
  /** The arguments that a look gives at each run, with the look. */
  reads: string[];
}

/** The devices of a call in words: `nas`, `any srv device`, `every device`, `the device that most names`. */
function placeOf(selector: Fields, every: boolean): string {
  const from = textOf(selector.from);
  if (from) return `the device that ${from} names`;
  return selectorWords(selector, every);
}

/** The calls of a recipe: each tool, and the device that its parameter names now. */
export function callsOf(draft: Draft): Call[] {
  const params = paramsOf(draft);
  return tasksOf(draft.plan).map((task) => {
    const every = isFields(task.for_each) ? task.for_each.devices : undefined;
    const said = every ?? task.device;
    const param = nodeOf(said, "param");
    const device = param === null ? said : params[param]?.default;
    const inputs = isFields(task.inputs) ? Object.entries(task.inputs) : [];
    return {
      id: textOf(task.id),
      tool: textOf(task.tool),
      where: isFields(device) ? placeOf(device, every !== undefined) : "",
      reads: inputs.map(([name, one]) => `${name} from ${isFields(one) ? textOf(one.from) : ""}`),
    };
  });
}

export function KeptParams(props: {
  draft: Draft;
  phrase: string;
  answers: readonly string[];
  names: Readonly<Record<string, string>>;
  /** The slots of the words, by parameter, where they differ. */
  slots: Readonly<Record<string, string>>;
  wrong: Readonly<Record<string, string>>;
  onName: (param: string, name: string) => void;
}) {
  const { draft, phrase, answers, names, slots, wrong, onName } = props;
  const params = Object.entries<Fields>(paramsOf(draft));
  return (
    <>
      {params.length > 0 && (
        <fieldset className="stack kept">
          <legend className="small dim">Parameters, asked for at each run</legend>
          {params.map(([param, one]) => (
            <div key={param} className="row wrap">
              <input
                className="input mono"
                aria-label={`Name of the parameter ${param}`}
                aria-invalid={wrong[param] ? true : undefined}
                pattern={PARAM_NAME.source}
                value={names[param] ?? param}
                onChange={(event) => onName(param, event.target.value)}
              />
              <span className="small dim cut grow">
                {textOf(one.type)}, now <b className="strong">{saidOf(one.default)}</b>
                {answers.includes(param) ? ", your answer" : ""}
              </span>
              {wrong[param] && <span className="small tone-red">{wrong[param]}</span>}
            </div>
          ))}
        </fieldset>
      )}
      <Sentence draft={draft} phrase={phrase} slots={slots} />
      <section className="stack" aria-label="What it does">
        <span className="small dim">What it does at each run</span>
        {callsOf(draft).map((call) => (
          <span key={call.id} className="small">
            <span className="mono">{call.tool}</span> on {call.where || "any device that can"}
            {call.reads.length > 0 && (
              <span className="dim">, with {call.reads.join(" and ")}, read again each time</span>
            )}
          </span>
        ))}
      </section>
      <p className="small dim">
        <b className="strong">On trial for three runs:</b> until three runs of yours in a row have ended clean, these
        words show its plan and when it last ran, and it runs when you launch that. Then they start it like any recipe.
        Approvals are asked for as ever.
      </p>
    </>
  );
}

/** The words of a later run, with the values of today in their places. */
function Sentence({ draft, phrase, slots }: { draft: Draft; phrase: string; slots: Readonly<Record<string, string>> }) {
  if (!phrase.trim()) return <p className="small dim">It has no words: it runs by its name.</p>;
  const values: Record<string, unknown> = {};
  for (const [param, one] of Object.entries<Fields>(paramsOf(draft))) values[slots[param] ?? param] = one.default;
  return (
    <p className="small" role="note" aria-label="Its sentence">
      <span className="dim">You will type: </span>
      {sentenceOf({ phrase, request: "", values }).map((part) =>
        part.slot ? (
          <b key={part.key} className="strong">
            {part.text}
          </b>
        ) : (
          <span key={part.key}>{part.text}</span>
        ),
      )}
    </p>
  );
}
