/** The lab: what is broken on purpose now and lately, and scenarios that run in installations of their own. */

import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { Lab } from "../../link/lab.ts";
import { devices, nameOfDevice } from "../../model/fleet/fleet.ts";
import type { Glyph, LabFault, RunRow, RunState, ScenarioRow, Tone } from "../../model/types.ts";
import { typed } from "../../model/words/commands.ts";
import { age, author, plural } from "../../model/words/words.ts";
import { Button, Empty, ProblemNote, StatePill } from "../../ui/parts.tsx";
import { BreakButton, BreakSheet, useLab } from "./BreakSomething.tsx";
import { breakingTitle, breakWords, faultShown, faults } from "./lab.ts";
import { Begun, Story } from "./Story.tsx";

const LATELY = 8;

const RUN: Record<RunState, { word: string; glyph: Glyph; tone: Tone }> = {
  starting: { word: "Starting its installation", glyph: "open_arc", tone: "blue" },
  running: { word: "Running", glyph: "turning_arc", tone: "blue" },
  met: { word: "Met", glyph: "double_tick", tone: "teal" },
  not_met: { word: "Not met", glyph: "cross", tone: "vermilion" },
  stopped: { word: "Stopped", glyph: "square", tone: "grey" },
  failed: { word: "Could not be carried out", glyph: "cross", tone: "vermilion" },
};
const goesOn = (state: RunState): boolean => state === "starting" || state === "running";

export function LabPage() {
  const may = useLab();
  const { session } = useWorkspace();
  if (!may) {
    return (
      <Shell title="Lab" crumb={{ path: "/settings", label: "Settings" }}>
        <div className="page cards">
          <Empty title={session?.lab ? "Only an owner works in the lab." : "This hub was started without a lab."}>
            {!session?.lab && <p>{typed("Start it with: starloom up --demo, or starloom up --lab")}</p>}
          </Empty>
        </div>
      </Shell>
    );
  }
  return <OpenLab />;
}

function OpenLab() {
  const fleet = useFleet();
  const simulated = [...devices(fleet).values()].map((view) => view.device).filter((device) => device.demo);
  return (
    <Shell title="Lab" crumb={{ path: "/settings", label: "Settings" }}>
      <div className="page cards lab">
        <section className="card" aria-label="Simulated devices">
          <header>
            <h2>Break something here</h2>
            <span className="end">
              <BreakButton devices={simulated} />
            </span>
          </header>
          <Faults simulated={simulated.length} />
        </section>
        <Scenarios />
      </div>
    </Shell>
  );
}

function Faults({ simulated }: { simulated: number }) {
  const fleet = useFleet();
  const now = useNow(1000);
  const [open, setOpen] = useState<string | null>(null);
  const known = faults(fleet).slice(0, LATELY);
  return (
    <>
      {known.map((fault: LabFault) => (
        <div key={fault.id} className="item">
          <span />
          <span className="row wrap">
            <StatePill shown={faultShown(fault, now)} />
            <b className="strong">{nameOfDevice(fleet, fault.device)}</b>
            <span>{breakingTitle(fault.target, fault.kind).toLowerCase()}</span>
          </span>
          <Button aria-label={`Report on ${nameOfDevice(fleet, fault.device)}`} onClick={() => setOpen(fault.id)}>
            Report
          </Button>
          <span className="sub small">
            {author(fault.by)}, {age(fault.asked_ms, now)}
            {fault.constellations?.length ? `, met ${plural(fault.constellations.length, "constellation")}` : ""}
          </span>
        </div>
      ))}
      {known.length === 0 && (
        <p className="item">
          <span />
          <span className="sub small">
            {simulated > 0
              ? "Nothing has been broken yet. A simulated device is a real program on this computer: break it in the middle of its work and see what becomes of it."
              : typed("No simulated device is in the fleet. They come with: starloom up --demo")}
          </span>
        </p>
      )}
      {open && <BreakSheet devices={[]} fault={open} onClose={() => setOpen(null)} />}
    </>
  );
}

