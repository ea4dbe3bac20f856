/**
 * Editing a plan while it runs: a draft over the running one, in the same rows. Rows that have started cannot be edited.
 * Apply is one edit of the version that was seen; if that is no longer the newest, what changed is shown first.
 */
import type { RequestPreview } from "../../../model/types.ts";
import "../../rows/rows.css";
import { useCallback, useLayoutEffect, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useKeys } from "../../../app/shell/keys.ts";
import { Shell } from "../../../app/shell/Shell.tsx";
import { useFleet, useNow, useStream, useWorkspace } from "../../../app/workspace/context.ts";
import { useKept } from "../../../app/workspace/drafts.ts";
import { asProblem, useResource } from "../../../app/workspace/resource.ts";
import { useSettled } from "../../../app/workspace/settled.ts";
import type { Problem } from "../../../link/rest.ts";
import { able, toolsOf } from "../../../model/fleet/tools.ts";
import { draftOf, type Fields, isFields } from "../../../model/rows/document.ts";
import { joinedFaults, schemaFaults } from "../../../model/rows/faults.ts";
import {
  type Changes,
  changesOf,
  clashes,
  delta,
  effectWords,
  faultsInRows,
  isApart,
  isChanged,
  type OpenDraft,
  openElsewhere,
  rebased,
  restored,
} from "../../../model/rows/live/changes.ts";
import { planOfStream } from "../../../model/rows/live/entities.ts";
import { rowsOf } from "../../../model/rows/row.ts";
import { formOf } from "../../../model/rows/schema.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { head as headOf } from "../../../model/tasks/selectors.ts";
import type { GroupRecord, Head, TaskRecord } from "../../../model/types.ts";
import { FINAL } from "../../../model/words/words.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, Empty, ProblemNote } from "../../../ui/parts.tsx";
import { RowsEditor } from "../../rows/RowsEditor.tsx";
import { useTrials } from "../../rows/trials/useTrials.ts";
import { type KeptDraft, keptOf, useDraft, type Written, writtenIn } from "../../rows/useDraft.ts";
import { useHold } from "./useHold.ts";

/** A draft over a running plan, with the version that it was begun on. */
interface LiveDraft {
  base: { plan: Fields; version: number };
  draft: KeptDraft;
}

const TYPING_MS = 300;
/** How often it is seen that a draft elsewhere has run out. */
const ASIDE_MS = 10_000;
const NO_VALUES = {};
/** The devices of a fleet change all the time, and each preview is a call. */
const PREVIEW_PAUSE_MS = 4000;
/** The hub's codes for a row that no device of now can begin. */
const NOT_NOW: ReadonlySet<string> = new Set(["missing_grant", "tool_unavailable"]);

export default function LiveEdit({ id }: { id: string }) {
  const model = useStream(id);
  const head = headOf(model);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model is one object, its revision says that it changed.
  const unkept = useMemo(() => (model.ready && head ? unkeptIn(model, head) : null), [model, model.revision]);
  return (
    <Shell
      title={head ? `Edit ${head.name || id}` : "Edit"}
      crumb={{ path: `/constellations/${id}`, label: "Constellation" }}
    >
      <div className="page new">
        {unkept ? (
          <ProblemNote problem={unkept} />
        ) : model.ready && head ? (
          <Editing id={id} model={model} head={head} />
        ) : (
          <Empty title={model.absent || "Reading."} />
        )}
      </div>
    </Shell>
  );
}

/** Why the plan cannot be edited in rows: they would change a number that nobody touches. */
function unkeptIn(model: StreamModel, head: Head): Problem | null {
  try {
    planOfStream(model, head);
    return null;
  } catch (error) {
    return asProblem(error);
  }
}

