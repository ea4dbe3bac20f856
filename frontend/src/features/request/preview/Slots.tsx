/** The slots of a recipe, each editable in place: a device from the fleet, a choice, yes or no, a number, else text. */

import { useId, useState } from "react";
import { useFleet } from "../../../app/workspace/context.ts";
import { devices, nameOfDevice, offersAll } from "../../../model/fleet/fleet.ts";
import type { Fields } from "../../../model/rows/document.ts";
import { selectorWords } from "../../../model/rows/where.ts";
import type { RecipeParam } from "../../../model/types.ts";
import { numberIn } from "../../../model/words/exact.ts";
import { useTypedText } from "../../../ui/parts.tsx";
import { commandOf, isCommand, wordsIn } from "./commands.ts";
import { OfferedSlot } from "./OfferedSlot.tsx";

/** A parameter as a recipe describes it, or as words left it open. */
type SlotType = Pick<RecipeParam, "type" | "title"> & Partial<RecipeParam>;

interface SlotsProps {
  params: Record<string, unknown>;
  types?: Record<string, SlotType>;
  onChange: (params: Record<string, unknown>) => void;
}

/** A device parameter may come as a selector, an id or a name; people see names, and the words of other selectors. */
export function textOf(value: unknown, every = false): string {
  if (value === null || value === undefined) return "";
  if (isCommand(value)) return commandOf(value);
  if (typeof value === "object") return selectorWords(value as Fields, every);
  return String(value);
}

export function Slots({ params, types, onChange }: SlotsProps) {
  const names = shownNames(params, types ?? {});
  const labels = labelsOf(names, types ?? {});
  return (
    <>
      {names.map((name) => (
        <Slot
          key={name}
          label={labels[name] ?? name}
          absent={absentWord(types?.[name])}
          values={types?.[name]?.values ?? {}}
          type={
            types?.[name]?.type ??
            (typeof params[name] === "boolean"
              ? "boolean"
              : typeof params[name] === "number"
                ? "integer"
                : isDevice(params[name])
                  ? "device"
                  : "text")
          }
          value={params[name]}
          every={types?.[name]?.every ?? false}
          needs={types?.[name]?.needs ?? []}
          offered={types?.[name]?.offers ?? null}
          params={params}
          onChange={(value) => onChange({ ...params, [name]: value })}
        />
      ))}
    </>
  );
}

/** What is wanted in an empty field, by its type; a device is chosen from the fleet. */
const WANTED: Record<string, string> = {
  path: "a file or folder",
  url: "an address",
  integer: "a number",
  number: "a number",
  argv: "a command",
  hosts: "host names",
  text: "words",
};

/** Titles that name no thing: *Of* and *To* stand before a device in the words of a recipe. */
const JOINING = /^(of|to|from|on|at|in|with|for|by)$/i;

/** A parameter by its title; one that only joins words is followed by the kind of thing that is wanted. */
function labelOf(name: string, row: SlotType | undefined): string {
  const plain = name.replaceAll("_", " ");
  const title = row?.title || plain.charAt(0).toUpperCase() + plain.slice(1);
  return row?.type === "device" && JOINING.test(title) ? `${title} the device` : title;
}

/** The parameters with a field; a word that only turns a switch on has that switch. */
export const shownNames = (params: Record<string, unknown>, types: Record<string, SlotType>): string[] =>
  [...new Set([...Object.keys(params), ...Object.keys(types)])].filter((name) => !types[name]?.spoken);

/** The labels of fields that stand together: those with one title have the names of their parameters, too. */
export function labelsOf(names: readonly string[], types: Record<string, SlotType>): Record<string, string> {
  const plain = names.map((name) => labelOf(name, types[name]));
  return Object.fromEntries(
    names.map((name, at) => {
      const label = plain[at] ?? name;
      return [name, plain.filter((one) => one === label).length > 1 ? `${label} (${name})` : label];
    }),
  );
}

const SELECTS = ["name", "id", "any", "os", "labels"];

const isDevice = (value: unknown): value is Fields =>
  value !== null && typeof value === "object" && SELECTS.some((field) => field in value);

