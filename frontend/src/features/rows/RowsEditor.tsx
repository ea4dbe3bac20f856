/**
 * Rows, graph and text over one document. Keeps only what is looked at (the open row, the lens); the document, its
 * preview and the samples are given. Works the same for a new plan and for a draft over a running one.
 */
import { useMemo, useState } from "react";
import type { ToolView } from "../../model/fleet/tools.ts";
import { paramsOf } from "../../model/rows/document.ts";
import { copied, moved, patched, removed } from "../../model/rows/edit.ts";
import type { RowFault } from "../../model/rows/faults.ts";
import { withoutParam } from "../../model/rows/params.ts";
import { after, leftAt, type Row, rowsOf } from "../../model/rows/row.ts";
import type { Sample } from "../../model/rows/sample.ts";
import { formOf } from "../../model/rows/schema.ts";
import { type Where, whereWords, withWhere } from "../../model/rows/where.ts";
import type { RequestPreview } from "../../model/types.ts";
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
import { usePicking } from "./usePicking.ts";

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
  /** Rows that cannot be changed, with the reason. */
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
  const [open, setOpen] = useState<string | null>(
    () => (rows.find((row) => !locked.has(row.id)) ?? rows[0])?.id ?? null,
  );
  const [first, setFirst] = useState(0);
  const from = Math.min(first, Math.floor(Math.max(0, rows.length - 1) / PAGE_ROWS) * PAGE_ROWS);
  const show = (id: string, at: number) => {
    setOpen(id);
    setFirst(Math.floor(Math.max(0, at) / PAGE_ROWS) * PAGE_ROWS);
  };
  const picker = usePicking({ drafting, tools, samples, onAdded: (id) => show(id, rows.length) });
  const params = Object.entries(paramsOf(draft));
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
        {lens !== "text" && drafting.text?.fault && (
          <p className="warning tone-amber" role="status">
            The text has a fault in line {drafting.text.fault.line} and is not in here yet. A change here takes its
            place; undo brings it back.
            <Button onClick={() => setLens("text")}>To the text</Button>
          </p>
        )}
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
        {lens === "text" && <TextLens drafting={drafting} locked={locked !== NONE} />}
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
              {rows.slice(from, from + PAGE_ROWS).map((row) => (
                <RowEntry
                  key={`${row.at} ${row.id}`}
                  row={row}
                  rows={rows}
                  editor={props}
                  open={open === row.id}
                  onOpen={setOpen}
                  onCopied={(id) => show(id, row.at + 1)}
                  onPickTool={() => picker.forRow(row.id)}
                />
              ))}
            </ol>
            <RowPages from={from} count={rows.length} most={PAGE_ROWS} onFrom={setFirst} />
            <div className="rowadd">
              <Button icon="plus" kind={rows.length === 0 ? "primary" : undefined} onClick={() => picker.forNew()}>
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
        <RowOutput row={opened} sample={sample} onUse={(use) => picker.forNew({ from: opened.id, ...use })} />
      )}
      {picker.picking && (
        <ToolPicker
          tools={tools}
          title={
            picker.picking.row
              ? `What ${picker.picking.row} does`
              : picker.picking.use
                ? "What to do with it"
                : "What the new row does"
          }
          takes={picker.takes}
          onPick={picker.pick}
          onClose={picker.close}
        />
      )}
    </>
  );
}

interface RowEntryProps {
  row: Row;
  rows: Row[];
  editor: RowsEditorProps;
  open: boolean;
  /** Opens a row, or closes the one that is open. */
  onOpen: (id: string | null) => void;
  onCopied: (id: string) => void;
  onPickTool: () => void;
}