function Editing({ id, model, head }: { id: string; model: StreamModel; head: Head }) {
  const { hub, session } = useWorkspace();
  const now = useNow(ASIDE_MS);
  const { say } = useDoing();
  const fleet = useFleet();
  const [, go] = useLocation();
  const kept = useKept<LiveDraft>(`live.${id}`);
  const [base, setBase] = useState(
    () => baseIn(kept.found) ?? { plan: planOfStream(model, head), version: head.version ?? 0 },
  );
  // A draft over a running plan is not the draft of a new one: each constellation has its own.
  const drafting = useDraft(
    () => (baseIn(kept.found) && writtenIn(kept.found?.draft)) ?? { draft: draftOf(base.plan), text: null },
    useCallback(
      (written: Written) =>
        kept.keep(isChanged(changesOf(base.plan, written.draft.plan)) ? { base, draft: keptOf(written) } : null),
      [kept, base],
    ),
  );
  /** The refusal of an edit, which is about the plan that was sent and no later one. */
  const [refused, setRefused] = useState<{ plan: Fields; problem: Problem } | null>(null);
  const problem = refused?.plan === drafting.draft.plan ? refused.problem : null;
  const [applying, setApplying] = useState(false);
  const tools = toolsOf(fleet);
  const trials = useTrials(drafting.draft, tools, NO_VALUES);
  const locked = useMemo(() => lockedRows(model), [model, model.revision]);
  const changes = useMemo(() => changesOf(base.plan, drafting.draft.plan), [base.plan, drafting.draft.plan]);
  // The hub refuses a change of these, and the rest of the draft with it.
  const overtaken = new Set([...changes.changed, ...changes.removed].filter((row) => locked.has(row)));
  // Only rows that are changed here are held: everybody else goes on with the others.
  const present = new Set(rowsOf(base.plan).map((row) => row.id));
  const touched = [...changes.changed, ...changes.removed].filter((row) => present.has(row) && !overtaken.has(row));
  const unheld = useHold(id, FINAL.has(head.state) ? [] : touched);
  // The draft as a whole plan: devices, circles, names. Whether it still fits what runs is judged when it is applied.
  const text = changes.operations.length ? JSON.stringify(drafting.draft.plan) : null;
  const stamp = useSettled(text, TYPING_MS);
  const preview = useResource<RequestPreview>(
    stamp,
    (signal) => hub.preview({ plan: JSON.parse(stamp ?? "{}") }, signal),
    ["devices"],
    PREVIEW_PAUSE_MS,
  );
  const ofSchema = rowsOf(drafting.draft.plan).flatMap((row) => {
    const tool = tools.get(row.what);
    return tool && !locked.has(row.id) ? schemaFaults(row, formOf(tool.schema), []) : [];
  });
  const unable = (preview.value?.faults ?? [])
    .filter(({ task }) => changes.added.includes(task) || changes.changed.includes(task))
    .map(({ task, reason, way_out }) => ({ code: "tool_unavailable", place: `tasks.${task}`, reason, hint: way_out }));
  const fromHub = [
    ...((stamp && preview.problem?.faults) || []),
    ...faultsInRows(drafting.draft.plan, changes, unable.length ? unable : (problem?.faults ?? [])),
  ];
  const ableOn = (tool: string) => {
    const view = tools.get(tool);
    return view ? able(view).map(({ name }) => name) : [];
  };
  const faults = joinedFaults(drafting.draft, fromHub, ofSchema, stamp === text, ableOn);
  const newer = (head.version ?? 0) > base.version;
  const newest = newer ? planOfStream(model, head) : null;
  const change = newest && changesOf(base.plan, newest);
  // A text that is being written is left as it is: only a version without a change joins it unseen.
  const joins =
    newest && change && (!isChanged(change) || (!drafting.text && isApart(base.plan, drafting.draft.plan, newest)));
  const theirs = joins ? null : change;
  const both = theirs && newest ? clashes(base.plan, drafting.draft.plan, newest) : [];
  const me = session ? `${session.principal.kind}:${session.principal.name.replaceAll("#", "_")}` : "";
  const elsewhere = openElsewhere(model.kind<OpenDraft>("draft").values(), me, session?.token ?? "", now);
  const running = useMemo(() => new Set(rowsOf(base.plan).map((row) => row.id)), [base.plan]);
  const states = useMemo(() => statesIn(model), [model, model.revision]);
  const atWork = [...model.kind<TaskRecord>("task").values()].filter((one) => AT_WORK.has(one.state)).length;
  const effect = FINAL.has(head.state)
    ? ""
    : effectWords(changes, drafting.draft.plan, states, head.state === "active");
  const blocked = FINAL.has(head.state)
    ? "It has ended: run it again from Plan in rows."
    : changes.operations.length === 0
      ? "Nothing is changed yet."
      : (changes.impossible[0] ??
        (theirs ? "The plan has changed meanwhile: look at it first." : null) ??
        (overtaken.size ? `${[...overtaken].join(", ")} began before your change: leave it as it is first.` : null));
  const why = applying ? "It is being applied." : (blocked ?? (faults.length ? "Correct the faults first." : null));
  /** All that is wrong is that no device of now can do it: one that comes later may. */
  const mayWait =
    blocked === null && fromHub.length > 0 && fromHub.every(({ code }) => NOT_NOW.has(code)) && !ofSchema.length;
  const apply = async (waiting = false) => {
    setApplying(true);
    setRefused(null);
    try {
      const edit = await hub.edit(id, base.version, changes.operations, "edited in rows", !waiting);
      kept.keep(null);
      say(`Version ${edit.version} is applied`);
      go(`/constellations/${id}`);
    } catch (error) {
      setRefused({ plan: drafting.draft.plan, problem: asProblem(error) });
    } finally {
      setApplying(false);
    }
  };
  useKeys([
    { keys: "Ctrl-Enter", does: "Apply", run: () => void (why === null && apply()), always: true },
    { keys: "Ctrl-Z", does: "Undo", run: () => drafting.undo?.(), always: true },
    ...["Ctrl-Y", "Ctrl-Shift-Z"].map((keys) => ({ keys, does: "Redo", run: () => drafting.redo?.(), always: true })),
  ]);
  const take = () => {
    if (!newest || !change) return;
    if (isChanged(change)) drafting.rebase((held) => ({ ...held, plan: rebased(base.plan, held.plan, newest) }));
    setBase({ plan: isChanged(change) ? newest : base.plan, version: head.version ?? 0 });
    setRefused(null);
  };
  useLayoutEffect(() => {
    if (joins) take();
  });
  return (
    <>
      <section className="draftbar row wrap" aria-label="Draft">
        <b className="strong">draft: {delta(changes) || "no changes"}</b>
        <span className="small dim">
          over version {base.version}, {atWork} running {atWork === 1 ? "task" : "tasks"} unaffected
        </span>
        {effect && (
          <span className="small effect" role="status">
            {effect}
          </span>
        )}
        <span className="grow" />
        <Discard id={id} changed={isChanged(changes)} forget={() => kept.keep(null)} />
        {mayWait ? (
          <Button asks="run" disabled={applying} onClick={() => void apply(true)}>
            Apply, and wait for a device
          </Button>
        ) : (
          <Button key="apply" asks="run" kind="primary" why={why} onClick={() => void apply()}>
            Apply
          </Button>
        )}
        {problem && (
          <div className="refused">
            <ProblemNote problem={problem} />
          </div>
        )}
      </section>
      {unheld && touched.length > 0 && (
        <p className="small dim" role="status">
          Others may edit these rows meanwhile: {unheld}
        </p>
      )}
      {elsewhere.map((notice) => (
        <p className="note tone-amber" role="status" key={notice}>
          {notice}
        </p>
      ))}
      {theirs && (
        <section className="note tone-amber" role="status">
          <p className="strong">
            The plan is at version {head.version} now: {wordsOf(theirs)}.
          </p>
          {both.length > 0 && <p>Both changed {both.join("; ")}. Your change stands if you take that in.</p>}
          <p>
            <Button onClick={take}>Take that in, keep my changes</Button>
          </p>
        </section>
      )}
      {overtaken.size > 0 && !FINAL.has(head.state) && (
        <section className="note tone-amber" role="status">
          <p className="strong">
            Your change of {[...overtaken].join(", ")} comes too late, since work on it has begun.
          </p>
          <p>
            <Button
              onClick={() => drafting.rebase((held) => ({ ...held, plan: restored(base.plan, held.plan, overtaken) }))}
            >
              Leave {overtaken.size === 1 ? "it" : "them"} as before, keep my other changes
            </Button>
          </p>
        </section>
      )}
      {trials.failed && <ProblemNote problem={trials.failed.problem} />}
      <RowsEditor
        drafting={drafting}
        tools={tools}
        preview={stamp && !preview.problem ? preview.value : null}
        faults={faults}
        samples={trials.samples}
        tried={trials.tried}
        trying={trials.trying}
        whyNot={trials.whyNot}
        onTry={trials.run}
        locked={locked}
        running={running}
      />
    </>
  );
}

