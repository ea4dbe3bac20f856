/** When a row starts: the rows it must wait for, each with how they must end, in words. */
import type { Json } from "../../../model/rows/document.ts";
import { isFields, textOf } from "../../../model/rows/document.ts";
import { GATES, type Gate, OPERATORS, valueWords } from "../../../model/rows/row.ts";
import { branches } from "../../../model/rows/sample.ts";
import { LostDigits, parseKept } from "../../../model/words/exact.ts";
import { Button, TypedField } from "../../../ui/parts.tsx";
import type { Earlier } from "./pickers.tsx";

interface GatesProps {
  gates: readonly Gate[];
  /** Rows whose values are used; they are waited for anyway. */
  uses: readonly string[];
  choices: readonly Earlier[];
  locked: boolean;
  onAdd: (from: string) => void;
  onChange: (at: number, gate: { from: string; when: Json } | null) => void;
}

const OUTPUT = "output";

export function Gates({ gates, uses, choices, locked, onAdd, onChange }: GatesProps) {
  const last = choices.at(-1);
  const number = (id: string) => choices.find((one) => one.id === id)?.at;
  return (
    <div className="rowfield wide">
      <span className="small dim">starts when</span>
      <ul className="gates">
        {uses.map((id) => (
          <li key={`use ${id}`} className="small dim">
            row {(number(id) ?? -1) + 1} is done, because this row uses it
          </li>
        ))}
        {uses.length + gates.length === 0 && <li className="small dim">at once</li>}
        {gates.map((gate) => (
          <GateLine
            key={gate.at}
            gate={gate}
            choices={choices}
            locked={locked}
            onChange={(next) => onChange(gate.at, next)}
          />
        ))}
      </ul>
      {!locked && last && (
        <Button kind="quiet" icon="plus" onClick={() => onAdd(last.id)}>
          Wait for a row
        </Button>
      )}
    </div>
  );
}

interface GateLineProps {
  gate: Gate;
  choices: readonly Earlier[];
  locked: boolean;
  onChange: (gate: { from: string; when: Json } | null) => void;
}

function GateLine({ gate, choices, locked, onChange }: GateLineProps) {
  const condition = isFields(gate.when) ? gate.when : null;
  const source = choices.find((one) => one.id === gate.from);
  const pointers = source?.sample ? branches(source.sample.value).filter((branch) => !branch.inItem) : [];
  const op = textOf(condition?.op) || "eq";
  const plain = op === "empty" || op === "not_empty";
  const pick = (when: Json) => onChange({ from: gate.from, when });
  return (
    <li className="row wrap">
      <select
        className="input short"
        aria-label="Row to wait for"
        disabled={locked}
        value={gate.from}
        onChange={(event) => onChange({ from: event.target.value, when: gate.when })}
      >
        {!source && <option value={gate.from}>{gate.from}</option>}
        {choices.map((one) => (
          <option key={one.id} value={one.id}>
            row {one.at + 1}, {one.id}
          </option>
        ))}
      </select>
      <select
        className="input short"
        aria-label="How it must end"
        disabled={locked}
        value={condition ? OUTPUT : textOf(gate.when)}
        onChange={(event) =>
          pick(
            event.target.value === OUTPUT
              ? { output: pointers[1]?.pointer ?? "", op: "not_empty" }
              : event.target.value,
          )
        }
      >
        {GATES.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
        <option value={OUTPUT}>gave a value that</option>
      </select>
      {condition && (
        <>
          <input
            className="input short mono"
            aria-label="Field of its output"
            list={`pointers-${gate.at}`}
            disabled={locked}
            value={textOf(condition.output)}
            placeholder="/field"
            onChange={(event) => pick({ ...condition, output: event.target.value })}
          />
          <datalist id={`pointers-${gate.at}`}>
            {pointers.map((one) => (
              <option key={one.pointer} value={one.pointer}>
                {one.words}
              </option>
            ))}
          </datalist>
          <select
            className="input short"
            aria-label="Comparison"
            disabled={locked}
            value={op}
            onChange={(event) => {
              const { value, ...rest } = condition;
              const bare = event.target.value === "empty" || event.target.value === "not_empty";
              pick({ ...rest, op: event.target.value, ...(bare ? {} : { value: value ?? true }) });
            }}
          >
            {Object.entries(OPERATORS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          {!plain && (
            <TypedField<Json | undefined>
              className="input short"
              aria-label="Value"
              disabled={locked}
              value={condition.value}
              write={valueWords}
              read={meantValue}
              onValue={(value) => pick({ ...condition, value: value ?? null })}
            />
          )}
        </>
      )}
      {!locked && <Button kind="quiet" icon="close" aria-label="Do not wait for it" onClick={() => onChange(null)} />}
    </li>
  );
}

/** `yes`, `3` and `[1]` mean what they say; everything else is a text. */
function meantValue(typed: string): Json {
  if (typed === "yes") return true;
  if (typed === "no") return false;
  try {
    return parseKept(typed) as Json;
  } catch (error) {
    if (error instanceof LostDigits) throw error;
    return typed;
  }
}
