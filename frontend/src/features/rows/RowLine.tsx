/** One row as a line: what, where, with which values, and how it stands. */

import { useState } from "react";
import { able, againShort, type ToolView } from "../../model/fleet/tools.ts";
import { type Fields, isFields, type Json, nodeOf } from "../../model/rows/document.ts";
import type { RowFault } from "../../model/rows/faults.ts";
import { onDevicesOf, pointerWords, type Row } from "../../model/rows/row.ts";
import { outputWords, type Sample, shortWords } from "../../model/rows/sample.ts";
import { labelOf } from "../../model/rows/schema.ts";
import { fits, type Where, whereKey, whereWords } from "../../model/rows/where.ts";
import type { TaskPreviewRow } from "../../model/types.ts";
import { plural } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { plain } from "../../ui/Said.tsx";
import { isTold } from "./form/RowFaults.tsx";

interface RowLineProps {
  row: Row;
  rows: readonly Row[];
  tool: ToolView | undefined;
  params: readonly string[];
  faults: readonly RowFault[];
  /** What came out when it was tried here. */
  sample: Sample | null;
  preview: TaskPreviewRow | undefined;
  locked: string | null;
  open: boolean;
  trying: boolean;
  onOpen: () => void;
  onPickTool: () => void;
  onWhere: (where: Where) => void;
}

const CHIPS_MOST = 4;

export function RowLine(props: RowLineProps) {
  const { row, rows, tool, locked, open } = props;
  const number = row.at + 1;
  return (
    <div className={`rowline ${open ? "open" : ""} ${props.faults.some((fault) => !fault.open) ? "faulty" : ""}`}>
      <button
        type="button"
        className="number"
        aria-expanded={open}
        aria-label={`Row ${number}, ${row.id}`}
        data-landing={row.at === 0 || undefined}
        onClick={props.onOpen}
      >
        <Icon name={open ? "down" : "right"} />
        {number}
      </button>
      <button
        type="button"
        className="what"
        disabled={locked !== null}
        aria-label={`What row ${number} does`}
        onClick={props.onPickTool}
      >
        <b className="strong cut">{row.kind === "person" ? "Ask a person" : (tool?.title ?? (row.what || "Choose"))}</b>
        {locked === null && <Icon name="down" />}
      </button>
      {row.kind === "tool" ? <WhereSelect {...props} /> : <span className="dim where">a person</span>}
      <button type="button" className="chips" aria-label={`Values of row ${number}`} onClick={props.onOpen}>
        <Chips row={row} rows={rows} />
      </button>
      <Check {...props} />
    </div>
  );
}

function WhereSelect({ row, rows, tool, params, locked, open, onWhere }: RowLineProps) {
  // Every device in every row would be thousands of options: they come when one is about to choose.
  const [near, setNear] = useState(false);
  const carriers = tool?.carriers ?? [];
  const names = carriers.map((one) => one.name);
  const classes = [...new Set(carriers.map((one) => one.os).filter(Boolean))].map((os) => ({ os }));
  const labels = [...new Set(carriers.flatMap((one) => one.labels))].map((label) => ({ label }));
  const choices: { group: string; where: Where; lacks?: string }[] = [
    { group: "", where: { kind: "auto" } },
    ...carriers.map((one) => ({
      group: "One device",
      where: { kind: "device", name: one.name } as Where,
      lacks: one.lacks,
    })),
    { group: "Every", where: { kind: "every", of: {} } },
    ...[...classes, ...labels].flatMap((of) =>
      carriers.filter((one) => fits(of, one)).length > 0
        ? [
            { group: "Any of a kind", where: { kind: "class", of } as Where },
            { group: "Every", where: { kind: "every", of } as Where },
          ]
        : [],
    ),
    ...params.flatMap((name) => [
      { group: "Parameter", where: { kind: "param", name, every: false } as Where },
      { group: "Parameter", where: { kind: "param", name, every: true } as Where },
    ]),
  ];
  const own = whereKey(row.where);
  const full = open || near;
  const known = full && choices.some((one) => whereKey(one.where) === own);
  const lost = row.where.kind === "device" && !names.includes(row.where.name);
  const same = onDevicesOf(row, rows);
  const words = (where: Where) => (where.kind === "auto" && same ? `Where row ${same.at + 1} runs` : whereWords(where));
  return (
    <select
      className="input where"
      aria-label={`Where row ${row.at + 1} runs`}
      disabled={locked !== null}
      value={own}
      onPointerEnter={() => setNear(true)}
      onFocus={() => setNear(true)}
      onChange={(event) => onWhere(JSON.parse(event.target.value) as Where)}
    >
      {!known && (
        <option value={own}>
          {words(row.where)}
          {lost ? `: does not offer ${row.what}` : ""}
        </option>
      )}
      {(full ? ["", "One device", "Any of a kind", "Every", "Parameter"] : []).map((group) => {
        const held = choices.filter((one) => one.group === group);
        if (held.length === 0) return null;
        const options = held.map((one) => (
          <option key={whereKey(one.where)} value={whereKey(one.where)}>
            {words(one.where)}
            {one.lacks ? `: ${one.lacks}` : ""}
          </option>
        ));
        return group ? (
          <optgroup key={group} label={group}>
            {options}
          </optgroup>
        ) : (
          options
        );
      })}
    </select>
  );
}