/** The meaning of an empty slot: its default, or that anything will do; nothing where a value is needed. */
function absentWord(row: SlotType | undefined): string {
  if (!row) return "";
  if (row.type === "choice") return row.values?.[String(row.default)] ?? "";
  if (typeof row.default === "string" || typeof row.default === "number") return String(row.default);
  if (row.same_as) return "the same";
  return row.optional ? "any" : "";
}

function Slot({
  label,
  absent,
  values,
  type,
  value,
  every,
  needs,
  offered,
  params,
  onChange,
}: {
  label: string;
  absent: string;
  values: Record<string, string>;
  type: string;
  value: unknown;
  every: boolean;
  needs: readonly string[];
  offered: RecipeParam["offers"];
  params: Record<string, unknown>;
  onChange: (value: unknown) => void;
}) {
  const id = useId();
  const fleet = useFleet();
  const text = textOf(value, every);
  // A selector of several devices is one choice of the list, beside each device alone.
  const [first] = useState(value);
  const shown = (one: unknown) =>
    isDevice(one) && typeof one.id === "string" ? nameOfDevice(fleet, one.id) : textOf(one, every);
  const chosen = isDevice(value) || typeof value === "string" ? shown(value) : "";
  if (type === "boolean") {
    return (
      <label className="slot-field">
        <input
          type="checkbox"
          checked={value === true || text === "true"}
          onChange={(event) => onChange(event.target.checked)}
        />
        <span>{label}</span>
      </label>
    );
  }
  if (type === "device") {
    const names = [...devices(fleet).values()].filter(offersAll(needs)).map((view) => view.device.name);
    return (
      <span className="slot-field">
        <label htmlFor={id}>{label}</label>
        <select
          id={id}
          value={chosen}
          onChange={(event) => {
            const one = event.target.value;
            onChange(one === shown(first) ? first : one ? { name: one } : "");
          }}
        >
          <option value="">{absent || "choose"}</option>
          {[...new Set([...names, ...(chosen ? [chosen] : [])])].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </span>
    );
  }
  if (type === "choice") {
    return (
      <span className="slot-field">
        <label htmlFor={id}>{label}</label>
        <select id={id} value={text} onChange={(event) => onChange(event.target.value)}>
          <option value="">{absent || "choose"}</option>
          {Object.entries(values)
            .filter(([one, words]) => words !== absent || one === text)
            .map(([one, words]) => (
              <option key={one} value={one}>
                {words}
              </option>
            ))}
        </select>
      </span>
    );
  }
  if (offered)
    return (
      <OfferedSlot label={label} value={text} absent={absent} offers={offered} params={params} onChange={onChange} />
    );
  const number = type === "integer" || type === "number";
  const kind = number ? NUMBER : isCommand(value) ? COMMAND : TEXT;
  return (
    <TypedSlot
      kind={kind}
      label={label}
      value={kind === TEXT ? text : value}
      hint={absent || (WANTED[type] ?? "")}
      onChange={onChange}
    />
  );
}

/** How the values of a kind are typed. */
interface Kind {
  write: (value: unknown) => string;
  read: (text: string) => unknown;
  inputMode?: "decimal";
}

const TEXT: Kind = { write: String, read: (text) => text };
const COMMAND: Kind = { write: (value) => commandOf(value as string[]), read: wordsIn };
/** A text that is no number goes out as it is: the preview says what is wrong with it. */
const NUMBER: Kind = {
  write: (value) => textOf(value),
  read: (text) => numberIn(text).value ?? text,
  inputMode: "decimal",
};

interface TypedSlotProps {
  kind: Kind;
  label: string;
  value: unknown;
  /** Shown in the empty field. */
  hint: string;
  onChange: (value: unknown) => void;
}

function TypedSlot({ kind, label, value, hint, onChange }: TypedSlotProps) {
  const id = useId();
  const { text, type } = useTypedText(value, kind.write, kind.read, onChange);
  return (
    <span className="slot-field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        inputMode={kind.inputMode}
        size={Math.max(6, Math.min(28, (text || hint).length + 1))}
        placeholder={hint}
        value={text}
        onChange={(event) => type(event.target.value)}
      />
    </span>
  );
}
