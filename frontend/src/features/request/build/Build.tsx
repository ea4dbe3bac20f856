/**
 * A plan built in rows: the draft, its preview while a person types, rows tried alone, launch, save as recipe.
 * Launch sends the hash of the plan that was shown, so that nothing else can run. Loaded when it is opened.
 */
import { usePreview } from "../preview/preview.ts";
import "../../rows/rows.css";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { useKeys } from "../../../app/shell/keys.ts";
import { useFleet, useWorkspace } from "../../../app/workspace/context.ts";
import { useKept } from "../../../app/workspace/drafts.ts";
import type { Submission } from "../../../link/endpoints.ts";
import { Problem } from "../../../link/rest.ts";
import { type ToolView, toolsOf } from "../../../model/fleet/tools.ts";
import {
  type Draft,
  defaultsOf,
  documentOf,
  draftOf,
  EMPTY,
  type Fields,
  paramsOf,
  same,
  tasksOf,
  textOf,
} from "../../../model/rows/document.ts";
import { joinedFaults, openParams, type RowFault, schemaFaults } from "../../../model/rows/faults.ts";
import { rowsOf } from "../../../model/rows/row.ts";
import type { Sample } from "../../../model/rows/sample.ts";
import { formOf } from "../../../model/rows/schema.ts";
import { plural } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Button, ProblemNote } from "../../../ui/parts.tsx";
import { RowsEditor } from "../../rows/RowsEditor.tsx";
import { useTrials } from "../../rows/trials/useTrials.ts";
import { type KeptDraft, keptOf, useDraft, type Written, writtenIn } from "../../rows/useDraft.ts";
import { Facts, GrantLines, grantsOf, PreviewCard, Warnings } from "../preview/PreviewCard.tsx";
import { Slots } from "../preview/Slots.tsx";
import { named } from "./naming.ts";
import { SaveRecipe } from "./SaveRecipe.tsx";

interface BuildProps {
  /** Where the draft of this plan is kept: each document that is opened has its own. */
  place: string;
  /** A document to begin with, unless a draft of it was kept. */
  document?: Fields;
  /** Values of its parameters for this run. */
  values?: Fields;
}

