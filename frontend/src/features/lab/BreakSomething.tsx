/** Breaking a simulated device on purpose: what, for how long, how it stands, healing it, and what became of the work. */

import { useState } from "react";
import { Link } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { asProblem, useResource } from "../../app/workspace/resource.ts";
import { Lab } from "../../link/lab.ts";
import type { Problem } from "../../link/rest.ts";
import { nameOfDevice } from "../../model/fleet/fleet.ts";
import type { BreakableDevice, FaultMeeting, LabFault } from "../../model/types.ts";
import { constellationShown } from "../../model/words/words.ts";
import { Modal, type Raised } from "../../ui/Modal.tsx";
import { Button, Labelled, ProblemNote, StatePill, Tabs } from "../../ui/parts.tsx";
import { BREAKINGS, breakingTitle, faultShown, lasts } from "./lab.ts";
import { Begun, Story } from "./Story.tsx";

const SECONDS = ["2", "5", "15", "60"] as const;
type Seconds = (typeof SECONDS)[number];

/** Whether this page may break things at all: the hub has a lab, and an owner looks. */
export function useLab(): boolean {
  const { session } = useWorkspace();
  return Boolean(session?.lab) && session?.role === "owner";
}

interface BreakButtonProps {
  devices: readonly { id: string; demo?: boolean }[];
  /** Only what is open stays: there is nothing left to break. */
  over?: boolean;
}

/** The button, where there is a lab and one of the devices is simulated. */
export function BreakButton(props: BreakButtonProps) {
  const { button, dialog } = useBreaking(props);
  return (
    <>
      {button}
      {dialog}
    </>
  );
}

/** The button and its sheet, for a page that draws them apart. */
export function useBreaking({ devices, over = false }: BreakButtonProps): Raised {
  const may = useLab();
  const [open, setOpen] = useState(false);
  const simulated = devices.filter((device) => device.demo).map((device) => device.id);
  return {
    button: may && !over && simulated.length > 0 && (
      <Button icon="bolt" title="Break a simulated device on purpose, and see" onClick={() => setOpen(true)}>
        Break something
      </Button>
    ),
    dialog: open && <BreakSheet devices={simulated} onClose={() => setOpen(false)} />,
  };
}

/** The sheet: choosing first, then the fault that was asked for. */
export function BreakSheet({
  devices,
  fault: given = null,
  onClose,
}: {
  devices: readonly string[];
  fault?: string | null;
  onClose: () => void;
}) {
  const [fault, setFault] = useState<string | null>(given);
  return (
    <Modal label="Break something" className="scheduling breaking" onClose={onClose}>
      <div className="row dialog-head">
        <h2 className="head grow">{fault === null ? "Break something" : "Broken on purpose"}</h2>
        <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
      </div>
      {fault === null ? (
        <Choosing devices={devices} onAsked={setFault} onClose={onClose} />
      ) : (
        <Lasting fault={fault} onAgain={devices.length > 0 ? () => setFault(null) : null} onClose={onClose} />
      )}
    </Modal>
  );
}

interface ChoosingProps {
  devices: readonly string[];
  onAsked: (fault: string) => void;
  onClose: () => void;
}