/** A row with its faults, and while it is open its form and what can be done with it. */
function RowEntry({ row, rows, editor, open, onOpen, onCopied, onPickTool }: RowEntryProps) {
  const { drafting, tools, samples, locked = NONE, tried, trying, whyNot, onTry } = editor;
  const { draft, change } = drafting;
  const faults = editor.faults.filter((fault) => fault.row === row.at);
  const tool = tools.get(row.what);
  const preview = editor.preview?.tasks.find((task) => task.id === row.id);
  const lock = locked.get(row.id) ?? null;
  /** The place that this row has left, as long as others stay behind there. */
  const [place, setPlace] = useState<Where | null>(null);
  const behind = place ? leftAt(rows, row.id, place).filter((one) => !locked.has(one.id)) : [];
  const put = (ids: readonly string[], where: Where) =>
    change((held) => ({
      ...held,
      plan: ids.reduce((plan, id) => patched(plan, id, (task) => withWhere(task, where)), held.plan),
    }));
  return (
    <li>
      <RowLine
        row={row}
        rows={rows}
        tool={tool}
        params={Object.entries(paramsOf(draft)).flatMap(([name, param]) => (param.type === "device" ? [name] : []))}
        faults={faults}
        sample={tried.has(row.id) ? (samples.get(row.id) ?? null) : null}
        preview={preview}
        locked={lock}
        open={open}
        trying={trying === row.id}
        onOpen={() => onOpen(open ? null : row.id)}
        onPickTool={onPickTool}
        onWhere={(where) => {
          if (behind.length === 0) setPlace(row.where);
          put([row.id], where);
        }}
      />
      {place && behind.length > 0 && (
        <LeftBehind
          place={place}
          row={row}
          behind={behind}
          onFollow={() =>
            put(
              behind.map((one) => one.id),
              row.where,
            )
          }
          onStay={() => setPlace(null)}
        />
      )}
      <RowFaults faults={faults} onFix={(fault, at) => change((held) => fault.fixes[at]?.apply(held) ?? held)} />
      {open && (
        <>
          <RowForm
            draft={draft}
            row={row}
            rows={rows}
            form={row.kind === "tool" && tool ? formOf(tool.schema) : null}
            tool={tool}
            earlier={earlierOf(row, rows, editor)}
            faults={faults}
            preview={preview}
            locked={lock}
            running={editor.running?.has(row.id) ?? false}
            live={editor.running !== undefined}
            trying={trying}
            onChange={change}
            onTry={onTry}
            onRenamed={onOpen}
          />
          <RowActs
            row={row}
            last={row.at === rows.length - 1}
            tried={tried.has(row.id)}
            trying={trying}
            whyNot={whyNot(row.id)}
            locked={lock !== null}
            onTry={onTry}
            onMove={(by) => change((held) => ({ ...held, plan: moved(held.plan, row.id, by) }))}
            onCopy={() => {
              const made = copied(draft.plan, row.id);
              change({ ...draft, plan: made.plan });
              onCopied(made.id);
            }}
            onRemove={() => change((held) => ({ ...held, plan: removed(held.plan, row.id) }))}
          />
        </>
      )}
    </li>
  );
}

/** Rows that check or use what a row leaves on a device, which now leaves it on another one. */
function LeftBehind(props: { place: Where; row: Row; behind: Row[]; onFollow: () => void; onStay: () => void }) {
  const { place, row, behind, onFollow, onStay } = props;
  const one = behind.length === 1;
  const numbers = behind.map((each) => each.at + 1).join(", ");
  return (
    <div className="rowfaults row wrap small" role="status">
      <span className="word tone-amber">
        {one ? "Row" : "Rows"} {numbers}, which {one ? "follows" : "follow"} it, still {one ? "runs" : "run"} on{" "}
        {whereWords(place)}.
      </span>
      <Button onClick={onFollow}>
        Run {one ? "it" : "them"} on {whereWords(row.where)} too
      </Button>
      <Button kind="quiet" onClick={onStay}>
        Leave {one ? "it" : "them"} there
      </Button>
    </div>
  );
}

/** The rows whose outputs a row may use: all that do not come after it. */
function earlierOf(row: Row, rows: Row[], { tools, samples, whyNot }: RowsEditorProps): Earlier[] {
  const later = after(rows, row.id);
  return rows
    .filter((one) => one.id !== row.id && !later.has(one.id))
    .map((one) => ({
      id: one.id,
      at: one.at,
      title: tools.get(one.what)?.title ?? (one.kind === "person" ? "Ask a person" : one.what),
      sample: samples.get(one.id) ?? null,
      why: whyNot(one.id),
    }));
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
function RowOutput(props: {
  row: Row;
  sample: Sample;
  onUse: (use: { output: string; inner: string | null }) => void;
}) {
  const { row, sample, onUse } = props;
  return (
    <section className="card" aria-label={`Output of row ${row.at + 1}`}>
      <header>
        <h2>Output of row {row.at + 1}</h2>
        <span className="small dim">{sampleWords(sample)}; click a field to use it in a new row</span>
      </header>
      <Tree
        sample={sample}
        chosen={null}
        onPick={(branch) => onUse({ output: branch.pointer, inner: null })}
        onPickItem={({ list, inner }) =>
          () =>
            onUse({ output: list, inner })
          }
      />
    </section>
  );
}
