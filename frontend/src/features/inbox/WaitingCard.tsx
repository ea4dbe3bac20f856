/** What waits for a person beside questions, each with its one action: an answer, a line to type, a page to open. */

import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import type { Unplanned } from "../../app/waiting/unplanned.ts";
import { type Ask, askAnsweredHere, markedHere, type Stopped, useWaiting } from "../../app/waiting/waiting.ts";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { useKeptText } from "../../app/workspace/drafts.ts";
import { nameOfDevice, replacesWords, taskNamed } from "../../model/fleet/fleet.ts";
import { toolsOf } from "../../model/fleet/tools.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import type { Device, Enrollment, Offer } from "../../model/types.ts";
import { ownTimes } from "../../model/words/clock.ts";
import { typedOnDevice } from "../../model/words/commands.ts";
import { readable } from "../../model/words/readable.ts";
import { age, duration, plural } from "../../model/words/words.ts";
import { useMay } from "../../ui/away.tsx";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button, CopyLine, focusAtOnce } from "../../ui/parts.tsx";
import { ValueView } from "../answer/values/ValueView.tsx";
import { Asleep } from "./Asleep.tsx";
import { TryAgain } from "./questions/TryAgain.tsx";

const UNPLANNED_MAX = 3;

export function WaitingCard() {
  const { asks, pairings, remembering, stopped, unplanned } = useWaiting();
  const count = asks.length + pairings.length + remembering.length + stopped.length + unplanned.length;
  if (count === 0) return null;
  return (
    <section className="card" aria-label="Waits on your devices">
      <header>
        <h2>On your devices and plans</h2>
        <span className="dim">{count}</span>
      </header>
      {asks.map((ask) => (
        <AskItem key={`${ask.device}${ask.action}`} ask={ask} />
      ))}
      {pairings.map((pairing) => (
        <Pairing key={pairing.id} pairing={pairing} />
      ))}
      {remembering.map((device) => (
        <Remembering key={device.id} device={device} />
      ))}
      {unplanned.map((found) => (
        <UnplannedItem key={found.reason} found={found} />
      ))}
      {stopped.map((item) => (
        <StoppedItem key={`${item.constellation}/${item.task}/${item.sentence}`} item={item} />
      ))}
    </section>
  );
}

