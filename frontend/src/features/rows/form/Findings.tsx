/** Findings of a row: the topic under which it publishes a part of its result, and the values that it takes by topic. */
import { useId } from "react";
import { type Fields, isFields, type Json, list, textOf, withField } from "../../../model/rows/document.ts";
import { withFinding, withFinds } from "../../../model/rows/edit.ts";
import { type Row, topicsOf } from "../../../model/rows/row.ts";
import { LostDigits, parseKept } from "../../../model/words/exact.ts";
import { Button, useTypedText } from "../../../ui/parts.tsx";

const TOPIC_CHARS_MOST = 80;
const FRESH_MOST_S = 30 * 24 * 3600;

interface FindingsProps {
  row: Row;
  task: Fields;
  plan: Fields;
  /** The arguments that may be taken by topic: those that nothing gives yet. */
  free: readonly string[];
  locked: boolean;
  onChange: (edit: (task: Fields) => Fields, about?: string) => void;
}

export function Findings({ row, task, plan, free, locked, onChange }: FindingsProps) {
  const topics = topicsOf(plan).filter((topic) => topic !== ownTopic(task));
  const listed = useId();
  if (row.kind !== "tool") return null;
  return (
    <>
      <datalist id={listed}>
        {topics.map((topic) => (
          <option key={topic} value={topic} />
        ))}
      </datalist>
      <Publishes row={row} task={task} locked={locked} onChange={onChange} />
      {row.byTopic.map((one) => (
        <Taken
          key={one.name}
          row={row}
          task={task}
          name={one.name}
          topics={listed}
          locked={locked}
          onChange={onChange}
        />
      ))}
      {!locked && topics.length > 0 && free.length > 0 && (
        <label className="rowfield">
          <span className="small dim">take by topic</span>
          <select
            className="input"
            value=""
            onChange={(event) =>
              onChange((held) => withFinding(held, event.target.value, { finding: topics[0] ?? "" }))
            }
          >
            <option value="">an argument</option>
            {free.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}

const ownTopic = (task: Fields): string => (isFields(task.finds) ? textOf(task.finds.topic) : "");

type Part = Pick<FindingsProps, "row" | "task" | "locked" | "onChange">;

function Publishes({ row, task, locked, onChange }: Part) {
  const finds = isFields(task.finds) ? task.finds : null;
  if (finds ? list(finds, "topics").length : locked) return null;
  return (
    <div className="rowfield">
      <span className="small dim">publishes</span>
      {!finds ? (
        <span className="row">
          <Button
            kind="quiet"
            icon="plus"
            onClick={() => onChange((held) => withFinds(held, { topic: row.id, value: "" }))}
          >
            A part of its result
          </Button>
        </span>
      ) : (
        <span className="row wrap tight">
          <input
            className="input short"
            aria-label="Topic of the finding"
            maxLength={TOPIC_CHARS_MOST}
            disabled={locked}
            value={textOf(finds.topic)}
            onChange={(event) =>
              onChange((held) => withFinds(held, { ...finds, topic: event.target.value }), `${row.id} topic`)
            }
          />
          <input
            className="input short mono"
            aria-label="Pointer into the result; empty for all of it"
            placeholder="/ and a field"
            disabled={locked}
            value={textOf(finds.value)}
            onChange={(event) =>
              onChange((held) => withFinds(held, { ...finds, value: event.target.value }), `${row.id} found`)
            }
          />
          {!locked && (
            <Button kind="quiet" onClick={() => onChange((held) => withFinds(held, null))}>
              Stop that
            </Button>
          )}
        </span>
      )}
    </div>
  );
}

function Taken(props: Part & { name: string; topics: string }) {
  const { row, task, name, topics, locked, onChange } = props;
  const input = isFields(task.inputs) && isFields(task.inputs[name]) ? task.inputs[name] : {};
  const change = (fields: Fields) => onChange((held) => withFinding(held, name, fields), `${row.id} ${name} finding`);
  const { text, wrong, type } = useTypedText<Json | undefined>(
    input.else,
    (given) => (given === undefined ? "" : JSON.stringify(given)),
    elseMeant,
    (given) => change(withField(input, "else", given)),
  );
  return (
    <div className={`rowfield ${wrong ? "faulty" : ""}`}>
      <span className="small dim">{name}, by topic</span>
      <span className="row wrap tight">
        <input
          className="input short"
          aria-label={`Topic from which ${name} is taken`}
          list={topics}
          maxLength={TOPIC_CHARS_MOST}
          disabled={locked}
          value={textOf(input.finding)}
          onChange={(event) => change({ ...input, finding: event.target.value })}
        />
        <label className="row tight small dim">
          at most
          <input
            className="input tiny num"
            type="number"
            aria-label={`${name} is at most so many seconds old; empty: any age`}
            min={1}
            max={FRESH_MOST_S}
            disabled={locked}
            value={typeof input.fresh_s === "number" ? input.fresh_s : ""}
            onChange={(event) => change(aged(input, event.target.valueAsNumber))}
          />
          seconds old
        </label>
        <label className="row tight small dim">
          else
          <input
            className="input short mono"
            aria-label={`Value of ${name} where there is no finding, as JSON`}
            placeholder="the row is skipped"
            disabled={locked}
            value={text}
            onChange={(event) => type(event.target.value)}
          />
        </label>
        {!locked && (
          <Button kind="quiet" onClick={() => onChange((held) => withFinding(held, name, null))}>
            Stop that
          </Button>
        )}
      </span>
      {wrong && <span className="small word tone-vermilion">{wrong}</span>}
    </div>
  );
}

function elseMeant(text: string): Json | undefined {
  try {
    return text.trim() ? (parseKept(text) as Json) : undefined;
  } catch (error) {
    if (error instanceof LostDigits) throw error;
    throw new Error("That is no JSON. A text stands in quotes.");
  }
}

function aged(input: Fields, seconds: number): Fields {
  const { fresh_s: _freshS, ...rest } = input;
  return Number.isFinite(seconds) && seconds >= 1
    ? { ...rest, fresh_s: Math.min(FRESH_MOST_S, Math.round(seconds)) }
    : rest;
}
