/** Adding a device in visible steps: bring it here, compare words, see what it can do, try it. Nothing is typed here. */

import { useCallback, useEffect, useRef, useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useFleet, useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import { devices, replacesWords } from "../../../model/fleet/fleet.ts";
import type { Device, Enrollment, NewEnrollment, Offer } from "../../../model/types.ts";
import { msOf } from "../../../model/words/times.ts";
import { countdown, plural } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Panel } from "../../../ui/Panel.tsx";
import { Button, ProblemNote } from "../../../ui/parts.tsx";
import { JoinWays, LanLine, useRefused, type Way } from "./JoinWays.tsx";
import { Replacing } from "./Replacing.tsx";
import { TestTask, trialOf } from "./TestTask.tsx";

interface AddDeviceProps {
  /** The id of a pairing that asks already, or `1` for a new one. */
  enrollment: string;
  /** The way that is shown first. */
  way: Way;
  onClose: () => void;
}

export function AddDevice({ enrollment, way: first, onClose }: AddDeviceProps) {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const now = useNow(1000);
  const { report } = useDoing();
  const [way, setWay] = useState<Way>(first);
  const [tested, setTested] = useState<boolean | null>(null);
  const fresh = enrollment === "1";
  const [replaces, setReplaces] = useState("");
  const { made, problem, turn, renew } = useCode(fresh, replaces);
  const bySsh = useNewcomer(way === "ssh");
  const id = fresh ? made?.id : enrollment;
  const record = id ? fleet.one<Enrollment>(`enrollment/${id}`) : undefined;
  const revokes = record ? replacesWords(fleet, record, now) : "";
  const state = record?.state ?? made?.state ?? "open";
  const key = record?.device ?? bySsh;
  const device = key ? fleet.one<Device>(`device/${key}`) : undefined;
  const offer = key ? fleet.one<Offer>(`offer/${key}`) : undefined;
  const expires = record?.expires_ms ?? msOf(made?.expires_at);
  const left = expires - now;
  const asking = state === "asking";
  const approved = state === "approved" || state === "used" || Boolean(device);
  const over = !asking && !approved && (state === "denied" || state === "expired" || (expires > 0 && left <= 0));
  const waiting = fresh && !asking && !approved && !over;
  const refused = useRefused(id, waiting);
  const online = Boolean(offer) && device?.link === "online";
  const trial = offer ? trialOf(offer) : null;
  // Once begun it stays in sight, and is not begun again, when the link comes and goes.
  const [tried, setTried] = useState("");
  useEffect(() => {
    if (online && key) setTried(key);
  }, [online, key]);
  const begun = Boolean(key) && tried === key;
  const ready = begun && (tested === true || !trial);
  const decide = async (allow: boolean) => {
    if (!id) return;
    try {
      await hub.decide(id, allow, "the words were not the same");
    } catch (error) {
      report(error);
    }
  };
  return (
    <Panel className="sheet" label="Add a device">
      <header>
        <div className="row">
          <h2 className="head grow">Add a device</h2>
          <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
        </div>
        {made && waiting && way !== "ssh" && <p className="small dim">code good for {countdown(left)}, once</p>}
      </header>
      {problem && <ProblemNote problem={problem} />}
      <ol className="steps" aria-live="polite">
        <Step
          number={1}
          title="Bring it here"
          state={asking || approved ? "done" : "now"}
          note={asking || approved ? "done" : over ? "" : "waiting for the device"}
        >
          {waiting && <JoinWays made={made} way={way} onWay={setWay} onRenew={renew} />}
          {waiting && way !== "ssh" && (
            <Replacing
              chosen={replaces}
              onChange={(older) => {
                setReplaces(older);
                renew();
              }}
            />
          )}
          {refused.map((row) => (
            <p key={`${row.code}${row.who}`} className="small" role="alert">
              <b className="strong">{row.who || row.address}</b> was refused{row.times > 1 ? ` ${row.times} times` : ""}
              : {row.reason}
            </p>
          ))}
          {over && (
            <>
              <p className="small">
                {record?.reason ||
                  (state === "denied" ? "It was denied." : "The code ran out; it was good for ten minutes.")}
              </p>
              <Button asks="fleet" icon="retry" onClick={renew}>
                New code
              </Button>
            </>
          )}
        </Step>
        <Step
          number={2}
          title="Compare and approve"
          state={approved ? "done" : asking ? "now" : "ahead"}
          note={asking ? "now" : bySsh ? "not needed: you signed in there" : ""}
        >
          {asking && record && (
            <div className="match">
              <p>
                <b className="strong">{record.name || record.label || "A device"}</b> is asking to join. Does its screen
                show the same?
              </p>
              <p className="words">{record.words}</p>
              <p className="small dim">
                {[record.os, record.profile_most ? `at most ${record.profile_most}` : ""].filter(Boolean).join(", ")}
              </p>
              {revokes && <p role="alert">{revokes}</p>}
              {!!record.labels?.length && (
                <p>
                  It gets the labels <b className="strong">{record.labels.join(", ")}</b>, by which plans choose
                  devices.
                </p>
              )}
              <div className="row">
                <Button asks="fleet" large kind="primary" className="grow" onClick={() => void decide(true)}>
                  Same, approve
                </Button>
                <Button asks="fleet" large onClick={() => void decide(false)}>
                  Not the same
                </Button>
              </div>
            </div>
          )}
        </Step>
        <Step
          number={3}
          title="It connects and says what it can do"
          state={offer ? "done" : approved ? "now" : "ahead"}
          note=""
        >
          {offer && (
            <p className="small dim">
              {[device?.os, plural(able(offer), "tool"), plural(offer.slots ?? 1, "slot")].filter(Boolean).join(", ")},
              profile {device?.profile ?? "observe"}
            </p>
          )}
          {approved && !offer && (
            <p className="small dim">Approved; waiting for its first connection. Its terminal asks how to start it.</p>
          )}
        </Step>
        <Step
          number={4}
          title="It carries out a test task"
          state={ready ? "done" : begun ? "now" : "ahead"}
          note={tested === false ? "failed" : ""}
        >
          {begun && device && trial && <TestTask device={device} trial={trial} onDone={setTested} />}
          {begun && !trial && (
            <p className="small dim">Not tried: each of its tools would ask you or change something.</p>
          )}
        </Step>
        <Step number={5} title="Ready" state={ready ? "done" : "ahead"} note="">
          {ready && device && (
            <>
              <p>
                <b className="strong">{device.name}</b> is {devices(fleet).get(device.id)?.tag} in the fleet.
              </p>
              <Rename key={device.id} device={device} />
              <Button large kind="primary" onClick={onClose}>
                Done
              </Button>
            </>
          )}
        </Step>
      </ol>
      <LanLine key={`lan${turn}`} />
    </Panel>
  );
}

