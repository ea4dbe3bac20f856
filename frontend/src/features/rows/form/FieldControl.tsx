/** One field of a tool's form: a value typed here, a value of an earlier row, or a parameter. */
import { useEffect, useId, useState } from "react";
import { isFields, type Json, nodeOf } from "../../../model/rows/document.ts";
import { pointerWords, type Use } from "../../../model/rows/row.ts";
import { type Field, titleOf } from "../../../model/rows/schema.ts";
import { LostDigits, numberIn, parseKept } from "../../../model/words/exact.ts";
import { Button, useTypedText } from "../../../ui/parts.tsx";

interface FieldControlProps {
  field: Field;
  /** What it is for, in a sentence; empty where nothing is known of it. */
  about: string;
  /** It was asked for just now, so that typing begins in it. */
  fresh: boolean;
  value: Json | undefined;
  use: { use: Use; number: number | null } | null;
  fault: string | null;
  locked: boolean;
  /** Why no earlier row can give it; null when one can. */
  noUse: string | null;
  onValue: (value: Json | undefined) => void;
  onPickUse: () => void;
  onDropUse: () => void;
  /** Makes the value a parameter, or a parameter a value again; null where that makes no sense. */
  onParam: (() => void) | null;
}

export function FieldControl(props: FieldControlProps) {
  const { field, about, fresh, value, use, fault, locked } = props;
  const id = useId();
  const param = nodeOf(value, "param");
  const each = nodeOf(Array.isArray(value) && value.length === 1 ? value[0] : value, "each");
  const secret = nodeOf(value, "secret");
  const label = titleOf(field);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    if (!fresh) return;
    const control = document.getElementById(id);
    (control?.matches("[role=group]") ? control.querySelector("button") : control)?.focus();
  }, [fresh, id]);
  return (
    <div className={`rowfield ${fault || wrong ? "faulty" : ""}`}>
      <label className="small dim" htmlFor={id}>
        {label}
        {field.required && <span className="faint"> needed</span>}
      </label>
      <div className="row control">
        {use ? (
          <button id={id} type="button" className="ref long" disabled={locked} onClick={props.onPickUse}>
            {use.number === null ? use.use.from : use.number} {pointerWords(use.use.output)}
          </button>
        ) : param !== null || each !== null || secret !== null ? (
          <output id={id} className="ref long">
            {param !== null
              ? `parameter ${param}`
              : secret !== null
                ? `secret ${secret}`
                : `each item${each ? `, ${pointerWords(each)}` : ""}`}
          </output>
        ) : (
          <Constant id={id} field={field} value={value} locked={locked} onValue={props.onValue} onWrong={setWrong} />
        )}
        {!locked && (
          <span className="row tight end">
            {use || each !== null ? (
              <Button
                kind="quiet"
                icon="close"
                aria-label={`Do not use an earlier row for ${label}`}
                onClick={use ? props.onDropUse : () => props.onValue(undefined)}
              />
            ) : (
              param === null && (
                <Button
                  kind="quiet"
                  icon="down_to"
                  why={props.noUse}
                  aria-label={`Use an earlier row for ${label}`}
                  title="Use an earlier row"
                  onClick={props.onPickUse}
                />
              )
            )}
            {props.onParam && (
              <Button
                kind="quiet"
                icon={param !== null ? "close" : "recipe"}
                aria-label={param !== null ? `Make ${label} a fixed value again` : `Make ${label} a parameter`}
                title={param !== null ? "A fixed value again" : "Make it a parameter: asked for at each run"}
                onClick={props.onParam}
              />
            )}
            {value !== undefined && param === null && each === null && !use && !field.required && (
              <Button
                kind="quiet"
                icon="close"
                aria-label={`Leave ${label} out`}
                onClick={() => props.onValue(undefined)}
              />
            )}
          </span>
        )}
      </div>
      {about && <p className="small dim">{about}</p>}
      {fault && <p className="small word tone-vermilion">{fault}</p>}
      {wrong && (
        <p className="small word tone-vermilion" role="alert">
          {wrong} The row keeps its earlier value.
        </p>
      )}
    </div>
  );
}

interface ConstantProps {
  id: string;
  field: Field;
  value: Json | undefined;
  locked: boolean;
  onValue: (value: Json | undefined) => void;
  /** Why the text that is typed is not taken; empty while it is. */
  onWrong: (why: string) => void;
}

