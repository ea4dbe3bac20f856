/** Everything about one row, opened below its line: fields, where, when, how often, what is shown in the answer. */

import { useState } from "react";
import { AGAIN, type ToolView } from "../../../model/fleet/tools.ts";
import {
  type Draft,
  type Fields,
  idOf,
  isFields,
  type Json,
  list,
  nodeOf,
  slug,
  taskOf,
  textOf,
  withField,
} from "../../../model/rows/document.ts";
import {
  changedGate,
  patched,
  renamed,
  taking,
  withArg,
  withEach,
  withGate,
  withItem,
  withResult,
  withUse,
  wrongId,
} from "../../../model/rows/edit.ts";
import type { RowFault } from "../../../model/rows/faults.ts";
import { argAsParam, typeOf, withoutParam } from "../../../model/rows/params.ts";
import { originOf, type Row } from "../../../model/rows/row.ts";
import { branches } from "../../../model/rows/sample.ts";
import { aboutOf, type Field, type Form, labelOf, titleOf } from "../../../model/rows/schema.ts";
import { whereKey, whereWords, withWhere } from "../../../model/rows/where.ts";
import type { TaskPreviewRow } from "../../../model/types.ts";
import { Button } from "../../../ui/parts.tsx";
import { pressedKey } from "../../../ui/pressedKey.ts";
import { plain } from "../../../ui/Said.tsx";
import { FieldControl } from "./FieldControl.tsx";
import { Findings } from "./Findings.tsx";
import { Gates } from "./Gates.tsx";
import { Judgement, ReviewPoint } from "./judging.tsx";
import { type Earlier, UsePicker } from "./pickers.tsx";
import { WhenOff } from "./WhenOff.tsx";

/** So many fields are open from the start; the others are one click away. */
const SHOWN_LEAST = 3;

interface RowFormProps {
  draft: Draft;
  row: Row;
  rows: readonly Row[];
  form: Form | null;
  tool: ToolView | undefined;
  earlier: readonly Earlier[];
  faults: readonly RowFault[];
  preview: TaskPreviewRow | undefined;
  locked: string | null;
  /** The row is part of a running plan, whose judges stay. */
  running: boolean;
  /** The draft is one over a running plan, whose answer stays. */
  live: boolean;
  trying: string | null;
  onChange: (next: Draft | ((draft: Draft) => Draft), about?: string) => void;
  onTry: (id: string) => void;
  onRenamed: (id: string) => void;
}