export function AskItem({ ask }: { ask: Ask }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const fleet = useFleet();
  const now = useNow(1000);
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useKeptText(`${ask.device}.${ask.id}.reason`);
  const [reasoning, setReasoning] = useState<"begun" | "pressed" | null>(reason ? "begun" : null);
  const name = nameOfDevice(fleet, ask.device);
  const facts = fleet.kind<Offer>("offer").get(ask.device)?.facts;
  const title = toolsOf(fleet).get(ask.tool)?.title ?? ask.tool;
  const here = ask.answers === "hub";
  const may = useMay("approver");
  const answered = busy || ask.said !== undefined;
  const answer = async (allow: boolean) => {
    setBusy(true);
    try {
      await hub.answerAsk(ask.device, ask.id, ask.action, allow, reason);
      setReason("");
      askAnsweredHere(ask, allow ? "Allow once" : "Deny");
      say(allow ? `${name} goes on` : `${name} will not do it`);
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="item">
      <Glyph name={ask.said ? "tick" : "hand"} tone={ask.said ? "teal" : "violet"} />
      <b className="strong">
        {name} asks before {title}
      </b>
      {here ? (
        <span className="answers">
          <Button asks="approver" disabled={answered} onClick={() => void answer(false)}>
            Deny
          </Button>
          <Button asks="approver" kind="primary" disabled={answered} onClick={() => void answer(true)}>
            Allow once
          </Button>
        </span>
      ) : (
        <span />
      )}
      <div className="sub small">
        {title !== ask.tool && <code className="mono">{ask.tool}</code>}
        {(ask.args ?? "{}") !== "{}" && <ValueView text={ask.args ?? ""} exact />}
      </div>
      <span className="sub">
        {ask.constellation && (
          <>
            For{" "}
            <Link className="link" href={`/constellations/${ask.constellation}${ask.task ? `/t/${ask.task}` : ""}`}>
              {ask.task || ask.constellation}
            </Link>
            .{" "}
          </>
        )}
        {ask.said ? (
          <b>Answered: {ask.said}.</b>
        ) : (
          `Asked ${age(ask.asked_ms, now)}. Without an answer it is denied in ${duration(Math.max(0, ask.expires_ms - now))}.`
        )}{" "}
        {here && !answered && reasoning === null && may && (
          <button type="button" className="link" onClick={() => setReasoning("pressed")}>
            Add a reason
          </button>
        )}
        {!here && "Its policy takes answers only on itself; type there:"}
      </span>
      {!here && (
        <span className="sub">
          <CopyLine line={typedOnDevice(`starloom-agent approve ${ask.id}`, facts)} label="the line that allows it" />
        </span>
      )}
      {reasoning && (
        <input
          className="input reason"
          ref={reasoning === "pressed" ? focusAtOnce : undefined}
          aria-label="Reason"
          placeholder="Reason, told to the device"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      )}
    </div>
  );
}

function Pairing({ pairing }: { pairing: Enrollment }) {
  const [, go] = useLocation();
  const replaces = replacesWords(useFleet(), pairing, useNow(10_000));
  return (
    <div className="item">
      <Glyph name="hand" tone="violet" />
      <b className="strong cut">{pairing.name || pairing.label || "A device"} asks to join</b>
      <Button asks="fleet" onClick={() => go(`/devices?add=${pairing.id}`)}>
        Compare and decide
      </Button>
      <span className="sub">Its screen must show: {pairing.words}</span>
      {replaces && <span className="sub">{replaces}</span>}
    </div>
  );
}

function Remembering({ device }: { device: Device }) {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const seen = async () => {
    try {
      await hub.deviceControl(device.id, "seen");
    } catch (error) {
      report(error);
    }
  };
  return (
    <div className="item">
      <Glyph name="hand" tone="amber" />
      <b className="strong cut">{device.name} remembers more than this history</b>
      <Button asks="fleet" onClick={() => void seen()}>
        Seen
      </Button>
      <span className="sub">{device.remembers}.</span>
    </div>
  );
}

/** Requests without a plan for one reason, mostly a model that cannot be reached. */
function UnplannedItem({ found: { reason, rows } }: { found: Unplanned }) {
  const { session } = useWorkspace();
  const [newest] = rows;
  if (!newest) return null;
  const head = rows.length === 1 ? "A request could not be planned" : `${rows.length} requests could not be planned`;
  return (
    <div className="item" role="group" aria-label={head}>
      <Glyph name="hand" tone="violet" />
      <b className="strong cut">{head}</b>
      <TryAgain request={newest.request} owner={session?.role === "owner"} />
      <span className="sub">{readable(reason)}.</span>
      <span className="sub">
        {rows.slice(0, UNPLANNED_MAX).map((row) => (
          <span key={row.id} className="cut">
            <Link className="link" href={`/constellations/${row.id}`}>
              “{readable(row.request)}”
            </Link>{" "}
          </span>
        ))}
        {rows.length > UNPLANNED_MAX && `and ${rows.length - UNPLANNED_MAX} more`}
      </span>
    </div>
  );
}

/** `onSelect` opens the task where its constellation is open already; what is about all of it leads nowhere there. */
export function StoppedItem({ item, onSelect }: { item: Stopped; onSelect?: (task: string) => void }) {
  const fleet = useFleet();
  const [open, setOpen] = useState(false);
  const again = item.open;
  const title = headOf(fleet, item, useMay(true));
  return (
    <div className="item" role="group" tabIndex={-1} aria-label={title}>
      <Glyph name={item.asleep.length ? "barrier" : "hand"} tone={item.asleep.length ? "amber" : "violet"} />
      <b className="strong cut">{title}</b>
      {item.doubted.length > 0 ? (
        <Marking constellation={item.constellation} task={item.task} calls={item.doubted.length} />
      ) : item.asleep.length > 0 && again ? (
        <Button aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Close" : "Open it"}
        </Button>
      ) : (
        <span />
      )}
      <span className="sub">
        {ownTimes(item.sentence)} {item.todo}{" "}
        {onSelect ? (
          item.task && (
            <button type="button" className="link" onClick={() => onSelect(item.task)}>
              Open the task
            </button>
          )
        ) : (
          <Link className="link" href={`/constellations/${item.constellation}${item.task ? `/t/${item.task}` : ""}`}>
            {item.name}
          </Link>
        )}
      </span>
      {item.line && (
        <span className="sub">
          <CopyLine line={item.line} label="the line to type" />
        </span>
      )}
      {open && again && (
        <span className="sub">
          <Asleep names={item.asleep} again={again} />
        </span>
      )}
    </div>
  );
}

/** `may`: this person may do what ends it; for anyone else it is news of a task that waits. */
function headOf(fleet: StreamModel, { asleep, doubted, task: id, name }: Stopped, may: boolean): string {
  const task = taskNamed(fleet, id);
  if (asleep.length > 0) return `${asleep.join(", ")} is asleep`;
  if (doubted.length > 1) return `${doubted.length} calls of ${task} may have happened`;
  return doubted.length === 1 ? `${task} may have happened` : `${task || name} ${may ? "needs you" : "waits"}`;
}

/** Says whether a task, or all calls of a group, happened: one answer, which the hub takes whole or not at all. */
function Marking({ constellation, task, calls }: { constellation: string; task: string; calls: number }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [busy, setBusy] = useState(false);
  const mark = async (state: "succeeded" | "failed") => {
    setBusy(true);
    try {
      await hub.taskControl(constellation, task, "mark", { state });
      say(`Marked ${plural(calls, "call")}`);
      markedHere(constellation, task);
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <span className="answers">
      <Button asks="run" disabled={busy} onClick={() => void mark("failed")}>
        {calls > 1 ? "None of them happened" : "It did not happen"}
      </Button>
      <Button asks="run" disabled={busy} onClick={() => void mark("succeeded")}>
        {calls > 1 ? `All ${calls} happened` : "It happened"}
      </Button>
    </span>
  );
}

/** One sentence of what waits, for where there is no room for more. */
export function waitingWords(count: number): string {
  return count ? `${plural(count, "thing")} ${count === 1 ? "needs" : "need"} you` : "Nothing needs you";
}

export const waitsForOthers = (count: number): string =>
  `${plural(count, "thing")} ${count === 1 ? "waits" : "wait"} for somebody with other rights`;
