/** The schedules: the next firing, the last one and the notice of each; add, change, pause, run, remove. */
import { useEffect, useRef, useState } from "react";
import { Link, useSearch } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { useFleet, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { type Runs, type ScheduleAction, Schedules } from "../../link/schedules.ts";
import { paramsInOrder, wordsWith } from "../../model/plan/asked.ts";
import type { RecipeRow, Schedule, ScheduleCourse, ScheduleRow } from "../../model/types.ts";
import { momentWords, ownZone, readerTime } from "../../model/words/clock.ts";
import { author, rowShown } from "../../model/words/words.ts";
import { UNKNOWN, whyNotBy } from "../../ui/away.tsx";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button, Empty, Labelled, ProblemNote } from "../../ui/parts.tsx";
import { pressedKey } from "../../ui/pressedKey.ts";
import { Said } from "../../ui/Said.tsx";
import { LastRuns } from "../recipes/trend/LastRuns.tsx";
import { Slots } from "../request/preview/Slots.tsx";
import { NextFirings } from "./ClockForm.tsx";
import { newTerms, ScheduleDialog, termsOf, valuesOf } from "./ScheduleDialog.tsx";

export function SchedulesPage() {
  const { hub, session } = useWorkspace();
  const { say } = useDoing();
  const fleet = useFleet();
  const mayAdd = whyNotBy(session ?? UNKNOWN, "run") === null;
  const search = new URLSearchParams(useSearch());
  const [adding, setAdding] = useState(search.has("add"));
  const [changing, setChanging] = useState<ScheduleRow | null>(null);
  const list = useResource("schedules", (signal) => new Schedules(hub.rest).list(signal));
  const kept = [...fleet.kind<Schedule>("schedule").values()].map(stampOf);
  const courses = [...fleet.kind<ScheduleCourse>("schedule_course")].map(([id, course]) => `${id} ${courseOf(course)}`);
  const stamp = [...kept, ...courses].join("\n");
  const { reload } = list;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stream says that something changed.
  useEffect(() => reload(), [stamp, reload]);
  const items = list.value?.items ?? [];
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const recipeOf = (row: ScheduleRow) => recipes.value?.items.find((one) => one.name === row.recipe);
  const add = (
    <Button asks="run" kind="primary" icon="plus" onClick={() => setAdding(true)}>
      New schedule
    </Button>
  );
  const saved = (row: ScheduleRow) => {
    setAdding(false);
    setChanging(null);
    say(row.next[0] ? `${row.name} fires ${readerTime(row.next[0], row.zone).text}` : `${row.name} is saved`);
    reload();
  };
  return (
    <Shell
      title="Schedules"
      actions={add}
      entries={mayAdd ? [{ id: "schedule", group: "Do", label: "New schedule", run: () => setAdding(true) }] : []}
    >
      <div className="page">
        {items.length > 0 && <div className="only-phone row addline">{add}</div>}
        {list.problem && <ProblemNote problem={list.problem} />}
        <section className="card" aria-label="Schedules">
          {items.map((row) => (
            <Row key={row.id} row={row} recipe={recipeOf(row)} onChange={() => setChanging(row)} onDone={reload} />
          ))}
          {list.value && items.length === 0 && (
            <Empty title="Nothing is scheduled.">
              <p>Words, a recipe, or anything that has run before can run without you: every night, every Monday.</p>
              <span className="only-phone">{add}</span>
            </Empty>
          )}
        </section>
      </div>
      {adding && <Adding onClose={() => setAdding(false)} onSaved={saved} />}
      {changing && (
        <ScheduleDialog
          title={`Change ${changing.name}`}
          runs={null}
          change={changing}
          terms={termsOf(changing)}
          onClose={() => setChanging(null)}
          onSaved={saved}
        />
      )}
    </Shell>
  );
}

/** A text that changes whenever the list of schedules has to be read again because of this one. */
const stampOf = (one: Schedule): string =>
  [one.id, one.name, one.state, one.notice?.at_ms, ...Object.values(one.notice?.seen ?? {}), courseOf(one)].join(" ");

/** The course of a schedule, which a firing changes: beside the schedule, or a part of it. */
const courseOf = (one: ScheduleCourse): string =>
  [one.due_ms, one.fired, one.skipped, one.last?.ended_ms, ...Object.keys(one.running ?? {})].join(" ");

