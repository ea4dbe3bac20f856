/**
 * Scheduling work, or changing its schedule: the form, the next five firings and the plan, before it is saved.
 * What is saved carries the hash of the plan that was shown: that is the approval of every firing that reaches no
 * further.
 */

import { type ReactNode, useState } from "react";
import { useFleet, useWorkspace } from "../../app/workspace/context.ts";
import { asProblem, useResource } from "../../app/workspace/resource.ts";
import { useSettled } from "../../app/workspace/settled.ts";
import type { Problem } from "../../link/rest.ts";
import { type Runs, Schedules, type Terms } from "../../link/schedules.ts";
import type { SchedulePreview, ScheduleRow } from "../../model/types.ts";
import { cronOf, ownZone } from "../../model/words/clock.ts";
import { duration, plural } from "../../model/words/words.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Button, Labelled, ProblemNote } from "../../ui/parts.tsx";
import { Facts, GrantLines, grantsOf, PreviewCard } from "../request/preview/PreviewCard.tsx";
import { ClockForm, clockOfTerms, NextFirings, TermsForm } from "./ClockForm.tsx";

const TYPING_MS = 250;

export const newTerms = (name = ""): Terms => ({
  name,
  cron: "0 8 * * *",
  zone: ownZone(),
  except_days: "",
  overlap: "skip",
  catch_up: "last",
  notify: "failure",
  notify_device: null,
});

export const termsOf = (row: ScheduleRow): Terms => ({
  name: row.name,
  cron: row.cron,
  zone: row.zone,
  except_days: row.except_days,
  overlap: row.overlap,
  catch_up: row.catch_up,
  notify: row.notify,
  notify_device: row.notify_device,
});

/** The folders, devices and other plain values that a plan was made with; a duration comes in seconds, by its type. */
export const valuesOf = (
  params: unknown,
  types: Readonly<Record<string, { type?: string }>> = {},
): [string, string][] =>
  Object.entries((params ?? {}) as Record<string, unknown>)
    .filter(([, value]) => value !== null && typeof value !== "object" && value !== "")
    .map(([name, value]) => [
      name,
      types[name]?.type === "duration" && typeof value === "number"
        ? duration(value * 1000).replace(/ 00 (s|min)$/, "")
        : String(value),
    ]);