export function RowForm(props: RowFormProps) {
  const { draft, row, rows, form, earlier, locked, onChange } = props;
  const [picking, setPicking] = useState<string | null>(null);
  const [more, setMore] = useState<string[]>([]);
  const [fresh, setFresh] = useState<string | null>(null);
  const task = taskOf(draft.plan, row.id) ?? {};
  const change = (edit: (task: Fields) => Fields, about = "") =>
    onChange((held) => ({ ...held, plan: patched(held.plan, row.id, edit) }), about);
  const onPlan = (edit: (plan: Fields) => Fields, about = "") =>
    onChange((held) => ({ ...held, plan: edit(held.plan) }), about);
  const faultOf = (name: string) => {
    const found = props.faults.find((fault) => fault.field === name && !fault.open);
    return found ? plain(found.reason) : null;
  };
  const takenFrom = (name: string) => {
    const use = row.uses.find((one) => one.name === name);
    return use ? { use, number: numberOf(rows, use.from) } : null;
  };

  const known = (form?.fields ?? []).filter((field) => !row.byTopic.some((one) => one.name === field.name));
  const extra: Field[] = [...Object.keys(row.args), ...row.uses.map((use) => use.name)]
    .filter((name, at, all) => all.indexOf(name) === at && !known.some((field) => field.name === name))
    .map((name) => ({ name, kind: "json", required: false, choices: [], whole: false }));
  const isSet = (field: Field) => field.required || field.name in row.args || takenFrom(field.name) !== null;
  // Fields that were asked for come beside the first ones, and take none of them away.
  const open = known.filter((field) => !more.includes(field.name));
  const first = open.filter((field) => !isSet(field)).slice(0, Math.max(0, SHOWN_LEAST - open.filter(isSet).length));
  const shown = [
    ...known.filter((field) => isSet(field) || first.includes(field) || more.includes(field.name)),
    ...extra,
  ];
  const hidden = known.filter((field) => !shown.includes(field));

  const param = (name: string) => {
    const value = row.args[name];
    const own = nodeOf(value, "param");
    if (own !== null) return () => onChange((held) => withoutParam(held, own));
    if (value === undefined || !typeOf(name, value)) return null;
    return () => onChange((held) => argAsParam(held, row.id, name));
  };

  return (
    <div className="rowform">
      {locked && <p className="small dim rowfield wide">{locked}</p>}
      {row.kind === "person" && <PersonFields row={row} task={task} locked={locked !== null} onChange={change} />}
      {shown.map((field) => (
        <FieldControl
          key={field.name}
          field={field}
          about={form ? aboutOf(form, field.name) : ""}
          fresh={field.name === fresh}
          value={row.args[field.name]}
          use={takenFrom(field.name)}
          fault={faultOf(field.name)}
          locked={locked !== null}
          noUse={earlier.length ? null : "There is no earlier row to use."}
          onValue={(value) => change((held) => withArg(held, field.name, value), `${row.id} ${field.name}`)}
          onPickUse={() => setPicking(field.name)}
          onDropUse={() => change((held) => withUse(held, field.name, null))}
          onParam={param(field.name)}
        />
      ))}
      {hidden.length > 0 && !locked && (
        <div className="rowfield wide row wrap tight">
          <span className="small dim">More:</span>
          {hidden.map((field) => (
            <button
              key={field.name}
              type="button"
              className="toggle"
              title={form ? aboutOf(form, field.name) : undefined}
              onClick={() => {
                setMore([...more, field.name]);
                setFresh(field.name);
              }}
            >
              {titleOf(field)}
            </button>
          ))}
        </div>
      )}
      {row.kind === "tool" && props.preview && (
        <DeviceChoice {...props} onPick={(name) => change((held) => withWhere(held, { kind: "device", name }))} />
      )}
      <Origin
        row={row}
        rows={rows}
        locked={locked !== null}
        onPick={(where) => change((held) => withWhere(held, where))}
      />
      <Often
        row={row}
        earlier={earlier}
        locked={locked !== null}
        onEach={(each) => change((held) => withEach(held, each))}
      />
      <WhenOff row={row} task={task} locked={locked !== null} onChange={change} />
      <Gates
        gates={row.gates}
        uses={[...new Set([...row.uses.map((use) => use.from), ...(row.each?.from ? [row.each.from] : [])])]}
        choices={earlier}
        locked={locked !== null}
        onAdd={(from) => onPlan((plan) => withGate(plan, from, row.id, "success"))}
        onChange={(at, gate) => onPlan((plan) => changedGate(plan, at, gate), `${row.id} gate ${at}`)}
      />
      {row.kind === "tool" && (
        <label className="rowfield">
          <span className="small dim">safe to run again?</span>
          <select
            className="input"
            disabled={locked !== null}
            value={row.repeatability ?? ""}
            onChange={(event) => change((held) => withField(held, "repeatability", event.target.value || undefined))}
          >
            <option value="">By the tool: {againLabel(props.tool?.repeatability)}</option>
            {AGAIN.map((one) => (
              <option key={one.value} value={one.value}>
                {one.label}
              </option>
            ))}
          </select>
        </label>
      )}
      <Findings
        row={row}
        task={task}
        plan={draft.plan}
        free={known.filter((field) => !(field.name in row.args) && !takenFrom(field.name)).map((field) => field.name)}
        locked={locked !== null}
        onChange={change}
      />
      <Judgement row={row} task={task} running={props.running} locked={locked !== null} onChange={change} />
      <ReviewPoint row={row} plan={draft.plan} locked={locked !== null} onPlan={onPlan} />
      <NameField {...props} />
      <ResultField plan={draft.plan} id={row.id} locked={locked !== null || props.live} onPlan={onPlan} />
      {form?.about && (
        <details className="rowfield wide small dim">
          <summary>What {row.what} makes of these values</summary>
          {plain(form.about)}
        </details>
      )}
      {row.more.length > 0 && <p className="small dim rowfield wide">The text also sets {row.more.join(", ")}.</p>}
      {picking !== null && (
        <UsePicker
          label={labelOf(picking)}
          earlier={earlier}
          chosen={row.uses.find((use) => use.name === picking) ?? null}
          trying={props.trying}
          onTry={props.onTry}
          onPick={(use) => {
            onPlan((plan) => taking(plan, row.id, (held) => withUse(held, picking, use)));
            setPicking(null);
          }}
          onPickItem={
            runsOften(row)
              ? null
              : (item) => {
                  onPlan((plan) => taking(plan, row.id, (held) => withItem(held, picking, item)));
                  setPicking(null);
                }
          }
          each={row.each}
          onClose={() => setPicking(null)}
        />
      )}
    </div>
  );
}

const againLabel = (value: string | undefined): string =>
  (AGAIN.find((one) => one.value === value)?.label ?? "not known").toLowerCase();

