/** Stop everything: the button, and which devices confirmed that they ended what they had. */
import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { unfinished } from "../../app/waiting/waiting.ts";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import type { Hub } from "../../link/endpoints.ts";
import { nameOfDevice, stopRows } from "../../model/fleet/fleet.ts";
import type { Device, Schedule } from "../../model/types.ts";
import { age, author, plural } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Modal, type Raised } from "../../ui/Modal.tsx";
import { Button } from "../../ui/parts.tsx";

const SHOWN_MS = 10 * 60_000;
/** More names than these nobody reads before a press that is in a hurry. */
const NAMED_MOST = 5;

export function useStopEverything(): Raised {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const schedules = [...useFleet().kind<Schedule>("schedule").values()].filter((one) => one.state === "active").length;
  const [, go] = useLocation();
  // The answer to *stop everything* as a request leads here.
  const linked = new URLSearchParams(useSearch()).has("stop");
  const [pressed, setPressed] = useState(false);
  const close = () => {
    setPressed(false);
    if (linked) go("/devices", { replace: true });
  };
  return {
    button: (
      <Button asks="run" icon="stop" onClick={() => setPressed(true)}>
        Stop everything
      </Button>
    ),
    dialog: (pressed || linked) && (
      <Modal label="Stop everything" className="asking" onClose={close}>
        <h2 className="head">Stop everything?</h2>
        <Unfinished />
        <p className="dim">
          Every constellation is cancelled. Each device that has work confirms when it has ended; one that is away is
          named until it does.
        </p>
        {schedules > 0 && (
          <p>
            {plural(schedules, "schedule")} {schedules === 1 ? "goes on; pause it" : "go on; pause them"} in{" "}
            <Link className="link" href="/schedules">
              Schedules
            </Link>
            .
          </p>
        )}
        <div className="row">
          <Button large onClick={close}>
            Let it run
          </Button>
          <Button
            large
            kind="bad"
            onClick={() => {
              close();
              hub.stopAll().then((made) => say(stoppedWords(made)), report);
            }}
          >
            Stop everything
          </Button>
        </div>
      </Modal>
    ),
  };
}

/** How many constellations a stop ends, and which; nothing while that is not known. */
function Unfinished() {
  const { hub } = useWorkspace();
  const rows = useResource("unfinished", () => unfinished(hub), ["constellations"]).value;
  if (!rows) return null;
  const names = rows.slice(0, NAMED_MOST).map((row) => row.name || row.request || row.id);
  const more = rows.length - names.length;
  return (
    <p>
      {rows.length === 0
        ? "No constellation is unfinished."
        : `${plural(rows.length, "constellation")}: ${names.join(", ")}${more > 0 ? `, and ${more} more` : ""}.`}
    </p>
  );
}

/** The devices that had work follow in a card; approvals and questions end without one. */
function stoppedWords({ constellations, devices }: Awaited<ReturnType<Hub["stopAll"]>>): string {
  if (constellations.length === 0) return "Nothing runs.";
  const ended = plural(constellations.length, "constellation");
  if (devices.length > 0) return `Stopping ${ended}.`;
  return `${ended} ${constellations.length === 1 ? "is" : "are"} cancelled. No device had work.`;
}

/** The confirmations of the last stop: while one is missing, and for ten minutes after. */
export function Stopped() {
  const fleet = useFleet();
  const now = useNow(2000);
  const rows = stopRows(fleet);
  const open = rows.filter((row) => !row.confirmed_ms);
  const first = rows[0];
  if (!first || (open.length === 0 && now - Math.max(...rows.map((row) => row.confirmed_ms ?? 0)) > SHOWN_MS)) {
    return null;
  }
  return (
    <section className="card pad" aria-label="Stop everything">
      <header>
        <h2>
          {open.length
            ? `Stopping: ${rows.length - open.length} of ${plural(rows.length, "device")} confirmed`
            : `Stopped: ${rows.length === 1 ? "the device" : `all ${rows.length} devices`} confirmed`}
        </h2>
        <span className="small dim">
          {author(first.by)}, {age(first.at_ms, now)}
        </span>
      </header>
      <ul className="plainlist body">
        {rows.map((row) => {
          const link = fleet.one<Device>(`device/${row.device}`)?.link;
          const left = row.attempts ?? [];
          return (
            <li key={row.device} className="row wrap">
              <Glyph
                name={row.confirmed_ms ? "double_tick" : link === "online" ? "ringed_square" : "broken_arc"}
                tone={row.confirmed_ms ? "teal" : link === "online" ? "blue" : "amber"}
              />
              <b className="strong">{nameOfDevice(fleet, row.device)}</b>
              <span className="small dim">
                {row.confirmed_ms
                  ? `confirmed, ${plural(row.asked, "task")} ended`
                  : link === "online"
                    ? "has not confirmed yet"
                    : "is away, so it has not confirmed"}
              </span>
              {left.slice(0, 3).map((attempt) => {
                const [constellation, task] = attempt.split("/");
                return (
                  <Link key={attempt} className="link small" href={`/constellations/${constellation}/t/${task}`}>
                    {task}
                  </Link>
                );
              })}
              {left.length > 3 && <span className="small dim">and {left.length - 3} more</span>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