function Row(props: { row: ScheduleRow; recipe: RecipeRow | undefined; onChange: () => void; onDone: () => void }) {
  const { row, recipe, onChange, onDone } = props;
  const { hub, session } = useWorkspace();
  const { report, say } = useDoing();
  const maker = author(row.author);
  const [sure, setSure] = useState(false);
  /** Whether the question about the removal was answered by no: the focus goes back to where it came from. */
  const [kept, setKept] = useState(false);
  const keep = () => {
    setKept(true);
    setSure(false);
  };
  const api = new Schedules(hub.rest);
  const act = async (work: () => Promise<unknown>, text: string) => {
    try {
      await work();
      say(text);
      onDone();
    } catch (error) {
      report(error);
    }
  };
  const control = (action: ScheduleAction, text: string) => () => act(() => api.control(row.id, action), text);
  const begins = useRef(false);
  /** A double press fires once, also where the hub has answered the first one already. */
  const runNow = async (event: React.MouseEvent) => {
    if (begins.current || event.detail > 1) return;
    begins.current = true;
    await control("run", `${row.name} fires now`)();
    begins.current = false;
  };
  const first = row.next[0];
  const last = row.last ? rowShown(row.last) : null;
  const active = row.state === "active";
  const given = valuesOf(row.params, recipe?.params);
  const what = wordsWith(recipe?.phrases ?? [], Object.fromEntries(given)) || row.request || row.recipe || "a plan";
  const values = given.map(([, value]) => value);
  const on =
    row.approved?.devices.filter((device) => device && !values.includes(device) && !what.includes(device)) ?? [];
  return (
    <article className="item schedule" aria-label={row.name}>
      <Glyph
        name={row.stopped || row.notice ? "hand" : active ? "dotted_ring" : "barrier"}
        tone={row.stopped || row.notice ? "violet" : active ? "indigo" : "amber"}
      />
      <span className="row wrap">
        <b className="strong">{row.name}</b>
        {what !== row.name && <span className="dim">{what}</span>}
        {what === row.recipe && values.length > 0 && <span className="dim">{values.join(", ")}</span>}
        {values.length === 0 && on.length > 0 && <span className="dim">on {on.join(", ")}</span>}
        {maker !== session?.principal.name && <span className="dim">of {maker}</span>}
      </span>
      <span className="nowrap num">
        {first ? (
          <>
            <span className="dim">next</span> <time dateTime={first}>{readerTime(first, row.zone).text}</time>
          </>
        ) : active ? (
          "no firing"
        ) : (
          row.state
        )}
      </span>
      <span className="sub row wrap">
        <span>
          {row.in_words}, {row.zone}
          {first && readerTime(first, row.zone).there && ` (your clock: ${ownZone()})`}
        </span>
        {last && row.last && (
          <span className={`row word tone-${last.tone}`}>
            <Glyph name={last.glyph} />
            <Link className="link" href={`/constellations/${row.last.constellation}`}>
              last {readerTime(row.last.due_at, row.zone).text}
            </Link>
          </span>
        )}
        {row.running.map((id) => (
          <Link key={id} className="link" href={`/constellations/${id}`}>
            {row.asking?.includes(id) ? "waits for an approval" : "runs now"}
          </Link>
        ))}
        {row.waiting.length > 0 && <span>{row.waiting.length} waiting</span>}
        {row.notify_device && row.notify !== "never" && <span>also tells on {row.notify_device}</span>}
        {row.skipped > 0 && <span>{row.skipped} left out</span>}
        {row.unseen_trash === false && <span>asks each time before files go into the trash</span>}
        {row.unseen_trash && <span>puts the files that it finds into the trash without asking</span>}
      </span>
      {row.stopped && (
        <span className="sub">
          Stopped: <Said text={row.stopped.reason} />{" "}
          <span className="dim">
            <Said text={row.stopped.hint} />
          </span>
        </span>
      )}
      {row.paused && (
        <span className="sub">
          Paused by {author(row.paused.by)}
          {row.paused.at && `, ${momentWords(Date.parse(row.paused.at))}`}
          {row.paused.reason && `: ${row.paused.reason}`}
        </span>
      )}
      {row.notice && !row.stopped && (
        <span className="sub row wrap">
          {/* With its time: the firing after it may have gone well. */}
          <span>
            {row.notice.at && `${momentWords(Date.parse(row.notice.at))}: `}
            {row.notice.text}
          </span>
          <Button asks="anyone" onClick={() => act(() => api.seen([row.id]), "Seen")}>
            Seen
          </Button>
        </span>
      )}
      <div className="sub more">
        {(row.next.length > 0 || row.approved) && (
          <details>
            <summary>{row.next.length > 0 ? "The next five" : "What was approved"}</summary>
            <NextFirings clock={row} />
            {row.approved && (
              <p className="small dim">
                Approved by {author(row.approved.by)}: {row.approved.effects.join(", ") || "no effect"} on{" "}
                {row.approved.devices.join(", ") || "no device"}
                {row.approved.computing.length > 0 && `; ${row.approved.computing.join(", ")} only compute on values`}.
              </p>
            )}
          </details>
        )}
        {row.last && <Durations id={row.id} />}
        <div className="row wrap">
          {active ? (
            <Button asks="run" icon="pause" onClick={control("pause", `${row.name} is paused`)}>
              Pause
            </Button>
          ) : (
            <Button asks="run" icon="play" onClick={control("resume", `${row.name} fires again`)}>
              Resume
            </Button>
          )}
          <Button asks="run" icon="bolt" onClick={runNow}>
            Run now
          </Button>
          <Button asks="run" icon="edit" onClick={onChange}>
            Change...
          </Button>
          {sure ? (
            // The way back stands where the first press was: a double press removes nothing.
            <span
              className="sure"
              role="group"
              aria-label={`Remove ${row.name}?`}
              onKeyDown={(event) => {
                if (pressedKey(event) === "Escape") keep();
              }}
            >
              <Button autoFocus onClick={keep}>
                Keep it
              </Button>
              <Button asks="run" kind="bad" onClick={() => act(() => api.remove(row.id), `${row.name} is removed`)}>
                Remove this schedule
              </Button>
            </span>
          ) : (
            <Button asks="run" icon="close" autoFocus={kept} onClick={() => setSure(true)}>
              Remove
            </Button>
          )}
        </div>
      </div>
    </article>
  );
}