/**
 * A fresh code to join by, if one is wanted. `turn` counts the codes that it has taken the place of; `replaces` is the
 * device that the new one takes the place of.
 */
function useCode(fresh: boolean, replaces: string) {
  const { hub, changes } = useWorkspace();
  const [made, setMade] = useState<NewEnrollment | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` stands for a wish for another code.
  useEffect(() => {
    if (!fresh) return;
    let wanted = true;
    hub.enroll(replaces ? { replaces } : {}).then(
      (document) => wanted && setMade(document),
      (error: unknown) => wanted && setProblem(asProblem(error)),
    );
    return () => {
      wanted = false;
    };
  }, [hub, fresh, turn, replaces]);
  const renew = useCallback(() => {
    setMade(null);
    setProblem(null);
    setTurn((held) => held + 1);
  }, []);
  // A hub that was started again may listen elsewhere. The same ways keep their code, which may be typed already.
  const open = made ? Boolean(made.lan) : null;
  useEffect(() => {
    if (!fresh || (open === null && !problem)) return;
    return changes.on(["refusals"], () => {
      void hub.lan().then(
        (lan) => (problem || lan.open !== open) && renew(),
        () => undefined, // asked again when the link is back
      );
    });
  }, [hub, changes, fresh, open, problem, renew]);
  return { made, problem, turn, renew };
}

function able(offer: Offer): number {
  return (offer.tools ?? []).filter((tool) => !tool.unavailable).length;
}

/** The first device that joined after this was turned on: the terminal that adds it uses a code of its own. */
function useNewcomer(on: boolean): string | undefined {
  const fleet = useFleet();
  const known = useRef<Set<string> | null>(null);
  const all = devices(fleet);
  // Before the fleet has come, every device would look new.
  if (!on || !fleet.ready) known.current = null;
  else known.current ??= new Set(all.keys());
  const before = known.current;
  return before ? [...all.keys()].find((id) => !before.has(id)) : undefined;
}

function Rename({ device }: { device: Device }) {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const [name, setName] = useState(device.name);
  const changed = name.trim() !== "" && name.trim() !== device.name;
  const rename = async () => {
    try {
      await hub.rename(device.id, name.trim());
    } catch (error) {
      report(error);
    }
  };
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (changed) void rename();
      }}
    >
      <input
        className="input"
        aria-label="Name of the device"
        value={name}
        maxLength={63}
        onChange={(event) => setName(event.target.value)}
      />
      <Button asks="fleet" type="submit" why={changed ? null : "The name is as it was."}>
        Rename
      </Button>
    </form>
  );
}

interface StepProps {
  number: number;
  title: string;
  state: "done" | "now" | "ahead";
  note: string;
  children?: React.ReactNode;
}

function Step({ number, title, state, note, children }: StepProps) {
  return (
    <li className={state}>
      <span className="ball">{state === "done" ? <Glyph name="tick" tone="teal" /> : number}</span>
      <span className="strong">{title}</span>
      <span className="small dim">{note}</span>
      <div className="stepbody">{children}</div>
    </li>
  );
}