const baseIn = (kept: LiveDraft | null): LiveDraft["base"] | null =>
  isFields(kept?.base.plan) && writtenIn(kept.draft)
    ? { plan: kept.base.plan, version: Number(kept.base.version) || 0 }
    : null;

/** The way out without an edit. A draft that is gone does not come back, so one with changes is asked about. */
function Discard({ id, changed, forget }: { id: string; changed: boolean; forget: () => void }) {
  const [asking, setAsking] = useState(false);
  const way = (className: string, words: string) => (
    <Link className={className} href={`/constellations/${id}`} onClick={forget}>
      {words}
    </Link>
  );
  if (!changed) return way("btn", "Discard");
  return (
    <>
      <Button onClick={() => setAsking(true)}>Discard...</Button>
      {asking && (
        <Modal label="Discard the draft" className="asking" onClose={() => setAsking(false)}>
          <h2 className="head">Discard the draft?</h2>
          <p className="dim">Its changes are lost. The running plan stays as it is.</p>
          <div className="row">
            <Button large onClick={() => setAsking(false)}>
              Go on editing
            </Button>
            {way("btn large bad", "Discard")}
          </div>
        </Modal>
      )}
    </>
  );
}

const AT_WORK = new Set(["leased", "running", "cancelling"]);
const DONE = new Set(["succeeded", "failed", "cancelled", "skipped"]);