function Adding({ onClose, onSaved }: { onClose: () => void; onSaved: (row: ScheduleRow) => void }) {
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const [words, setWords] = useState("");
  const [recipe, setRecipe] = useState(new URLSearchParams(useSearch()).get("recipe") ?? "");
  const [params, setParams] = useState<Record<string, unknown>>({});
  const row = recipes.value?.items.find((one) => one.name === recipe);
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== "" && value !== undefined));
  const open = Object.entries(row?.params ?? {}).filter(([name, param]) => !param.optional && !(name in given));
  const named = row && open.length === 0 ? { recipe, params: given } : null;
  const runs: Runs | null = recipe ? named : words.trim() ? { request: words.trim() } : null;
  return (
    <ScheduleDialog title="New schedule" runs={runs} terms={newTerms()} onClose={onClose} onSaved={onSaved}>
      <div className="clockform">
        <Labelled label="What is to run, in words">
          {(id) => (
            <input
              id={id}
              placeholder="how are my machines"
              // biome-ignore lint/a11y/noAutofocus: this dialog is opened to type here.
              autoFocus
              disabled={Boolean(recipe)}
              value={words}
              onChange={(event) => setWords(event.target.value)}
            />
          )}
        </Labelled>
        <Labelled label="or a recipe">
          {(id) => (
            <select
              id={id}
              value={recipe}
              onChange={(event) => {
                setRecipe(event.target.value);
                setParams({});
              }}
            >
              <option value="">none: run the words</option>
              {recipes.value?.items.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.title || one.name}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      </div>
      {row && (
        <div className="row wrap slots">
          <Slots params={params} types={Object.fromEntries(paramsInOrder(row))} onChange={setParams} />
        </div>
      )}
    </ScheduleDialog>
  );
}

/** How long the last runs of a schedule took. They are read when this is opened: each run is a log to read. */
function Durations({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>How long it took</summary>
      {open && <DurationsRead id={id} />}
    </details>
  );
}

function DurationsRead({ id }: { id: string }) {
  const { hub } = useWorkspace();
  const read = useResource(`schedule runs ${id}`, (signal) => new Schedules(hub.rest).runs(id, signal));
  if (read.problem) return <ProblemNote problem={read.problem} />;
  return read.value ? <LastRuns trend={read.value} title="Durations" /> : null;
}