function Scenarios() {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const [, go] = useLocation();
  const search = new URLSearchParams(useSearch());
  const [shown, run] = (search.get("run") ?? "").split(":");
  const api = new Lab(hub.rest);
  const list = useResource("scenarios", (signal) => api.scenarios(signal), ["scenarios"]);
  const items = list.value?.items ?? [];
  const busy = items.find((row) => row.latest && goesOn(row.latest.state));
  const open = (scenario: string, id: string) => go(`/lab?run=${encodeURIComponent(scenario)}:${id}`);
  const start = async (row: ScenarioRow) => {
    try {
      const made = await api.start(row.name);
      open(row.name, made.id);
      list.reload();
    } catch (error) {
      report(error);
    }
  };
  return (
    <section className="card" aria-label="Scenarios">
      <header>
        <h2>Scenarios</h2>
        <span className="small dim">Each in an installation of its own, beside this one.</span>
      </header>
      {list.problem && <ProblemNote problem={list.problem} />}
      {items.map((row) => (
        <div key={row.name} className="item scenario">
          <span />
          <span className="row wrap">
            <b className="strong">{row.title}</b>
            {row.latest && row.latest.id !== run && <StatePill shown={RUN[row.latest.state]} />}
          </span>
          <span className="row">
            {row.latest && row.latest.id !== run && (
              <Button aria-label={`Show ${row.title}`} onClick={() => row.latest && open(row.name, row.latest.id)}>
                Show
              </Button>
            )}
            <Button
              asks="lab"
              icon="play"
              aria-label={`Run ${row.title}`}
              why={busy ? `${busy.title} is running; one runs at a time.` : null}
              onClick={() => void start(row)}
            >
              Run
            </Button>
          </span>
          <span className="sub small">
            {[
              row.about,
              `Breaks: ${row.faults.map(breakWords).join(", ")}.`,
              `Expects: ${row.expect.state} within ${row.expect.within_s} s.`,
            ]
              .filter(Boolean)
              .join(" ")}
          </span>
          {shown === row.name && run && (
            <div className="wide">
              <RunStory scenario={row.name} title={row.title} run={run} onEnded={list.reload} />
            </div>
          )}
        </div>
      ))}
    </section>
  );
}

interface RunStoryProps {
  scenario: string;
  title: string;
  run: string;
  onEnded: () => void;
}

function RunStory({ scenario, title, run, onEnded }: RunStoryProps) {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const api = new Lab(hub.rest);
  const [ended, setEnded] = useState(false);
  const told = useResource(
    `run ${run}`,
    async (signal) => {
      const row = await api.run(scenario, run, signal);
      if (!goesOn(row.state) && !ended) {
        setEnded(true);
        onEnded();
      }
      return row;
    },
    ended ? [] : ["scenarios"],
  );
  if (told.problem && !told.value) return <ProblemNote problem={told.problem} />;
  const row = told.value;
  if (!row) return <p className="dim">Reading the run.</p>;
  return (
    <section className="stack run" aria-label={`Run of ${title}`}>
      <div className="row wrap" role="status">
        <StatePill shown={RUN[row.state]} />
        <span>{verdict(row)}</span>
        {goesOn(row.state) && (
          <Button
            icon="stop"
            className="end"
            onClick={() => {
              api.stop(scenario, run).then(told.reload, report);
            }}
          >
            Stop
          </Button>
        )}
      </div>
      {row.misses.length > 0 && (
        <ul className="stack">
          {row.misses.map((miss) => (
            <li key={miss}>{miss}</li>
          ))}
        </ul>
      )}
      {row.story.length > 0 && <Story lines={row.story} label={`Story of ${title}`} />}
      <Begun begun={row.effects} by="by the devices' own ledgers" />
      {row.state === "failed" && row.said.length > 0 && <pre className="mono small said">{row.said.join("\n")}</pre>}
    </section>
  );
}

function verdict(row: RunRow): string {
  if (row.state === "starting") return "A hub, a worker, Redis and the devices are starting: about 15 seconds.";
  if (row.state === "met") return `${row.end ?? ""} after ${row.took_s?.toFixed(1) ?? "?"} s, as expected.`;
  if (row.state === "not_met") return `${row.end ?? ""} after ${row.took_s?.toFixed(1) ?? "?"} s:`;
  return row.why ? `${row.why.charAt(0).toUpperCase()}${row.why.slice(1)}.` : "";
}