/** Rows that an edit may not touch any more, with the reason. */
function lockedRows(model: StreamModel): ReadonlyMap<string, string> {
  const locked = new Map<string, string>();
  for (const [id, record] of model.kind<TaskRecord>("task")) {
    if (record.state === "ready" && !record.started) continue;
    if (record.state === "waiting") continue;
    locked.set(id, DONE.has(record.state) ? "It has ended: it stays as it is." : "It has started: it stays as it is.");
  }
  for (const [id, group] of model.kind<GroupRecord>("group"))
    if (group.state !== "waiting") locked.set(id, "Its items have started: it stays as it is.");
  return locked;
}

/** The states of tasks and families by their row. */
const statesIn = (model: StreamModel): ReadonlyMap<string, string> =>
  new Map(
    [...model.kind<TaskRecord>("task"), ...model.kind<GroupRecord>("group")].map(([id, { state }]) => [id, state]),
  );

function wordsOf(changes: Changes): string {
  const parts = [
    changes.added.length ? `${changes.added.join(", ")} came` : "",
    changes.removed.length ? `${changes.removed.join(", ")} went` : "",
    changes.changed.length ? `${changes.changed.join(", ")} changed` : "",
  ].filter(Boolean);
  return parts.join("; ") || "nothing in these rows";
}
