/**
 * Rows, graph and text over one document. Keeps only what is looked at (the open row, the lens); the document, its
 * preview and the samples are given. Works the same for a new plan and for a draft over a running one.
 */
import { useMemo, useState } from "react";
import type { ToolView } from "../../model/fleet/tools.ts";
import { paramsOf } from "../../model/rows/document.ts";
import { added, copied, moved, patched, removed, withTool, withUse } from "../../model/rows/edit.ts";
import type { RowFault } from "../../model/rows/faults.ts";
import { withoutParam } from "../../model/rows/params.ts";
import { after, type Row, rowsOf } from "../../model/rows/row.ts";
import { branches, type Sample, suitable } from "../../model/rows/sample.ts";
import { formOf } from "../../model/rows/schema.ts";
import { withWhere } from "../../model/rows/where.ts";
import type { RequestPreview, TaskPreviewRow } from "../../model/types.ts";
import { Button, Tabs } from "../../ui/parts.tsx";
import { Said } from "../../ui/Said.tsx";
import { type Earlier, sampleWords, ToolPicker, Tree } from "./form/pickers.tsx";
import { RowActs } from "./form/RowActs.tsx";
import { RowFaults } from "./form/RowFaults.tsx";
import { RowForm } from "./form/RowForm.tsx";
import { PlanGraph } from "./PlanGraph.tsx";
import { RowLine } from "./RowLine.tsx";
import { TextLens } from "./TextLens.tsx";
import type { Drafting } from "./useDraft.ts";

type Lens = "rows" | "graph" | "text";

interface RowsEditorProps {
  drafting: Drafting;
  tools: ReadonlyMap<string, ToolView>;
  preview: RequestPreview | null;
  faults: readonly RowFault[];
  samples: ReadonlyMap<string, Sample>;
  tried: ReadonlySet<string>;
  /** The row that is being tried now. */
  trying: string | null;
  /** Why a row cannot be tried; empty when it can. */
  whyNot: (id: string) => string;
  onTry: (id: string) => void;
  /** Rows that stand fast, with the reason. */
  locked?: ReadonlyMap<string, string>;
  /** Rows of the running plan, whose judges stay. */
  running?: ReadonlySet<string>;
  lens?: Lens;
}

const NONE: ReadonlyMap<string, string> = new Map();
/** Rows on the page at once: a plan may have thousands, a page has 1,500 elements. */
const PAGE_ROWS = 30;