function Chips({ row, rows }: { row: Row; rows: readonly Row[] }) {
  const number = (id: string) => rows.findIndex((one) => one.id === id) + 1 || id;
  const chips: { label: string; value: string; from: boolean }[] = [];
  if (row.each) {
    const { from, output, same } = row.each;
    chips.push(
      from
        ? { label: "for each in", value: `${pointerWords(output)} of row ${number(from)}`, from: true }
        : { label: "together with", value: `row ${number(same)}`, from: true },
    );
  }
  for (const use of row.uses)
    chips.push({
      label: labelOf(use.name),
      value: `${pointerWords(use.output)} of row ${number(use.from)}`,
      from: true,
    });
  for (const one of row.byTopic)
    chips.push({ label: labelOf(one.name), value: `the finding ${one.topic}`, from: true });
  if (row.kind === "person") chips.push({ label: "", value: row.what, from: false });
  for (const [name, value] of Object.entries(row.args))
    chips.push({ label: labelOf(name), value: constantWords(value), from: isNode(value) });
  if (chips.length === 0) return <span className="faint small">nothing set</span>;
  return (
    <>
      {chips.slice(0, CHIPS_MOST).map((chip) => (
        <span key={`${chip.label} ${chip.value}`} className="setting-chip">
          {chip.label && <span className="small dim">{chip.label}</span>}
          <span className={chip.from ? "ref cut" : "cut"}>{chip.value}</span>
        </span>
      ))}
      {chips.length > CHIPS_MOST && <span className="small dim">{chips.length - CHIPS_MOST} more</span>}
    </>
  );
}

const isNode = (value: Json): boolean => nodeOf(value, "param") !== null || nodeOf(value, "each") !== null;

function constantWords(value: Json): string {
  const param = nodeOf(value, "param") ?? nodeOf(value, "secret");
  if (param !== null) return param;
  const each = nodeOf(value, "each");
  if (each !== null) return each ? `each ${pointerWords(each)}` : "each item";
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(" ");
  return isFields(value as Fields) ? JSON.stringify(value) : shortWords(value);
}

function Check({ row, tool, faults, sample, preview, locked, trying, rows }: RowLineProps) {
  const wrong = faults.find((fault) => !fault.open) ?? faults[0];
  const show = (
    glyph: Parameters<typeof Glyph>[0]["name"],
    tone: Parameters<typeof Glyph>[0]["tone"],
    words: string,
  ) => (
    <span className={`check row small ${tone ? `tone-${tone}` : ""}`} title={words}>
      <Glyph name={glyph} tone={tone} />
      <span className="clamp">{words}</span>
    </span>
  );
  if (locked) return show("ring", "grey", locked);
  if (trying) return show("turning_arc", "blue", "being tried");
  if (wrong) {
    const alike = faults.filter((fault) => fault.open === wrong.open && isTold(fault)).length;
    const said = wrong.open ? "to fill in" : plural(alike, "fault");
    return show(
      wrong.open ? "dotted_ring" : "cross",
      wrong.open ? "violet" : "vermilion",
      isTold(wrong) ? said : plain(wrong.reason),
    );
  }
  if (preview && preview.missing.length > 0)
    return show("hand", "violet", `needs ${preview.missing[0]?.grant} on ${preview.missing[0]?.device}`);
  if (tool && able(tool).length === 0) return show("barrier", "amber", "no device can do it now");
  if (sample) return show("tick", "teal", `tried: ${outputWords(sample.value)}`);
  const again = row.repeatability ?? preview?.repeatability ?? tool?.repeatability;
  const last = rows.length > 1 && row.gates.length > 0 ? "waits, " : "";
  return show(
    "ring",
    "grey",
    row.kind === "person" ? "waits for an answer" : `${last}${again ? againShort(again) : "not checked yet"}`,
  );
}