function numberOf(rows: readonly Row[], id: string): number | null {
  const at = rows.findIndex((row) => row.id === id);
  return at < 0 ? null : at + 1;
}

function DeviceChoice(props: RowFormProps & { onPick: (name: string) => void }) {
  const { preview, locked } = props;
  if (!preview) return null;
  const others = preview.alternatives;
  return (
    <div className="rowfield">
      <span className="small dim">runs on</span>
      <p className="row wrap">
        <b className="strong">{preview.device ?? "no device now"}</b>
        <span className="small dim">{preview.why}</span>
        {others.length > 0 && !locked && (
          <select
            className="input short"
            aria-label="Another device"
            value=""
            onChange={(event) => event.target.value && props.onPick(event.target.value)}
          >
            <option value="">another device</option>
            {others.map((one) => (
              <option key={one.device} value={one.device} disabled={!one.fits}>
                {one.device}
                {one.fits ? "" : `: ${one.why}`}
              </option>
            ))}
          </select>
        )}
      </p>
    </div>
  );
}

/** Why a row that takes paths of another one runs where that one runs, or the way there. */
function Origin(props: { row: Row; rows: readonly Row[]; locked: boolean; onPick: (where: Row["where"]) => void }) {
  const { row, rows, locked, onPick } = props;
  const origin = originOf(row, rows);
  if (!origin) return null;
  const words = whereWords(origin.where);
  const isThere = whereKey(origin.where) === whereKey(row.where);
  return (
    <div className="rowfield wide row wrap small">
      <span className={isThere ? "dim" : "word tone-amber"}>
        {isThere
          ? `It runs on ${words}, because row ${origin.at + 1} gives paths of that device.`
          : `Row ${origin.at + 1} gives paths of ${words}: on another device they mean other files, or none.`}
      </span>
      {!isThere && !locked && <Button onClick={() => onPick(origin.where)}>Run it on {words}</Button>}
    </div>
  );
}

interface OftenProps {
  row: Row;
  earlier: readonly Earlier[];
  locked: boolean;
  onEach: (each: { from: string; output: string } | null) => void;
}

const runsOnEach = (row: Row): boolean => row.where.kind === "every" || (row.where.kind === "param" && row.where.every);

/** Whether a row runs several times already, and not for the items of a list. */
const runsOften = (row: Row): boolean => runsOnEach(row) || Boolean(row.each?.same);

/** Once, or once for each item of a list that an earlier row gives. */
function Often({ row, earlier, locked, onEach }: OftenProps) {
  if (runsOnEach(row)) return null;
  if (row.each?.same) return <p className="rowfield small dim">Runs for each item, together with {row.each.same}.</p>;
  const lists = earlier.flatMap((one) =>
    one.sample
      ? branches(one.sample.value)
          .filter((branch) => branch.kind === "list" && !branch.inItem)
          .map((branch) => ({
            key: `${one.id}${branch.pointer}`,
            from: one.id,
            output: branch.pointer,
            label: `for each of ${branch.name} of row ${one.at + 1}`,
          }))
      : [],
  );
  const own = row.each ? `${row.each.from}${row.each.output}` : "";
  if (lists.length === 0 && !own) return null;
  return (
    <label className="rowfield">
      <span className="small dim">runs</span>
      <select
        className="input"
        disabled={locked}
        value={own}
        onChange={(event) => onEach(lists.find((one) => one.key === event.target.value) ?? null)}
      >
        <option value="">once</option>
        {own && !lists.some((one) => one.key === own) && <option value={own}>for each of {own}</option>}
        {lists.map((one) => (
          <option key={one.key} value={one.key}>
            {one.label}
          </option>
        ))}
      </select>
    </label>
  );
}

function NameField({ draft, row, locked, onChange, onRenamed }: RowFormProps) {
  const [typed, setTyped] = useState(row.id);
  const wrong = typed === row.id ? null : wrongId(draft.plan, typed, row.id);
  const take = () => {
    if (typed === row.id || wrong) return;
    onChange((held) => ({ ...held, plan: renamed(held.plan, row.id, typed) }));
    onRenamed(typed);
  };
  return (
    <label className={`rowfield ${wrong ? "faulty" : ""}`}>
      <span className="small dim">name of the row</span>
      <input
        className="input mono"
        value={typed}
        disabled={locked !== null}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => pressedKey(event) === "Enter" && take()}
      />
      {wrong && <span className="small word tone-vermilion">{wrong}</span>}
    </label>
  );
}

