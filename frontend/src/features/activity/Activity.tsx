/** Who did what, when and why: every deed of people, devices and the engine, filtered; and whether the record is whole. */

import { useState } from "react";
import { Link } from "wouter";
import { Shell } from "../../app/shell/Shell.tsx";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { usePages } from "../../app/workspace/resource.ts";
import { history } from "../../link/history.ts";
import { callsNamed } from "../../model/fleet/fleet.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import type { ActivityRow, ChainCheck } from "../../model/types.ts";
import { msOf } from "../../model/words/times.ts";
import { age } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button, Empty, ProblemNote } from "../../ui/parts.tsx";
import { Choose, SearchField } from "../../ui/Search.tsx";
import { deedText, filesText, type Stretch, stretches, stretchText, whoDid } from "./deeds.ts";

const SUBJECTS = [
  ["", "Everything"],
  ["access", "Sign-in and tokens"],
  ["refused", "Refusals"],
  ["devices", "Devices"],
  ["approvals", "Approvals and questions"],
  ["plans", "Requests and plans"],
  ["controls", "Controls"],
  ["work", "Work on devices"],
  ["schedules", "Schedules"],
  ["recipes", "Recipes"],
  ["lab", "Lab"],
] as const;

export function ActivityPage() {
  const workspace = useWorkspace();
  const { rest } = workspace.hub;
  const fleet = useFleet();
  const now = useNow(5000);
  const [words, setWords] = useState("");
  const [subject, setSubject] = useState<(typeof SUBJECTS)[number][0]>("");
  const [person, setPerson] = useState("");
  const [device, setDevice] = useState("");
  const owner = workspace.session?.role === "owner";
  const query = { q: words, kind: subject || undefined, person, device };
  const key = owner ? JSON.stringify(query) : null;
  const list = usePages<ActivityRow>(
    key,
    (cursor, signal) => history.activity(rest, { ...query, cursor }, signal),
    ["activity"],
    5000,
  );
  const devices = [...fleet.kind<{ id: string; name: string }>("device").values()];
  if (!owner) {
    return (
      <Shell title="Activity">
        <div className="page cards">
          <Empty title="Only an owner can read the record of activity.">
            Each constellation shows its own history to everyone.
          </Empty>
        </div>
      </Shell>
    );
  }
  return (
    <Shell title="Activity">
      <div className="page cards">
        <div className="row wrap filters">
          <SearchField label="Search the record" placeholder="Words or names" value={words} onChange={setWords} />
          <Choose label="Subject" value={subject} choices={SUBJECTS} onChange={setSubject} />
          <Choose
            label="Device"
            value={device}
            choices={[["", "Any device"], ...devices.map((one) => [one.id, one.name] as const)]}
            onChange={setDevice}
          />
          {person && (
            <Button icon="close" onClick={() => setPerson("")}>
              By {person}
            </Button>
          )}
          <span className="end">
            <RecordCheck check={() => history.verify(rest)} />
          </span>
        </div>
        <section className="card" aria-label="Deeds">
          <ol className="deeds">
            {stretches(list.items).map((run) => {
              // By its oldest deed: a stretch grows at its newer end, and stays open while it does.
              const oldest = run.at(-1) ?? run[0];
              const key = `${oldest.stream}/${oldest.seq}`;
              return run.length > 1 ? (
                <StretchLines key={key} run={run} fleet={fleet} now={now} onPerson={setPerson} />
              ) : (
                <DeedLine key={key} deed={oldest} fleet={fleet} now={now} onPerson={setPerson} />
              );
            })}
          </ol>
          {list.items.length === 0 && list.read && <Empty title="Nothing matches." />}
        </section>
        {list.problem && <ProblemNote problem={list.problem} />}
        {list.more && (
          <Button asks="anyone" aria-busy={list.adding || undefined} onClick={list.more}>
            Show earlier
          </Button>
        )}
      </div>
    </Shell>
  );
}

interface LineProps {
  fleet: StreamModel;
  now: number;
  onPerson: (name: string) => void;
}

/** The work of one constellation between two other deeds: one line, and on request all of its deeds below it. */
function StretchLines({ run, fleet, now, onPerson }: LineProps & { run: Stretch }) {
  const [open, setOpen] = useState(false);
  const [newest] = run;
  const { glyph, tone, text, who } = stretchText(run, deviceNames(fleet));
  const files = filesText(run);
  return (
    <>
      <li>
        <When at={newest.at} now={now} />
        <Glyph name={glyph} tone={tone} />
        <span className="dim cut">{who}</span>
        <span className="what">
          {text}
          {files && <span className="dim">; {files}</span>}{" "}
          <button type="button" className="link small" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide its lines" : `Show its ${run.length} lines`}
          </button>
        </span>
        <OpenLink stream={newest.stream} />
      </li>
      {open && run.map((deed) => <DeedLine key={deed.seq} deed={deed} fleet={fleet} now={now} onPerson={onPerson} />)}
    </>
  );
}

const deviceNames = (fleet: StreamModel) => (id: string) => fleet.one<{ name: string }>(`device/${id}`)?.name ?? id;

function When({ at, now }: { at: string | null; now: number }) {
  const ms = msOf(at);
  return (
    <time className="small dim num nowrap" dateTime={at ?? undefined} title={new Date(ms).toLocaleString("en-GB")}>
      {age(ms, now)}
    </time>
  );
}

function OpenLink({ stream }: { stream: string }) {
  if (!stream.startsWith("c-")) return <span />;
  return (
    <Link className="link small nowrap" href={`/constellations/${encodeURIComponent(stream)}`}>
      Open
    </Link>
  );
}

function DeedLine({ deed, fleet, now, onPerson }: LineProps & { deed: ActivityRow }) {
  const nameOf = deviceNames(fleet);
  const who = whoDid(deed, nameOf);
  const files = filesText([deed]);
  const { glyph, tone, text } = deedText(deed, nameOf);
  return (
    <li>
      <When at={deed.at} now={now} />
      <Glyph name={glyph} tone={tone} />
      {deed.by.startsWith("person:") ? (
        <button type="button" className="strong cut" onClick={() => onPerson(who)} title={`Only what ${who} did`}>
          {who}
        </button>
      ) : (
        <span className="dim cut">{who}</span>
      )}
      <span className="what">
        {callsNamed(fleet, text)}
        {deed.note && <span className="dim">: {callsNamed(fleet, deed.note)}</span>}
        {files && <span className="dim">; {files}</span>}
      </span>
      <OpenLink stream={deed.stream} />
    </li>
  );
}

/** Walks the chain of the whole record on request. */
function RecordCheck({ check }: { check: () => Promise<ChainCheck> }) {
  const [found, setFound] = useState<ChainCheck | null>(null);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const run = async () => {
    setBusy(true);
    try {
      setFound(await check());
      setWrong("");
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return (
    <span className="row wrap">
      {found && (
        <span className="small row" title={`anchor ${found.anchor}`}>
          <Glyph name={found.ok ? "tick" : "cross"} tone={found.ok ? "teal" : "vermilion"} />
          {found.ok
            ? `Intact: ${found.commits} commits`
            : `Changed at commit ${found.breaks.map((one) => one.pos).join(", ")}`}
        </span>
      )}
      {wrong && <span className="small tone-vermilion">{wrong}</span>}
      <Button asks="access" aria-busy={busy || undefined} onClick={() => void run()}>
        Check the record
      </Button>
    </span>
  );
}