export function RowsEditor(props: RowsEditorProps) {
  const { drafting, tools, faults, samples, locked = NONE } = props;
  const { draft, change, undo, redo } = drafting;
  const rows = useMemo(() => rowsOf(draft.plan), [draft.plan]);
  const [lens, setLens] = useState<Lens>(props.lens ?? "rows");
  const [open, setOpen] = useState<string | null>(() => rows[0]?.id ?? null);
  const [first, setFirst] = useState(0);
  const from = Math.min(first, Math.floor(Math.max(0, rows.length - 1) / PAGE_ROWS) * PAGE_ROWS);
  const show = (id: string, at: number) => {
    setOpen(id);
    setFirst(Math.floor(Math.max(0, at) / PAGE_ROWS) * PAGE_ROWS);
  };
  const [picking, setPicking] = useState<{ row: string | null; use: { from: string; output: string } | null } | null>(
    null,
  );
  const params = Object.entries(paramsOf(draft));
  const previews = new Map<string, TaskPreviewRow>(props.preview?.tasks.map((task) => [task.id, task]) ?? []);
  const titleOf = (row: Row) => tools.get(row.what)?.title ?? (row.kind === "person" ? "Ask a person" : row.what);
  const earlierOf = (row: Row): Earlier[] => {
    const later = after(rows, row.id);
    return rows
      .filter((one) => one.id !== row.id && !later.has(one.id))
      .map((one) => ({
        id: one.id,
        at: one.at,
        title: titleOf(one),
        sample: samples.get(one.id) ?? null,
        why: props.whyNot(one.id),
      }));
  };
  const pick = (what: { tool: string } | { person: string }) => {
    const target = picking?.row ?? null;
    if (target !== null) {
      const form = "tool" in what ? formOf(tools.get(what.tool)?.schema ?? "{}") : null;
      change((held) => ({
        ...held,
        plan: patched(held.plan, target, (task) =>
          "tool" in what ? withTool(task, what.tool, form) : { id: task.id ?? target, person: what.person },
        ),
      }));
    } else {
      const made = added(draft.plan, what);
      const use = picking?.use;
      const sample = use ? samples.get(use.from) : undefined;
      let plan = made.plan;
      if (use && "tool" in what) {
        const field = fieldFor(formOf(tools.get(what.tool)?.schema ?? "{}").fields, sample, use.output);
        if (field) plan = patched(plan, made.id, (task) => withUse(task, field, use));
      }
      change({ ...draft, plan });
      show(made.id, rows.length);
    }
    setPicking(null);
  };
  const takes = useMemo(() => {
    const use = picking?.use;
    const given = use ? samples.get(use.from) : undefined;
    return use ? (tool: ToolView) => fieldFor(formOf(tool.schema).fields, given, use.output) !== null : undefined;
  }, [picking, samples]);
  const opened = rows.find((row) => row.id === open);
  const sample = opened ? samples.get(opened.id) : undefined;
  const whole = faults.filter((fault) => fault.row === null);

  return (
    <>
      <section className="card rows" aria-label="Plan">
        <header>
          <h2>{rows.length ? `${rows.length} ${rows.length === 1 ? "row" : "rows"}` : "Rows"}</h2>
          <span className="small dim only-wide">one row a task; a blue value comes from an earlier row</span>
          <span className="grow" />
          <Button
            kind="quiet"
            icon="undo"
            why={undo ? null : "Nothing to undo."}
            aria-label="Undo, Ctrl Z"
            title="Undo (Ctrl Z)"
            onClick={() => undo?.()}
          />
          <Button
            kind="quiet"
            icon="redo"
            why={redo ? null : "Nothing to do again."}
            aria-label="Redo, Ctrl Y"
            title="Redo (Ctrl Y)"
            onClick={() => redo?.()}
          />
          <Tabs<Lens>
            look="seg"
            label="View of the plan"
            value={lens}
            onChange={setLens}
            choices={[
              { value: "rows", label: "Rows", icon: "list" },
              { value: "graph", label: "Graph", icon: "graph" },
              { value: "text", label: "Text", icon: "file" },
            ]}
          />
        </header>
        {params.length > 0 && lens !== "text" && (
          <PlanParams
            params={params}
            onFix={locked === NONE ? (name) => change((held) => withoutParam(held, name)) : null}
          />
        )}
        {lens === "graph" && (
          <PlanGraph
            plan={draft.plan}
            tools={tools}
            faults={faults}
            selected={open}
            onSelect={(id) => {
              show(
                id,
                rows.findIndex((row) => row.id === id),
              );
              setLens("rows");
            }}
          />
        )}
        {lens === "text" && <TextLens draft={draft} locked={locked !== NONE} onChange={change} />}
        {lens === "rows" && (
          <>
            {rows.length > 0 && (
              <div className="rowhead small dim" aria-hidden="true">
                <span />
                <span>What</span>
                <span>Where</span>
                <span>With</span>
                <span>Check</span>
              </div>
            )}
            <ol className="rowlist" aria-label="Rows">
              {rows.slice(from, from + PAGE_ROWS).map((row) => {
                const own = faults.filter((fault) => fault.row === row.at);
                const form =
                  row.kind === "tool" && tools.has(row.what) ? formOf(tools.get(row.what)?.schema ?? "{}") : null;
                const lock = locked.get(row.id) ?? null;
                return (
                  <li key={`${row.at} ${row.id}`}>
                    <RowLine
                      row={row}
                      rows={rows}
                      tool={tools.get(row.what)}
                      params={params.filter(([, param]) => param.type === "device").map(([name]) => name)}
                      faults={own}
                      sample={props.tried.has(row.id) ? (samples.get(row.id) ?? null) : null}
                      preview={previews.get(row.id)}
                      locked={lock}
                      open={open === row.id}
                      trying={props.trying === row.id}
                      onOpen={() => setOpen(open === row.id ? null : row.id)}
                      onPickTool={() => setPicking({ row: row.id, use: null })}
                      onWhere={(where) =>
                        change((held) => ({
                          ...held,
                          plan: patched(held.plan, row.id, (task) => withWhere(task, where)),
                        }))
                      }
                    />
                    <RowFaults
                      faults={own}
                      onFix={(fault, at) => change((held) => fault.fixes[at]?.apply(held) ?? held)}
                    />
                    {open === row.id && (
                      <>
                        <RowForm
                          draft={draft}
                          row={row}
                          rows={rows}
                          form={form}
                          tool={tools.get(row.what)}
                          earlier={earlierOf(row)}
                          faults={own}
                          preview={previews.get(row.id)}
                          locked={lock}
                          running={props.running?.has(row.id) ?? false}
                          trying={props.trying}
                          onChange={change}
                          onTry={props.onTry}
                          onRenamed={setOpen}
                        />
                        <RowActs
                          row={row}
                          last={row.at === rows.length - 1}
                          tried={props.tried.has(row.id)}
                          trying={props.trying}
                          whyNot={props.whyNot(row.id)}
                          locked={lock !== null}
                          onTry={props.onTry}
                          onMove={(by) => change((held) => ({ ...held, plan: moved(held.plan, row.id, by) }))}
                          onCopy={() => {
                            const made = copied(draft.plan, row.id);
                            change({ ...draft, plan: made.plan });
                            show(made.id, row.at + 1);
                          }}
                          onRemove={() => change((held) => ({ ...held, plan: removed(held.plan, row.id) }))}
                        />
                      </>
                    )}
                  </li>
                );
              })}
            </ol>
            <RowPages from={from} count={rows.length} most={PAGE_ROWS} onFrom={setFirst} />
            <div className="rowadd">
              <Button
                icon="plus"
                kind={rows.length === 0 ? "primary" : undefined}
                onClick={() => setPicking({ row: null, use: null })}
              >
                Add a row
              </Button>
              {rows.length === 0 && (
                <span className="dim">Each row does one thing on one device, or on every one.</span>
              )}
            </div>
          </>
        )}
        {whole.map((fault) => (
          <p key={`${fault.field}${fault.reason}`} className="warning tone-vermilion" role="alert">
            <Said text={fault.reason} /> <Said text={fault.hint} />
          </p>
        ))}
      </section>
      {lens === "rows" && opened && sample && (
        <RowOutput
          row={opened}
          sample={sample}
          onUse={(output) => setPicking({ row: null, use: { from: opened.id, output } })}
        />
      )}
      {picking && (
        <ToolPicker
          tools={tools}
          title={
            picking.row ? `What ${picking.row} does` : picking.use ? "What to do with it" : "What the new row does"
          }
          takes={takes}
          onPick={pick}
          onClose={() => setPicking(null)}
        />
      )}
    </>
  );
}