function Choosing({ devices, onAsked, onClose }: ChoosingProps) {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const api = new Lab(hub.rest);
  const known = useResource("breakable", (signal) => api.faults(signal));
  const [device, setDevice] = useState(devices[0] ?? "");
  const [chosen, setChosen] = useState("device kill");
  const [seconds, setSeconds] = useState<Seconds>("5");
  const [asking, setAsking] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const row = known.value?.devices.find((one) => one.id === device);
  const offered = BREAKINGS.filter((one) => can(row).includes(`${one.target} ${one.kind}`));
  const picked = offered.find((one) => `${one.target} ${one.kind}` === chosen);
  const name = nameOfDevice(fleet, device);
  const why = !known.value
    ? "Reading the list of things that can be broken."
    : row?.why_not || offered.length === 0
      ? `${name} cannot be broken: ${row?.why_not ?? "nothing can be broken of it here"}.`
      : picked
        ? null
        : "Choose what is to be broken.";
  const ask = async () => {
    if (why || asking || !picked) return;
    setAsking(true);
    try {
      const made = await api.wound({ target: picked.target, device, kind: picked.kind, for_s: Number(seconds) });
      onAsked(made.id);
    } catch (error) {
      setRefused(asProblem(error));
      setAsking(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <div className="body">
        {devices.length > 1 ? (
          <Labelled label="Device">
            {(id) => (
              <select id={id} value={device} onChange={(event) => setDevice(event.target.value)}>
                {devices.map((one) => (
                  <option key={one} value={one}>
                    {nameOfDevice(fleet, one)}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        ) : (
          <p>
            <b className="strong">{name}</b> is simulated. The fault is real: its agent is a process, its link is a
            connection.
          </p>
        )}
        {known.problem && <ProblemNote problem={known.problem} />}
        {known.value && why && !picked && <p className="small dim">{why}</p>}
        {offered.length > 0 && (
          <fieldset className="breakings">
            <legend className="small dim">What</legend>
            {offered.map((one) => {
              const value = `${one.target} ${one.kind}`;
              return (
                <label key={value} className={chosen === value ? "chosen" : ""}>
                  <input
                    type="radio"
                    name="breaking"
                    value={value}
                    checked={chosen === value}
                    onChange={() => setChosen(value)}
                  />
                  <span>
                    <b className="strong">{one.title}</b>
                    <span className="small dim"> {one.does}</span>
                  </span>
                </label>
              );
            })}
          </fieldset>
        )}
        <div className="stack">
          <span className="small dim">For how long</span>
          <Tabs<Seconds>
            look="seg"
            label="For how long"
            value={seconds}
            onChange={setSeconds}
            choices={SECONDS.map((value) => ({ value, label: `${value} s` }))}
          />
        </div>
        {refused && <ProblemNote problem={refused} />}
      </div>
      <div className="row dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button asks="lab" kind="bad" icon="bolt" type="submit" why={why} aria-busy={asking || undefined}>
          Break it
        </Button>
      </div>
    </form>
  );
}

const can = (row: BreakableDevice | undefined): string[] =>
  Object.entries(row?.can ?? {}).flatMap(([target, kinds]) => (kinds ?? []).map((kind) => `${target} ${kind}`));

interface LastingProps {
  fault: string;
  /** Asks for another one; null where nothing can be chosen. */
  onAgain: (() => void) | null;
  onClose: () => void;
}

function Lasting({ fault: id, onAgain, onClose }: LastingProps) {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const fleet = useFleet();
  const api = new Lab(hub.rest);
  const fault = fleet.one<LabFault>(`lab_fault/${id}`);
  const now = useNow(fault && lasts(fault) ? 250 : 0);
  const [settled, setSettled] = useState(false);
  const told = useResource(
    `fault ${id} ${fault?.state ?? ""}`,
    async (signal) => {
      const row = await api.fault(id, signal);
      setSettled((row.state === "over" || row.state === "failed") && row.report.every((one) => one.ended));
      return row;
    },
    settled ? [] : ["tasks", "constellations", "devices"],
  );
  const met = told.value?.report ?? [];
  return (
    <>
      <div className="body">
        {fault && (
          <div className="row wrap" role="status">
            <StatePill shown={faultShown(fault, now)} />
            <b className="strong">
              {nameOfDevice(fleet, fault.device)}: {breakingTitle(fault.target, fault.kind).toLowerCase()}
            </b>
          </div>
        )}
        {fault?.note && <p className="small">{sentenceOf(fault.note)}</p>}
        {told.problem && <ProblemNote problem={told.problem} />}
        {met.map((one) => (
          <Met key={one.constellation} met={one} />
        ))}
        {fault && met.length === 0 && fault.state !== undefined && fault.state !== "failed" && (
          <p className="small dim">It had no work when it broke. Start something on it, and break it then.</p>
        )}
      </div>
      <div className="row dialog-foot">
        {fault && lasts(fault) ? (
          <Button
            asks="lab"
            kind="primary"
            why={fault.healing ? "The lab is healing it." : null}
            onClick={() => api.heal(id).catch(report)}
          >
            Heal now
          </Button>
        ) : (
          onAgain && <Button onClick={onAgain}>Break something else</Button>
        )}
        <Button onClick={onClose}>Close</Button>
      </div>
    </>
  );
}

function Met({ met }: { met: FaultMeeting }) {
  return (
    <section className="stack met" aria-label={`What became of ${met.name}`}>
      <div className="row wrap">
        <Link className="link strong" href={`/constellations/${encodeURIComponent(met.constellation)}`}>
          {met.name}
        </Link>
        {met.state && <StatePill shown={constellationShown(met.state as Parameters<typeof constellationShown>[0])} />}
      </div>
      <Story lines={met.story} label={`Story of ${met.name}`} />
      <Begun begun={met.begun} by="as the devices reported it" />
    </section>
  );
}

const sentenceOf = (note: string): string => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`;

/** The faults that last on a device, or that met a constellation: each with its way out. */
export function FaultLines({ constellation, device }: { constellation?: string; device?: string }) {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const fleet = useFleet();
  const may = useLab();
  const open = [...fleet.kind<LabFault>("lab_fault").values()].filter(
    (fault) =>
      lasts(fault) &&
      (device === undefined || fault.device === device) &&
      (constellation === undefined || (fault.constellations ?? []).includes(constellation)),
  );
  const now = useNow(open.length > 0 ? 500 : 0);
  return (
    <>
      {open.map((fault) => (
        <div key={fault.id} className="row wrap faultline" role="status">
          <StatePill shown={faultShown(fault, now)} />
          <span className="grow">
            <b className="strong">{nameOfDevice(fleet, fault.device)}</b> is broken on purpose:{" "}
            {fault.note || breakingTitle(fault.target, fault.kind).toLowerCase()}
          </span>
          {may && (
            <Button
              asks="lab"
              why={fault.healing ? "The lab is healing it." : null}
              onClick={() => new Lab(hub.rest).heal(fault.id).catch(report)}
            >
              Heal now
            </Button>
          )}
        </div>
      ))}
    </>
  );
}
