/** The home page: what needs this person, what runs now, and the health of the fleet, without a scroll. */

import { useState } from "react";
import { Link, useLocation } from "wouter";
import { Shell } from "../../app/shell/Shell.tsx";
import { useMine, usePart } from "../../app/waiting/mine.ts";
import { useNeeds } from "../../app/waiting/needs.ts";
import { useWaiting } from "../../app/waiting/waiting.ts";
import { useFleet, useNow, useStream, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { type DeviceView, deviceShown, devices } from "../../model/fleet/fleet.ts";
import { linesOf, withLoad } from "../../model/fleet/vitals.ts";
import { headShown, sentenceNow } from "../../model/plan/soFar.ts";
import { allViews, answer, counted, head, inTrouble } from "../../model/tasks/selectors.ts";
import { Tally } from "../../model/tasks/tally.ts";
import type { ConstellationRow } from "../../model/types.ts";
import { createdMs, endedMs } from "../../model/words/times.ts";
import {
  ATTENTION,
  age,
  clock,
  constellationShown,
  endsBy,
  FINAL,
  goesOn,
  partOf,
  plural,
  shownTo,
} from "../../model/words/words.ts";
import { UNKNOWN, whyNotBy } from "../../ui/away.tsx";
import { Glyph } from "../../ui/Glyph.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { Button, Empty, ProblemNote, StateBar } from "../../ui/parts.tsx";
import { RecentRow } from "../constellation/list/RecentRow.tsx";
import { Spark } from "../fleet/vitals/Spark.tsx";
import { useVitals } from "../fleet/vitals/vitals.ts";
import { useWork } from "../fleet/vitals/work.ts";
import { Notices } from "../inbox/Notices.tsx";
import { QuestionCard } from "../inbox/questions/Questions.tsx";
import { WaitingCard, waitingWords, waitsForOthers } from "../inbox/WaitingCard.tsx";
import { ProposalsCard } from "../recipes/Proposals.tsx";
import { RecipeNotices } from "../recipes/RecipeNotices.tsx";
import { withoutRepeatedQuestions } from "./runningRows.ts";
import { SinceCard } from "./SinceCard.tsx";
import { NextOnTheClock, phrasesOf, StartCard } from "./Start.tsx";
import { changesSince, worthShowing } from "./since.ts";
import { useVisitBefore } from "./visit.ts";

const RUNNING_MAX = 6;
const RECENT_MAX = 8;
const ASKED_MAX = 2;
const FAILED_MAX = 3;
const SINCE_MAX = 4;
const FLEET_MAX = 12;
/** The rows count the tasks at work, and a busy hub changes tasks all the time. */
const LIST_PAUSE_MS = 2000;
const DAY_MS = 24 * 3600 * 1000;

export function HomePage() {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const now = useNow(1000);
  const needs = useNeeds();
  const waiting = useWaiting();
  const mine = useMine();
  const part = usePart();
  const list = useResource(
    "home",
    (signal) => hub.constellations({}, signal),
    ["constellations", "tasks"],
    LIST_PAUSE_MS,
  );
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const rows = list.value?.items ?? [];
  const running = rows.filter((row) => !FINAL.has(row.state));
  const begun = running.filter(goesOn);
  const asked = new Set(needs.items.map((need) => need.constellation));
  const shown = withoutRepeatedQuestions(running, asked);
  const yours = shown.some((row) => endsBy(row, part));
  const failed = rows.filter((row) => row.state === "failed" && now - endedMs(row) < DAY_MS);
  const all = [...devices(fleet).values()];
  const reached = all.filter((view) => view.device.link === "online").length;
  const sinceMs = useVisitBefore();
  const since = sinceMs && list.value && fleet.ready ? changesSince(sinceMs, rows, !list.value.next, all) : null;
  // Each end is shown once: failures first, then other ends since the last visit, then older ones as recent.
  const worth = since ? worthShowing(since, failed).slice(0, SINCE_MAX) : [];
  const told = new Set([...failed.slice(0, FAILED_MAX), ...worth].map((row) => row.id));
  const recent = rows.filter((row) => FINAL.has(row.state) && !told.has(row.id)).slice(0, RECENT_MAX);
  // Nothing is told before it is known: *Nothing needs you* of a page that has read nothing would be wrong.
  const known = needs.read && waiting.read && fleet.ready && list.value;
  const sentence = [
    mine.count === 0 && mine.all > 0 ? waitsForOthers(mine.all) : waitingWords(mine.count),
    ...(failed.length ? [`${failed.length} failed in the last day`] : []),
    begun.length ? `${begun.length} running` : "nothing running",
    all.length ? `${reached} of ${plural(all.length, "device")} in reach` : "no device yet",
  ].join(", ");

  return (
    <Shell title="Home" beside={known && <span className="dim cut only-wide">{sentence}</span>}>
      <div className="page">
        <Ask phrases={phrasesOf(recipes.value?.items ?? [], ASKED_MAX)} />
        {list.problem && <ProblemNote problem={list.problem} />}
        <div className="columns">
          <div className="cards">
            {needs.shown.length > 0 && (
              <section className="card">
                <header>
                  <h2>
                    {mine.whyNot ? "Waits for an approver" : mine.asksOthers ? "Waiting for others" : "Needs you"}
                  </h2>
                  <span className="dim">{needs.count}</span>
                  <Link className="link small end" href="/inbox">
                    Inbox
                  </Link>
                </header>
                {needs.shown.map((need) => (
                  <QuestionCard
                    key={`${need.constellation}/${need.id}`}
                    question={need}
                    constellation={need.constellation}
                    origin={
                      <>
                        From{" "}
                        <Link
                          className="link"
                          href={`/constellations/${need.constellation}${need.task ? `/t/${need.task}` : ""}`}
                        >
                          {need.name || need.constellation}
                        </Link>
                        .
                      </>
                    }
                  />
                ))}
              </section>
            )}
            <WaitingCard />
            <Notices />
            <RecipeNotices />
            {failed.length > 0 && (
              <section className="card">
                <header>
                  <h2>Failed in the last day</h2>
                  <span className="dim">{partOf(FAILED_MAX, failed.length)}</span>
                  {failed.length > FAILED_MAX && (
                    <Link className="link small end" href="/constellations?state=failed">
                      All that failed
                    </Link>
                  )}
                </header>
                {failed.slice(0, FAILED_MAX).map((row) => (
                  <Link key={row.id} className="item" href={`/constellations/${row.id}`}>
                    <Glyph name="cross" tone="vermilion" />
                    <b className="strong cut">{row.name || row.request || row.id} failed</b>
                    <span className="small dim nowrap">{age(endedMs(row), now)}</span>
                    <span className="sub">{row.sentence}</span>
                  </Link>
                ))}
              </section>
            )}
            {shown.length > 0 && (
              <section className="card">
                <header>
                  <h2>{begun.length ? "Running" : `Waiting for ${yours ? "you" : "others"}`}</h2>
                  <span className="dim">{countWords(begun.length, shown.length - begun.length)}</span>
                </header>
                {shown.slice(0, RUNNING_MAX).map((row) => (
                  <Running key={row.id} row={row} nowMs={now} />
                ))}
              </section>
            )}
            <ProposalsCard />
            {since && <SinceCard sinceMs={sinceMs} now={now} found={since} worth={worth} />}
            <section className="card">
              <header>
                <h2>Recent</h2>
                <Link className="link small end" href="/constellations">
                  All constellations
                </Link>
              </header>
              {recent.map((row) => (
                <RecentRow key={row.id} row={row} now={now} />
              ))}
              {recent.length === 0 && told.size === 0 && list.value && (
                <Empty title={running.length ? "Nothing has ended yet." : "Nothing has run yet."}>
                  <p>A constellation is the graph of tasks made for one request; its answer stays here.</p>
                  {fleet.ready && all.length === 0 ? (
                    <Link className="btn primary" href="/devices?add=1">
                      Add your first device
                    </Link>
                  ) : (
                    <Link className="btn primary" href={`/new?q=${encodeURIComponent("how are my machines")}`}>
                      Ask: how are my machines
                    </Link>
                  )}
                </Empty>
              )}
            </section>
          </div>
          <div className="cards">
            {fleet.ready && recipes.value && <StartCard fleet={all} recipes={recipes.value.items} />}
            <NextOnTheClock />
            <FleetCard all={all} ready={fleet.ready} />
          </div>
        </div>
      </div>
    </Shell>
  );
}

/** The fleet's health in a row, those that are stuck first, each with the line of its load. */
function FleetCard({ all, ready }: { all: readonly DeviceView[]; ready: boolean }) {
  const work = useWork();
  const shownOf = (view: DeviceView) => deviceShown(view, work.get(view.id)?.length ?? 0);
  const list = [...all].sort((a, b) => Number(shownOf(b).stuck) - Number(shownOf(a).stuck)).slice(0, FLEET_MAX);
  const vitals = useVitals(list.map((view) => view.id)).value;
  const tally = new Map<string, { shown: ReturnType<typeof shownOf>; count: number }>();
  for (const view of all) {
    const shown = shownOf(view);
    const word = shown.word.split(",")[0] ?? "";
    tally.set(word, { shown, count: (tally.get(word)?.count ?? 0) + 1 });
  }
  return (
    <section className="card" aria-label="Fleet">
      <header>
        <h2>Fleet</h2>
        <Link className="link small end" href="/devices">
          Open
        </Link>
      </header>
      {all.length > 0 && (
        <p className="row wrap body counts">
          {[...tally].map(([word, { shown, count }]) => (
            <span key={word} className="count">
              <Glyph name={shown.glyph} tone={shown.tone} />
              <b>{count}</b>
              {word.toLowerCase()}
            </span>
          ))}
        </p>
      )}
      {list.map((view) => {
        const lines = linesOf(vitals, view.id);
        const load = lines.find((line) => line.vital === "load_percent");
        const shown = withLoad(shownOf(view), lines);
        return (
          <Link key={view.id} className="deviceline" href={`/devices/${view.id}`}>
            <span className="row wrap">
              <span className="tag">{view.tag}</span>
              <span className="cut">{view.device.name}</span>
              <span className={`end small word nowrap tone-${shown.tone}`}>{shown.word}</span>
              <Glyph name={shown.glyph} tone={shown.tone} />
            </span>
            {load && vitals && <Spark line={load} stepS={vitals.step_s} />}
          </Link>
        );
      })}
      {all.length > list.length && (
        <Link className="deviceline link" href="/devices">
          and {all.length - list.length} more
        </Link>
      )}
      {ready && all.length === 0 && (
        <Empty title="No device yet.">
          <p>A device joins by one line in its terminal.</p>
          <Link className="btn" href="/devices?add=1">
            Add a device
          </Link>
        </Empty>
      )}
    </section>
  );
}

function Ask({ phrases }: { phrases: string[] }) {
  const [, go] = useLocation();
  const { session } = useWorkspace();
  const why = whyNotBy(session ?? UNKNOWN, "start");
  const [words, setWords] = useState("");
  return (
    <form
      className="ask"
      onSubmit={(event) => {
        event.preventDefault();
        go(`/new${words.trim() ? `?q=${encodeURIComponent(words.trim())}` : ""}`);
      }}
    >
      <Icon name="edit" big />
      <input
        aria-label="What should happen?"
        aria-describedby={why ? "ask-why" : undefined}
        placeholder="What should happen?"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      {(why ? [] : phrases).map((phrase) => (
        <Link key={phrase} className="chip out only-wide" href={`/new?q=${encodeURIComponent(phrase)}`}>
          {phrase}
        </Link>
      ))}
      <Button asks="start" kind="primary" large type="submit">
        New request{" "}
        <kbd className="only-wide" aria-hidden="true">
          n
        </kbd>
      </Button>
      {why && (
        <p id="ask-why" className="small dim why">
          {why}
        </p>
      )}
    </form>
  );
}

/** `2`, `2, and 1 that waits`. */
function countWords(begun: number, waiting: number): string {
  if (!begun || !waiting) return String(begun + waiting);
  return `${begun}, and ${waiting} that ${waiting === 1 ? "waits" : "wait"}`;
}

function Running({ row, nowMs }: { row: ConstellationRow; nowMs: number }) {
  const model = useStream(row.id);
  const fleet = useFleet();
  const views = allViews(model, fleet);
  const [tallies] = useState(() => ({ now: new Tally(), pieces: new Tally() }));
  const now = tallies.now.of(views);
  const constellation = head(model);
  const state = constellation?.state ?? row.state;
  const part = usePart();
  const shown = constellation
    ? shownTo(constellation, headShown(constellation, now, answer(model)), part)
    : constellationShown(state);
  const tally = tallies.pieces.of(counted(model, fleet, views));
  const trouble = now.counts(inTrouble).length > 0 ? views.find((view) => inTrouble(view.shown)) : undefined;
  const attention = constellation?.attention?.[0];
  return (
    <Link className="item" href={`/constellations/${row.id}`}>
      <Glyph name={shown.glyph} tone={shown.tone} />
      <span className="row">
        <b className="strong cut">{row.name || row.request || row.id}</b>
        <span className="dim nowrap">
          {tally.size ? `${tally.in("succeeded")} of ${tally.size}, ` : ""}
          {clock(nowMs - createdMs(row))}
        </span>
      </span>
      {attention ? (
        <span className="row small word tone-violet">
          <Glyph name="hand" />
          {now.working > 0 && `${now.working} running. `}
          {ATTENTION[attention]}
        </span>
      ) : trouble ? (
        <span className={`row small word tone-${trouble.shown.tone}`}>
          <Glyph name={trouble.shown.glyph} />
          {trouble.name}: {trouble.shown.word.toLowerCase()}
        </span>
      ) : (
        <span className="small dim nowrap">{shown.word}</span>
      )}
      <span className="sub">{(constellation && sentenceNow(constellation, answer(model), tally)) || row.request}</span>
      {tally.size > 0 && (
        <span className="wide">
          <StateBar counts={tally.counts()} />
        </span>
      )}
    </Link>
  );
}