/** A list or a map with nothing in it. */
const isEmpty = (value: Json): boolean =>
  Array.isArray(value) ? value.length === 0 : isFields(value) && Object.keys(value).length === 0;

/** What an absent value means, shown in grey. */
function absentWords(field: Field): string {
  const absent = field.absent;
  if (absent === undefined || absent === null || absent === "" || isEmpty(absent))
    return field.required ? "" : "not set";
  return typeof absent === "string" ? absent : JSON.stringify(absent);
}

function Constant(props: ConstantProps) {
  const { id, field, value, locked, onValue } = props;
  switch (field.kind) {
    case "yes_no":
      return (
        <input
          id={id}
          type="checkbox"
          disabled={locked}
          checked={value === undefined ? field.absent === true : value === true}
          onChange={(event) => onValue(event.target.checked)}
        />
      );
    case "choice":
      return (
        <select
          id={id}
          className="input"
          disabled={locked}
          value={String(value ?? field.absent ?? "")}
          onChange={(event) => onValue(event.target.value)}
        >
          {!field.choices.includes("") && field.absent === undefined && <option value="">choose</option>}
          {field.choices.map((one) => (
            <option key={one} value={one}>
              {one || "none"}
            </option>
          ))}
        </select>
      );
    case "choices": {
      const chosen = Array.isArray(value) ? value.map(String) : [];
      return (
        <span id={id} role="group" aria-label={titleOf(field)} className="row wrap tight">
          {field.choices.map((one) => (
            <button
              key={one}
              type="button"
              className="toggle"
              disabled={locked}
              aria-pressed={chosen.includes(one)}
              onClick={() => {
                const next = chosen.includes(one) ? chosen.filter((held) => held !== one) : [...chosen, one];
                onValue(next.length ? next : undefined);
              }}
            >
              {one}
            </button>
          ))}
        </span>
      );
    }
    default:
      return <Typed {...props} />;
  }
}

function shownText(field: Field, value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string" && field.kind !== "json") return value;
  if (
    field.kind === "words" &&
    Array.isArray(value) &&
    value.every((one) => typeof one === "string" && !/[\s"]/.test(one) && one)
  )
    return value.join(" ");
  return JSON.stringify(value);
}

/** What a typed text means for a field: words split at spaces (quotes keep them together), JSON where it can only be that. */
function meant(field: Field, text: string): Json | undefined {
  if (text === "") return field.required && field.kind === "text" ? "" : undefined;
  if (field.kind === "number") return numberIn(text).value ?? text;
  if (field.kind === "words") {
    if (text.trimStart().startsWith("[")) return parsed(text) ?? text;
    return [...text.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] ?? found[2] ?? "");
  }
  if (field.kind === "json") {
    const value = parsed(text);
    return value === undefined ? text : value;
  }
  return text;
}

/** Throws for a number whose digits this page cannot keep; other texts are no JSON. */
function parsed(text: string): Json | undefined {
  try {
    return parseKept(text) as Json;
  } catch (error) {
    if (error instanceof LostDigits) throw error;
    return undefined;
  }
}

/** A text box that keeps what is typed, while the document gets what it means. */
function Typed({ id, field, value, locked, onValue, onWrong }: ConstantProps) {
  const { text, wrong, type } = useTypedText<Json | undefined>(
    value,
    (given) => shownText(field, given),
    (typed) => meant(field, typed),
    onValue,
  );
  useEffect(() => onWrong(wrong), [wrong, onWrong]);
  const long = field.kind === "text" && (/^(code|text|script|stdin|where)$/.test(field.name) || text.includes("\n"));
  const common = {
    id,
    className: "input",
    value: text,
    placeholder: absentWords(field),
    disabled: locked,
    spellCheck: false,
    autoComplete: "off",
  };
  if (long || (field.kind === "json" && isFields(value)))
    return (
      <textarea
        {...common}
        className="input tall mono"
        rows={Math.min(12, Math.max(3, text.split("\n").length))}
        onChange={(event) => type(event.target.value)}
      />
    );
  return (
    <input
      {...common}
      inputMode={field.kind === "number" ? "decimal" : undefined}
      onChange={(event) => type(event.target.value)}
    />
  );
}