function PlanValues({ params }: { params: unknown }) {
  const given = valuesOf(params);
  if (given.length === 0) return null;
  return (
    <dl className="row wrap small" aria-label="With these values">
      {given.map(([name, value]) => (
        <div key={name} className="row">
          <dt className="dim">{name.replaceAll("_", " ")}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ScheduleDialogProps {
  title: string;
  /** What runs; null while it is not said yet. A changed schedule keeps what it runs. */
  runs: Runs | null;
  change?: ScheduleRow;
  terms: Terms;
  children?: ReactNode;
  onClose: () => void;
  onSaved: (row: ScheduleRow) => void;
}

export function ScheduleDialog(props: ScheduleDialogProps) {
  const { change, runs } = props;
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const api = new Schedules(hub.rest);
  const [terms, setTerms] = useState(props.terms);
  const [clock, setClock] = useState(() => clockOfTerms(props.terms));
  const [showsFiles, setShowsFiles] = useState(change?.unseen_trash !== true);
  const [saving, setSaving] = useState(false);
  const [reading, setReading] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const { cron, zone, except_days } = terms;
  const asked = cron ? { ...(change ? null : { ...runs, lists: showsFiles }), cron, zone, except_days } : null;
  const stamp = useSettled(asked ? JSON.stringify(asked) : null, TYPING_MS);
  const preview = useResource<SchedulePreview>(stamp, (signal) =>
    api.preview(JSON.parse(stamp ?? "{}") as Runs & Pick<Terms, "cron" | "zone" | "except_days">, signal),
  );
  const shown = stamp === (asked ? JSON.stringify(asked) : null) ? preview.value : null;
  // A change that needs an approval is refused with the plan, which is then shown to be approved.
  const asking = refused?.code === "needs_approval" ? (refused.more.preview as SchedulePreview["plan"]) : null;
  const plan = asking ?? shown?.plan ?? null;
  const listed = (change ?? shown)?.unseen_trash ?? null;
  const why = reading
    ? "The calendar file is being read."
    : change
      ? null
      : !runs
        ? "Say first what is to run, with all that it needs."
        : preview.problem
          ? "It cannot be saved as it is; the reason stands above."
          : shown
            ? null
            : "The preview is being made.";

  /** The days of the file come to those that are written by then, where they can be read and changed. */
  const addDays = async (calendar: string) => {
    setReading(true);
    try {
      const read = await api.preview({ cron: "@daily", zone, except_days: calendar });
      setRefused(null);
      setTerms((before) => ({
        ...before,
        except_days: [before.except_days, read.except_days].filter(Boolean).join(", "),
      }));
    } catch (error) {
      setRefused(asProblem(error));
    } finally {
      setReading(false);
    }
  };

  const save = async () => {
    if (why || saving) return;
    setSaving(true);
    try {
      const body = { ...terms, cron: cronOf(clock), ...(listed === null ? null : { lists: showsFiles }) };
      const row = change
        ? await api.change(change.id, { ...body, plan_hash: asking?.plan_hash ?? undefined })
        : await api.make({ ...runs, ...body, plan_hash: plan?.plan_hash ?? undefined });
      props.onSaved(row);
    } catch (error) {
      setRefused(asProblem(error));
    } finally {
      setSaving(false);
    }
  };

  return (
    <Modal label={props.title} className="scheduling" onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div className="row dialog-head">
          <h2 className="head grow">{props.title}</h2>
          <Button icon="close" kind="quiet" aria-label="Close" onClick={props.onClose} />
        </div>
        <div className="body">
          {props.children}
          <ClockForm
            terms={terms}
            clock={clock}
            onChange={(next, nextClock) => {
              setTerms(next);
              setClock(nextClock);
              setRefused(null);
            }}
            onCalendar={(text) => void addDays(text)}
          />
          {preview.problem && asked && <ProblemNote problem={preview.problem} />}
          {shown && shown.next.length > 0 && (
            <section aria-label="The next five firings">
              <p className="strong">
                {shown.in_words}, <span className="dim">{shown.zone}</span>
              </p>
              <NextFirings clock={shown} />
            </section>
          )}
          <TermsForm terms={terms} onChange={setTerms} />
          <Labelled label="Name">
            {(id) => (
              <input
                id={id}
                maxLength={128}
                placeholder={plan?.name ?? "what it runs"}
                value={terms.name}
                onChange={(event) => setTerms({ ...terms, name: event.target.value })}
              />
            )}
          </Labelled>
          {listed !== null && (
            <label className="row">
              <input
                type="checkbox"
                checked={showsFiles}
                onChange={(event) => {
                  setShowsFiles(event.target.checked);
                  setRefused(null);
                }}
              />
              <span>
                Show the files each time before they go into the trash.{" "}
                <span className="dim">
                  {showsFiles
                    ? "Each firing waits in the inbox for an answer."
                    : "They go without a question; nobody sees their list."}
                </span>
              </span>
            </label>
          )}
          {plan && <Facts preview={plan} approvedBy="Saving" />}
          {plan?.asks_approval && <PlanValues params={plan.params} />}
          {plan && plan.tasks.length > 0 && (
            <details open={plan.asks_approval}>
              <summary>What will run: {plural(plan.tasks.length, "task")}</summary>
              <PreviewCard preview={plan} fleet={fleet} />
            </details>
          )}
          {plan && <GrantLines grants={grantsOf(plan)} />}
          {plan?.asks_approval && (
            <p className="small">
              Saving approves this plan for every firing. If it comes to reach another device, grant or effect, it asks
              again.
            </p>
          )}
          {refused && <ProblemNote problem={refused} />}
        </div>
        <div className="row dialog-foot">
          <Button large onClick={props.onClose}>
            Cancel
          </Button>
          <Button asks="run" large kind="primary" type="submit" why={why} aria-busy={saving || undefined}>
            {plan?.asks_approval ? "Approve and save" : change ? "Save" : "Save the schedule"}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