function ResultField(props: {
  plan: Fields;
  id: string;
  locked: boolean;
  onPlan: (edit: (plan: Fields) => Fields, about?: string) => void;
}) {
  const { plan, id, locked, onPlan } = props;
  const result = list(plan, "result").find((one) => isFields(one) && one.from === id);
  const title = isFields(result) ? textOf(result.title) : null;
  if (list(plan, "result").filter((one) => isFields(one) && one.from === id).length > 1)
    return <p className="rowfield small dim">Shown in the answer several times; the text says how.</p>;
  return (
    <div className="rowfield">
      <span className="small dim">in the answer</span>
      {title === null ? (
        <span className="row">
          <span className="small dim">{list(plan, "result").length ? "not shown" : "if no other row uses it"}</span>
          {!locked && (
            <Button kind="quiet" icon="plus" onClick={() => onPlan((held) => withResult(held, id, titleCase(id)))}>
              Show it
            </Button>
          )}
        </span>
      ) : (
        <span className="row">
          <input
            className="input"
            aria-label="Its title in the answer"
            value={title}
            disabled={locked}
            onChange={(event) => onPlan((held) => retitled(held, id, event.target.value), `${id} title`)}
          />
          {!locked && (
            <Button
              kind="quiet"
              icon="close"
              aria-label="Do not show it"
              onClick={() => onPlan((held) => withResult(held, id, null))}
            />
          )}
        </span>
      )}
    </div>
  );
}

const titleCase = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1).replaceAll(/[-_]/g, " ");

function retitled(plan: Fields, id: string, title: string): Fields {
  const result = list(plan, "result").map((one) => (isFields(one) && one.from === id ? { ...one, title } : one));
  return { ...plan, result };
}

function PersonFields(props: {
  row: Row;
  task: Fields;
  locked: boolean;
  onChange: (edit: (task: Fields) => Fields, about?: string) => void;
}) {
  const { row, task, locked, onChange } = props;
  const choices = list(task, "choices").filter(isFields);
  return (
    <>
      <label className="rowfield wide">
        <span className="small dim">what to ask</span>
        <input
          className="input"
          value={row.what}
          disabled={locked}
          onChange={(event) => onChange((held) => ({ ...held, person: event.target.value }), `${idOf(task)} person`)}
        />
      </label>
      <AnswerFields
        choices={choices}
        locked={locked}
        onChange={(next) => onChange((held) => withField(held, "choices", next.length ? next : undefined))}
      />
    </>
  );
}

/** The answers of a question, one a line: its label, and whether it stops what follows. */
function AnswerFields(props: { choices: Fields[]; locked: boolean; onChange: (choices: Json[]) => void }) {
  const { choices, locked, onChange } = props;
  const change = (at: number, next: Fields | null) =>
    onChange(choices.flatMap((one, index) => (index === at ? (next ? [next] : []) : [one])));
  return (
    <fieldset className="rowfield wide answerlist">
      <legend className="small dim">
        answers{choices.length === 0 ? ": Done, or Cannot, which stops what follows" : ""}
      </legend>
      {choices.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an answer is its place; its label changes at each key.
        <div key={at} className="row wrap">
          <input
            className="input grow"
            aria-label={`Answer ${at + 1}`}
            value={textOf(one.label)}
            disabled={locked}
            onChange={(event) => change(at, { ...one, label: event.target.value })}
            onBlur={() => change(at, { ...one, value: keptValue(choices, at) })}
          />
          <label className="row small">
            <input
              type="checkbox"
              checked={one.fails === true}
              disabled={locked}
              onChange={(event) => {
                const { fails: _, ...rest } = one;
                change(at, event.target.checked ? { ...rest, fails: true } : rest);
              }}
            />
            stops what follows
          </label>
          {!locked && (
            <Button kind="quiet" icon="close" aria-label={`Remove answer ${at + 1}`} onClick={() => change(at, null)} />
          )}
        </div>
      ))}
      {!locked && (
        <span>
          <Button icon="plus" onClick={() => onChange([...choices, newAnswer(choices)])}>
            Add an answer
          </Button>
        </span>
      )}
    </fieldset>
  );
}

/** A new answer has a value of its own at once: the plan is whole while it is written. */
function newAnswer(choices: readonly Fields[]): Fields {
  const taken = new Set(choices.map((one) => one.value));
  let number = choices.length + 1;
  while (taken.has(`answer-${number}`)) number += 1;
  return { value: `answer-${number}`, label: `Answer ${number}` };
}

/** An answer that has the value of a new one is called after its label; any other keeps what gates may name. */
function keptValue(choices: readonly Fields[], at: number): string {
  const held = textOf(choices[at]?.value);
  const made = slug(textOf(choices[at]?.label));
  const taken = choices.some((one, index) => index !== at && one.value === made);
  return /^answer-\d+$/.test(held) && made && !taken ? made : held;
}
