/** One device, alive: its lines, what it does and did, what it may do, and what a person may do with it. */

import { useEffect } from "react";
import { Link, useLocation } from "wouter";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { Missing } from "../../../app/shell/Missing.tsx";
import { Shell } from "../../../app/shell/Shell.tsx";
import { useAsks } from "../../../app/waiting/waiting.ts";
import { useFleet, useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { Hub } from "../../../link/endpoints.ts";
import {
  type DeviceView,
  deviceShown,
  devices,
  linkWords,
  NOT_YET_NEXT_STEP,
  taskNamed,
} from "../../../model/fleet/fleet.ts";
import { rightsOf } from "../../../model/fleet/rights.ts";
import { linesOf, withLoad } from "../../../model/fleet/vitals.ts";
import { typedOnDevice } from "../../../model/words/commands.ts";
import { createdMs } from "../../../model/words/times.ts";
import { plural } from "../../../model/words/words.ts";
import { CopyLine, ProblemNote, Rest, StatePill } from "../../../ui/parts.tsx";
import { RecentRow } from "../../constellation/list/RecentRow.tsx";
import { AskItem } from "../../inbox/WaitingCard.tsx";
import { LargeLines, workParts } from "../vitals/DeviceLines.tsx";
import { midnight, useVitals, useWorkToday } from "../vitals/vitals.ts";
import { useWorkOf } from "../vitals/work.ts";
import { type Busy, DeviceControls, DeviceFacts, DeviceName, DeviceNotes, DeviceTools } from "./DevicePanel.tsx";
import { Mark } from "./Mark.tsx";
import { PaceCard } from "./PaceCard.tsx";
import { TrashCard } from "./TrashCard.tsx";

const LAST_MAX = 8;
const TASKS_MAX = 8;

export function DevicePage({ id }: { id: string }) {
  const fleet = useFleet();
  const view = devices(fleet).get(id);
  if (view) return <Known view={view} />;
  return (
    <Shell title="Device" crumb={{ path: "/devices", label: "Fleet" }}>
      <div className="page">
        {fleet.ready && (
          <Missing
            title="There is no such device in the fleet."
            why="It may have been revoked, or the address is of another hub."
            all={{ path: "/devices", words: "all devices" }}
          />
        )}
      </div>
    </Shell>
  );
}

function Known({ view }: { view: DeviceView }) {
  const { device } = view;
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const [, go] = useLocation();
  const now = useNow(5000);
  const { now: busy, waiting } = useWorkOf(device);
  const vitals = useVitals([device.id]);
  const asks = useAsks().filter((ask) => ask.device === device.id);
  const act = async (what: (hub: Hub) => Promise<unknown>) => {
    try {
      await what(hub);
    } catch (error) {
      report(error);
    }
  };
  return (
    <Shell
      title={device.name}
      crumb={{ path: "/devices", label: "Fleet" }}
      beside={<span className="tag">{view.tag}</span>}
    >
      <div className="page cards device">
        <div className="row wrap">
          <StatePill shown={withLoad(deviceShown(view, busy.length), linesOf(vitals.value, device.id))} />
          <Mark view={view} />
          <span className="small dim">{linkWords(device, now) || NOT_YET_NEXT_STEP}</span>
        </div>
        <DeviceNotes view={view} busy={busy} />
        {asks.length > 0 && (
          <section className="card" aria-label="It asks its owner">
            {asks.map((ask) => (
              <AskItem key={ask.action} ask={ask} />
            ))}
          </section>
        )}
        {vitals.problem && <ProblemNote problem={vitals.problem} />}
        {vitals.value && <LargeLines vitals={vitals.value} device={device.id} />}
        <div className="columns">
          <div className="cards">
            <Tasks
              title="Running now"
              none={waiting.length ? "It does nothing now." : "It does nothing now, and nothing waits for it."}
              tasks={busy}
            />
            {waiting.length > 0 && <Tasks title="Waiting for it" none="" tasks={waiting} />}
            <Today view={view} now={now} />
            <PaceCard device={device.id} />
            <TrashCard key={device.id} view={view} />
          </div>
          <div className="cards">
            <section className="card" aria-label="What you may do with it">
              <header>
                <h2>What you may do with it</h2>
              </header>
              <div className="body stack">
                <DeviceName key={device.name} view={view} onDo={act} />
                <DeviceControls view={view} busy={busy} onDo={act} onRevoked={() => go("/devices")} />
              </div>
            </section>
            <RightsCard view={view} />
            <section className="card" aria-label="What it is">
              <header>
                <h2>What it is</h2>
              </header>
              <div className="body stack">
                <DeviceFacts view={view} />
                <DeviceTools view={view} />
              </div>
            </section>
          </div>
        </div>
      </div>
    </Shell>
  );
}

function Tasks({ title, none, tasks }: { title: string; none: string; tasks: Busy }) {
  const fleet = useFleet();
  const line = (one: Busy[number]) => (
    <Link
      key={`${one.constellation}/${one.task}`}
      className="deviceline"
      href={`/constellations/${one.constellation}/t/${one.task}`}
    >
      <b className="strong cut">{taskNamed(fleet, one.task)}</b>
      <span className="dim cut">
        {one.name}
        {one.by && `, for ${one.by}`}
      </span>
    </Link>
  );
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span className="dim">{tasks.length || ""}</span>
      </header>
      {tasks.slice(0, TASKS_MAX).map(line)}
      <Rest count={tasks.length - TASKS_MAX}>{() => tasks.slice(TASKS_MAX).map(line)}</Rest>
      {tasks.length === 0 && <p className="body dim">{none}</p>}
    </section>
  );
}

