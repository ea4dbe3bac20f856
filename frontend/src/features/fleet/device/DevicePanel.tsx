/** One device: what it is, what it can do, and what its owner of the hub may do with it. */
import { useState } from "react";
import { Link } from "wouter";
import { useFleet, useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { Hub } from "../../../link/endpoints.ts";
import { factRows } from "../../../model/fleet/facts.ts";
import {
  ASLEEP,
  type DeviceView,
  deviceReasons,
  deviceShown,
  mayNotRevoke,
  refusedAs,
  taskNamed,
} from "../../../model/fleet/fleet.ts";
import { grantWords } from "../../../model/fleet/rights.ts";
import { schedulesNaming } from "../../../model/fleet/schedules.ts";
import { age, plural } from "../../../model/words/words.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Panel } from "../../../ui/Panel.tsx";
import { Button, Labelled, StatePill } from "../../../ui/parts.tsx";
import { Asleep } from "../../inbox/Asleep.tsx";
import { BreakButton, FaultLines } from "../../lab/BreakSomething.tsx";
import { Mark } from "./Mark.tsx";
import { OlderAgent } from "./OlderAgent.tsx";

export type Busy = { task: string; name: string; constellation: string; by: string }[];
type Do = (what: (hub: Hub) => Promise<unknown>) => Promise<void>;

interface DevicePanelProps {
  view: DeviceView;
  busy: Busy;
  onClose: () => void;
  onDo: Do;
}

/** Beside the fleet: the same as its page, without the lines. */
export function DevicePanel({ view, busy, onClose, onDo }: DevicePanelProps) {
  const { device } = view;
  const now = useNow(2000);
  const shown = deviceShown(view, busy.length);
  return (
    <Panel className="sheet" label={`Device ${device.name}`}>
      <header className="row">
        <span className="tag">{view.tag}</span>
        <h2 className="head grow cut">{device.name}</h2>
        <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
      </header>
      <div className="row wrap">
        <StatePill shown={shown} />
        <Mark view={view} />
        <span className="small dim">{device.link_since_ms ? age(device.link_since_ms, now) : ""}</span>
        <Link className="link end" href={`/devices/${device.id}`}>
          Open its page
        </Link>
      </div>
      <DeviceNotes view={view} busy={busy} />
      {busy.length > 0 && <BusyList busy={busy} />}
      <DeviceName key={device.name} view={view} onDo={onDo} />
      <DeviceFacts view={view} />
      <DeviceTools view={view} />
      <DeviceControls view={view} busy={busy} onDo={onDo} onRevoked={onClose} />
    </Panel>
  );
}

/** What is to be known about it at once: why it gets no work, faults of the lab, a tab that sleeps, an older agent. */
export function DeviceNotes({ view, busy }: { view: DeviceView; busy: Busy }) {
  const { device, offer } = view;
  const now = useNow(2000);
  const { hub } = useWorkspace();
  const sleeps = deviceShown(view, busy.length).word === ASLEEP;
  const told = useResource(`${device.id} ${device.version} ${sleeps}`, (signal) => hub.device(device.id, signal));
  const olderThan = told.value?.older_than ?? "";
  const refused = refusedAs(device);
  return (
    <>
      {deviceReasons(view, now).map((reason) => (
        <p key={reason} className="small">
          {reason}
        </p>
      ))}
      <FaultLines device={device.id} />
      {sleeps && told.value?.open && <Asleep names={[device.name]} again={told.value.open} />}
      {!device.revoked && (refused ? refused === "agent" : olderThan) && (
        <OlderAgent
          name={device.name}
          version={device.version ?? ""}
          hubVersion={olderThan}
          facts={offer?.facts}
          refused={refused === "agent"}
        />
      )}
    </>
  );
}

function BusyList({ busy }: { busy: Busy }) {
  const fleet = useFleet();
  return (
    <ul className="plainlist">
      {busy.map((one) => (
        <li key={`${one.constellation}${one.task}`}>
          <Link className="link" href={`/constellations/${one.constellation}/t/${one.task}`}>
            {taskNamed(fleet, one.task)}
          </Link>{" "}
          <span className="dim">{one.name}</span>
        </li>
      ))}
    </ul>
  );
}

/** Its name, to be changed. */
export function DeviceName({ view: { device }, onDo }: { view: DeviceView; onDo: Do }) {
  const [name, setName] = useState(device.name);
  return (
    <form
      className="row end-aligned"
      onSubmit={(event) => {
        event.preventDefault();
        void onDo((hub) => hub.rename(device.id, name.trim()));
      }}
    >
      <div className="grow">
        <Labelled label="Name">
          {(id) => (
            <input
              id={id}
              className="input"
              value={name}
              maxLength={128}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Labelled>
      </div>
      <Button
        asks="fleet"
        type="submit"
        why={name.trim() && name.trim() !== device.name ? null : "The name is as it was."}
      >
        Rename
      </Button>
    </form>
  );
}

export function DeviceFacts({ view: { device, offer } }: { view: DeviceView }) {
  const rows = factRows({ ...offer?.facts, ...device.condition });
  return (
    <dl className="fields">
      <div>
        <dt>Profile</dt>
        <dd>{device.profile ?? "observe"}, chosen on the device</dd>
      </div>
      {device.over && (
        <div>
          <dt>Join code</dt>
          <dd>{device.over}</dd>
        </div>
      )}
      <div>
        <dt>It may</dt>
        <dd>{["look", ...(offer?.grants ?? []).map(grantWords)].join(", ")}</dd>
      </div>
      <div>
        <dt>At once</dt>
        <dd>{plural(offer?.slots ?? 1, "task")}</dd>
      </div>
      {rows.map(({ key, title, value }) => (
        <div key={key}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div>
        <dt>Agent</dt>
        <dd>
          {device.version ? `version ${device.version}` : "unknown"}
          {offer?.facts?.build && `, build ${offer.facts.build}`}
        </dd>
      </div>
    </dl>
  );
}

export function DeviceTools({ view: { offer } }: { view: DeviceView }) {
  const tools = [...(offer?.tools ?? [])].sort(
    (a, b) => Number(Boolean(a.unavailable)) - Number(Boolean(b.unavailable)),
  );
  const lacking = tools.filter((tool) => tool.unavailable).length;
  return (
    <details open={tools.length <= 12}>
      <summary>
        {plural(tools.length - lacking, "tool")}
        {lacking > 0 && `, and ${lacking} that it cannot use now`}
      </summary>
      <ul className="toollist">
        {tools.map((tool) => (
          <li key={tool.name}>
            <span>
              {tool.title || tool.name} {tool.title && <code className="small dim mono">{tool.name}</code>}
            </span>
            <span className="small dim">
              {tool.unavailable ? `not now: ${tool.unavailable}` : (tool.effects ?? []).join(", ")}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface DeviceControlsProps {
  view: DeviceView;
  busy: Busy;
  onDo: Do;
  onRevoked: () => void;
}

/** What a person may do with it: drain, resume, reserve, share, break in the lab, revoke. */
export function DeviceControls({ view: { device }, busy, onDo, onRevoked }: DeviceControlsProps) {
  const { session } = useWorkspace();
  const [revoking, setRevoking] = useState(false);
  const [draining, setDraining] = useState(false);
  const fleet = useFleet();
  const named = revoking ? schedulesNaming(fleet, device) : [];
  return (
    <>
      <footer className="row wrap">
        {(device.draining || device.quarantined) && (
          <Button asks="fleet" onClick={() => void onDo((hub) => hub.deviceControl(device.id, "resume"))}>
            Take work again
          </Button>
        )}
        {device.draining ? (
          busy.length > 0 && (
            <Button
              asks="fleet"
              title="Repeatable work goes to other devices now; other work goes on here."
              onClick={() => void onDo((hub) => hub.deviceControl(device.id, "drain", 0))}
            >
              Move its work away
            </Button>
          )
        ) : (
          <Button asks="fleet" title="It gets no new work, and what it has goes on." onClick={() => setDraining(true)}>
            Drain...
          </Button>
        )}
        <Button
          asks="fleet"
          title={
            device.reserved
              ? "It takes work that names no device, too."
              : "It takes only work that names it, so no step of other work brings it what others found."
          }
          onClick={() => void onDo((hub) => hub.deviceControl(device.id, device.reserved ? "share" : "reserve"))}
        >
          {device.reserved ? "Take all work" : "Reserve"}
        </Button>
        <BreakButton devices={[device]} />
        <Button asks="fleet" kind="bad" why={mayNotRevoke(device, session)} onClick={() => setRevoking(true)}>
          Revoke
        </Button>
      </footer>
      {draining && (
        <Modal label={`Drain ${device.name}`} className="asking" onClose={() => setDraining(false)}>
          <h2 className="head">Give {device.name} no more work?</h2>
          <p className="dim">
            It gets no new work from now on.{" "}
            {busy.length > 0 ? `${plural(busy.length, "task")} that it has now goes on to the end. ` : ""}
            Work that needs this device waits. <b>Take work again</b> undoes it at any time.
          </p>
          <div className="row">
            <Button large onClick={() => setDraining(false)}>
              Not now
            </Button>
            <Button
              large
              kind="primary"
              onClick={() => {
                setDraining(false);
                void onDo((hub) => hub.deviceControl(device.id, "drain"));
              }}
            >
              Drain
            </Button>
          </div>
        </Modal>
      )}
      {revoking && (
        <Modal label={`Revoke ${device.name}`} className="asking" onClose={() => setRevoking(false)}>
          <h2 className="head">Revoke {device.name}?</h2>
          <p className="dim">
            It is let in no more, from this second on. Where it may have done half of something that must not happen
            twice, you are asked whether it happened. Files that it has saved stay on it. To use it again, it must join
            again.
          </p>
          {device.os === "browser" && (
            <p>
              If it is lost: its browser may be signed in to this page, too. End that in{" "}
              <Link className="link" href="/settings">
                Settings
              </Link>
              , under <b>Sessions and tokens</b>.
            </p>
          )}
          {named.length > 0 && (
            <p>
              {plural(named.length, "schedule")} {named.length === 1 ? "names" : "name"} it: <b>{named.join(", ")}</b>.
              Change {named.length === 1 ? "it" : "them"} in{" "}
              <Link className="link" href="/schedules">
                Schedules
              </Link>
              , or the next run waits for a device that is gone.
            </p>
          )}
          <div className="row">
            <Button large onClick={() => setRevoking(false)}>
              Keep it
            </Button>
            <Button
              large
              kind="bad"
              onClick={() => {
                setRevoking(false);
                onRevoked();
                void onDo((hub) => hub.deviceControl(device.id, "revoke"));
              }}
            >
              Revoke
            </Button>
          </div>
        </Modal>
      )}
    </>
  );
}