export function Build({ place, document, values: understood }: BuildProps) {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const [, go] = useLocation();
  const kept = useKept<KeptDraft>(place);
  const opened = useMemo(() => (document ? draftOf(document) : EMPTY), [document]);
  const drafting = useDraft(
    () => writtenIn(kept.found) ?? { draft: opened, text: null },
    useCallback(
      (written: Written) => kept.keep(written.text || isChanged(written.draft, opened) ? keptOf(written) : null),
      [kept, opened],
    ),
  );
  const { draft } = drafting;
  const changed = useMemo(() => isChanged(draft, opened), [draft, opened]);
  const tools = toolsOf(fleet);
  const [given, setGiven] = useState<Record<string, unknown>>(understood ?? {});
  const [launching, setLaunching] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const [saving, setSaving] = useState(false);
  const [unfolded, setUnfolded] = useState(false);

  const params = paramsOf(draft);
  const values = useMemo(() => ({ ...defaultsOf(draft), ...present(given, params) }), [draft, given, params]);
  const trials = useTrials(draft, tools, values);
  const empty = tasksOf(draft.plan).length === 0;
  const asked = useMemo<Submission>(
    () => ({ plan: named(draft.plan, tools), ...(Object.keys(params).length ? { params: values } : {}) }),
    [draft.plan, tools, params, values],
  );
  const { preview, stamp, settled } = usePreview(empty ? null : asked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refusal is of what was asked.
  useEffect(() => setRefused(null), [stamp]);

  const faults = useMemo(
    () => allFaults(draft, tools, trials.samples, preview.problem, settled),
    [draft, tools, trials.samples, preview.problem, settled],
  );
  const problem = preview.problem && preview.problem.faults.length === 0 ? preview.problem : null;
  const shown = preview.problem ? null : preview.value;
  const grants = shown ? grantsOf(shown) : [];
  const missing = openParams(draft).filter((name) => values[name] === null || values[name] === "");
  const unread = drafting.text?.fault
    ? `Correct line ${drafting.text.fault.line} of the text first, or undo it.`
    : null;
  const whyNotYet = (): string | null => {
    if (unread) return unread;
    if (empty) return "Add a row first.";
    if (missing.length) return `Fill in ${missing.join(", ")} first.`;
    if (faults.length) return faultsWords(faults);
    return !settled || preview.loading || !shown ? "The preview is being made." : shown.may_not || null;
  };
  const blocked = whyNotYet();

  const launch = useCallback(async () => {
    if (blocked || launching || !shown) return;
    setLaunching(true);
    try {
      const made = await hub.submit({ ...asked, ...(shown.plan_hash ? { plan_hash: shown.plan_hash } : {}) });
      kept.keep(null);
      go(`/constellations/${made.id}`);
    } catch (error) {
      if (error instanceof Problem) setRefused(error);
      else throw error;
    } finally {
      setLaunching(false);
    }
  }, [asked, blocked, go, hub, kept, launching, shown]);
  useKeys([
    { keys: "Ctrl-Enter", does: "Launch", run: () => void launch(), always: true },
    { keys: "Ctrl-Z", does: "Undo", run: () => drafting.undo?.(), always: true },
    ...["Ctrl-Y", "Ctrl-Shift-Z"].map((keys) => ({ keys, does: "Redo", run: () => drafting.redo?.(), always: true })),
  ]);

  return (
    <>
      <div className="row wrap planname">
        <label className="field grow">
          <span className="nowrap">Plan</span>
          <input
            aria-label="Name of the plan"
            value={textOf(draft.plan.name)}
            onChange={(event) =>
              drafting.change({ ...draft, plan: { ...draft.plan, name: event.target.value } }, "name")
            }
          />
        </label>
        <Button
          kind="quiet"
          why={changed || drafting.text ? null : document ? "Nothing is changed yet." : "There is nothing yet."}
          onClick={() => drafting.change({ ...opened })}
        >
          Start over
        </Button>
      </div>
      {document && kept.found && changed && (
        <p className="small dim" role="status">
          These are your changes of last time. <i>Start over</i> shows the plan without them.
        </p>
      )}
      <RowsEditor
        drafting={drafting}
        tools={tools}
        preview={shown}
        faults={faults}
        samples={trials.samples}
        tried={trials.tried}
        trying={trials.trying}
        whyNot={trials.whyNot}
        onTry={trials.run}
      />
      {trials.failed && <ProblemNote problem={trials.failed.problem} />}
      {Object.keys(params).length > 0 && (
        <section className="card" aria-label="Values for this run">
          <header>
            <h2>Values for this run</h2>
          </header>
          <div className="under flat">
            <Slots
              params={Object.fromEntries(Object.keys(params).map((name) => [name, given[name] ?? values[name] ?? ""]))}
              types={params as never}
              onChange={setGiven}
            />
          </div>
        </section>
      )}
      {problem && !empty && settled && <ProblemNote problem={problem} />}
      {shown && shown.tasks.length > 0 && faults.length === 0 && (
        <details className="previewfold" onToggle={(event) => setUnfolded(event.currentTarget.open)}>
          <summary>What will run, where and why</summary>
          {unfolded && <PreviewCard preview={shown} fleet={fleet} warned />}
        </details>
      )}
      {shown && faults.length === 0 && <Warnings preview={shown} />}
      <GrantLines grants={grants} />
      {refused && <ProblemNote problem={refused} />}
      <div className="launch">
        {faults.length > 0 ? (
          <span
            className={`row word ${faults.some((fault) => !fault.open) ? "tone-vermilion" : "tone-violet"}`}
            role="status"
          >
            <Glyph name={faults.some((fault) => !fault.open) ? "cross" : "dotted_ring"} />
            {faultsWords(faults)}
          </span>
        ) : shown && shown.tasks.length > 0 ? (
          <Facts preview={shown} />
        ) : (
          <span className="dim">{missing.length ? blocked : "Nothing starts before you launch it."}</span>
        )}
        <span className="grow" />
        <Button large why={unread ?? (empty ? "Add a row first." : null)} onClick={() => setSaving(true)}>
          Save as recipe
        </Button>
        <Button
          asks="run"
          large
          kind="primary"
          why={blocked}
          aria-busy={launching || undefined}
          onClick={() => void launch()}
        >
          {grants.length > 0 ? "Launch, waits for the grant" : "Launch"}{" "}
          {!blocked && (
            <kbd className="only-wide" aria-hidden="true">
              Ctrl &#x21B5;
            </kbd>
          )}
        </Button>
      </div>
      {saving && (
        <SaveRecipe
          draft={draft}
          effects={shown?.effects ?? []}
          // A plan that began empty may still be launched; a recipe that is opened again is the one that was saved.
          onSaved={() => document && kept.keep(null)}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  );
}

const isChanged = (draft: Draft, opened: Draft): boolean => !same(documentOf(draft), documentOf(opened));

/** The values that were given for parameters that there still are. */
function present(given: Record<string, unknown>, params: { [name: string]: unknown }): Record<string, never> {
  const kept = Object.entries(given).filter(([name, value]) => name in params && value !== "" && value !== undefined);
  return Object.fromEntries(kept) as Record<string, never>;
}

function allFaults(
  draft: Draft,
  tools: ReadonlyMap<string, ToolView>,
  samples: ReadonlyMap<string, Sample>,
  problem: Problem | null,
  settled: boolean,
): RowFault[] {
  const rows = rowsOf(draft.plan);
  // A parameter without a value is asked for once, beside the others, and not in every row that names it.
  const told = (problem?.faults ?? []).filter((fault) => fault.code !== "missing_param");
  const own = rows.flatMap((row, at) => {
    const tool = row.kind === "tool" ? tools.get(row.what) : undefined;
    if (!tool) return [];
    const earlier = rows.slice(0, at).flatMap((one) => {
      const sample = samples.get(one.id);
      return sample ? [{ id: one.id, at: one.at, sample }] : [];
    });
    return schemaFaults(row, formOf(tool.schema), earlier);
  });
  return joinedFaults(draft, told, own, settled);
}

/** What is wrong; what is only still to be filled in is said once nothing is. */
function faultsWords(faults: readonly RowFault[]): string {
  const wrong = faults.filter((fault) => !fault.open);
  const told = wrong.length ? wrong : faults;
  const rows = [...new Set(told.flatMap((fault) => (fault.row === null ? [] : [fault.row + 1])))].sort((a, b) => a - b);
  const where = rows.length ? ` in row ${rows.join(", ")}` : "";
  if (wrong.length) return `${plural(wrong.length, "fault")}${where}`;
  return `To fill in${where}: ${faults.map((fault) => fault.field.replaceAll("_", " ")).join(", ")}`;
}