/** What was asked for today and had work here, by its end; and the last of it, on other days too. */
function Today({ view, now }: { view: DeviceView; now: number }) {
  const { hub } = useWorkspace();
  const { id } = view;
  const parts = workParts(useWorkToday([id]).get(id));
  const list = useResource(
    `last of ${id}`,
    (signal) => hub.constellations({ device: id }, signal),
    ["constellations", "tasks"],
    2000,
  );
  const last = (list.value?.items ?? []).slice(0, LAST_MAX);
  const since = midnight(now);
  useEffect(() => {
    if (location.hash === "#today") document.getElementById("today")?.scrollIntoView();
  }, []);
  const earlier = last.findIndex((row) => createdMs(row) < since);
  return (
    <section className="card" aria-label="Today" id="today">
      <header>
        <h2>Today</h2>
        <span className="dim">
          {parts.length ? parts.map(({ word, count }) => `${count} ${word}`).join(", ") : "nothing yet"}
        </span>
      </header>
      {list.problem && <ProblemNote problem={list.problem} />}
      {last.map((row, at) => (
        <div key={row.id}>
          {at === earlier && <p className="body small dim">Before today</p>}
          <RecentRow row={row} now={now} />
        </div>
      ))}
      {list.value && last.length === 0 && <p className="body dim">It has had no work yet.</p>}
    </section>
  );
}

function RightsCard({ view: { device, offer } }: { view: DeviceView }) {
  const rights = rightsOf(device, offer);
  return (
    <section className="card" aria-label="What it may do">
      <header>
        <h2>What it may do</h2>
      </header>
      <div className="body stack">
        <p>{rights.sentence}</p>
        {rights.grants.length > 0 && (
          <ul className="rights">
            {rights.grants.map((grant) => (
              <li key={grant}>{grant}</li>
            ))}
          </ul>
        )}
        {rights.lacking.length > 0 && (
          <details>
            <summary>
              {plural(
                rights.lacking.reduce((sum, one) => sum + one.tools.length, 0),
                "tool",
              )}{" "}
              it cannot use now
            </summary>
            <ul className="stack small">
              {rights.lacking.map((one) => (
                <li key={one.reason}>
                  <span className="mono">{one.tools.join(", ")}</span>: {one.reason}
                </li>
              ))}
            </ul>
          </details>
        )}
        {device.os === "browser" ? (
          <p className="small dim">Its owner changes that in the tab itself.</p>
        ) : (
          <>
            <p className="small dim">
              Its owner decides that there; this hub cannot change it. To see or change it, type on {device.name}:
            </p>
            <CopyLine line={typedOnDevice(rights.line, offer?.facts)} label="the line that shows its policy" />
          </>
        )}
      </div>
    </section>
  );
}