/** The field of a form that a value suits best: one that must be filled in before one that may. */
function fieldFor(
  fields: ReturnType<typeof formOf>["fields"],
  sample: Sample | undefined,
  output: string,
): string | null {
  const branch = sample ? branches(sample.value).filter((one) => one.pointer === output) : [];
  const whole = branch.map((one) => ({ ...one, pointer: one.pointer || "/" }));
  const suits = fields.filter((field) => suitable(whole, field).length > 0);
  const named = suits.find((field) => whole.some((one) => one.name === field.name));
  return (named ?? suits.find((field) => field.required) ?? suits[0])?.name ?? null;
}

/** The way through a plan with more rows than a page shows. */
function RowPages(props: { from: number; count: number; most: number; onFrom: (from: number) => void }) {
  const { from, count, most, onFrom } = props;
  if (count <= most) return null;
  return (
    <div className="rowadd">
      <Button why={from === 0 ? "These are the first." : null} onClick={() => onFrom(from - most)}>
        Earlier rows
      </Button>
      <span className="small dim">
        {from + 1} to {Math.min(count, from + most)} of {count}
      </span>
      <Button why={from + most >= count ? "These are the last." : null} onClick={() => onFrom(from + most)}>
        Later rows
      </Button>
    </div>
  );
}

/** The parameters of a plan, each with the way back to a fixed value. */
function PlanParams(props: {
  params: [string, ReturnType<typeof paramsOf>[string]][];
  onFix: ((name: string) => void) | null;
}) {
  const { params, onFix } = props;
  return (
    <div className="params row wrap">
      <span className="small dim">Parameters</span>
      {params.map(([name, param]) => (
        <span key={name} className="setting-chip">
          <span className="small dim">{String(param.type)}</span>
          <span className="ref">{name}</span>
          {onFix && (
            <Button
              kind="quiet"
              icon="close"
              aria-label={`Make ${name} a fixed value again`}
              onClick={() => onFix(name)}
            />
          )}
        </span>
      ))}
    </div>
  );
}

/** The output of a row that was tried: a field of it is used in a new row. */
function RowOutput(props: { row: Row; sample: Sample; onUse: (output: string) => void }) {
  const { row, sample, onUse } = props;
  return (
    <section className="card" aria-label={`Output of row ${row.at + 1}`}>
      <header>
        <h2>Output of row {row.at + 1}</h2>
        <span className="small dim">{sampleWords(sample)}; click a field to use it in a new row</span>
      </header>
      <Tree sample={sample} chosen={null} onPick={(branch) => onUse(branch.pointer)} />
    </section>
  );
}
