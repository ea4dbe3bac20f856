/** The fleet: every device with what it does now, and the sheet that adds one. */
import { useMemo, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { openAsks } from "../../app/waiting/waiting.ts";
import { useFleet, useMedia, useNow, usePhone, useWorkspace } from "../../app/workspace/context.ts";
import { type DeviceView, deviceShown, devices, linkWords, openEnrollments } from "../../model/fleet/fleet.ts";
import { rightsInShort } from "../../model/fleet/rights.ts";
import { plural } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Icon, type IconName } from "../../ui/Icon.tsx";
import { Button, Empty, StateBar } from "../../ui/parts.tsx";
import { AskItem } from "../inbox/WaitingCard.tsx";
import { DevicePanel } from "./device/DevicePanel.tsx";
import { AddDevice } from "./joining/AddDevice.tsx";
import { wayOf } from "./joining/JoinWays.tsx";
import { OnlyOne } from "./OnlyOne.tsx";
import { StopEverything, Stopped } from "./StopEverything.tsx";
import { KeptLine, SmallLines, workWordsOf } from "./vitals/DeviceLines.tsx";
import { useVitals, useWorkToday } from "./vitals/vitals.ts";
import { useWork } from "./vitals/work.ts";

/** Devices that are shown at first, and more at each press. */
const SHOWN_AT_ONCE = 50;

export const ICONS: Record<DeviceView["kind"], IconName> = {
  phone: "phone",
  server: "server",
  laptop: "laptop",
  desktop: "desktop",
  tab: "tab",
  machine: "desktop",
};

export function FleetPage() {
  const fleet = useFleet();
  const phone = usePhone();
  const cards = useMedia("(max-width: 1100px)");
  const now = useNow(5000);
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const work = useWork();
  const [, go] = useLocation();
  const search = new URLSearchParams(useSearch());
  const [words, setWords] = useState("");
  const [most, setMost] = useState(SHOWN_AT_ONCE);
  const adding = search.get("add") !== null;
  const open = search.get("device");
  const all = useMemo(() => [...devices(fleet).values()], [fleet, fleet.revision]);
  const shownOf = (view: DeviceView) => deviceShown(view, work.get(view.id)?.length ?? 0);
  const fits = (view: DeviceView) => {
    const text =
      `${view.device.name} ${view.tag} os:${view.device.os} ${(view.offer?.grants ?? []).map((grant) => `grant:${grant}`).join(" ")} ${(view.offer?.tools ?? []).map((tool) => `tool:${tool.name}`).join(" ")} ${shownOf(view).word}`.toLowerCase();
    return words
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word));
  };
  const fitting = all.filter(fits);
  const list = fitting.slice(0, most);
  const ids = list.map((view) => view.id);
  const vitals = useVitals(ids).value;
  const today = useWorkToday(ids);
  const tally = new Map<string, { word: string; count: number; view: DeviceView }>();
  for (const view of all) {
    const word = shownOf(view).word.split(",")[0] ?? "";
    const held = tally.get(word);
    if (held) held.count += 1;
    else tally.set(word, { word, count: 1, view });
  }
  const asking = openEnrollments(fleet).filter((enrollment) => enrollment.state === "asking");
  // The open sheet asks the same question itself.
  const elsewhere = adding ? [] : asking;
  const chosen = open ? devices(fleet).get(open) : undefined;
  const asks = openAsks(fleet);
  const close = () => go("/devices");
  const add = () => go("/devices?add=1");
  const panel = adding || chosen;
  return (
    <Shell
      title="Fleet"
      beside={<span className="dim nowrap">{plural(all.length, "device")}</span>}
      actions={
        <>
          <StopEverything />
          <Button asks kind="primary" icon="plus" onClick={add}>
            Add device
          </Button>
        </>
      }
      keys={[{ keys: "Escape", does: "Close the sheet", run: close }]}
      entries={[{ id: "add", group: "Do", label: "Add device", run: add }]}
      narrow={Boolean(panel)}
      fixed
      className={`split ${panel ? "with-sheet" : ""}`}
    >
      <section className="scroller">
        <div className="fleethead">
          {tally.size > 1 && (
            <StateBar counts={[...tally.values()].map((one) => ({ ...one, shown: shownOf(one.view) }))} />
          )}
          <span className="counts">
            {[...tally.values()].map(({ word, count, view }) => {
              const shown = shownOf(view);
              return (
                <span key={word} className="count">
                  <Glyph name={shown.glyph} tone={shown.tone} />
                  <b>{count}</b>
                  {word.toLowerCase()}
                </span>
              );
            })}
          </span>
          <label className="field search end">
            <Icon name="filter" />
            <input
              data-filter
              aria-label="Filter devices"
              placeholder="os: tool: grant: name"
              value={words}
              onChange={(event) => setWords(event.target.value)}
            />
            <kbd className="only-wide" aria-hidden="true">
              /
            </kbd>
          </label>
          {phone && (
            <>
              <Button asks kind="primary" icon="plus" onClick={add}>
                Add device
              </Button>
              <StopEverything />
            </>
          )}
        </div>
        <Stopped />
        {asks.length > 0 && (
          <section className="card" aria-label="Devices that ask">
            {asks.map((ask) => (
              <AskItem key={`${ask.device}${ask.action}`} ask={ask} />
            ))}
          </section>
        )}
        {elsewhere.map((enrollment) => (
          <div key={enrollment.id} className="grant asking-line">
            <Glyph name="hand" tone="violet" />
            <p>
              <b className="strong">{enrollment.name || enrollment.label || "A device"} is asking to join.</b> Compare
              the words on both screens.
            </p>
            <Link className="btn" href={`/devices?add=${enrollment.id}`}>
              Compare and decide
            </Link>
          </div>
        ))}
        {list.length === 0 ? (
          <section className="card pad">
            <Empty
              title={
                all.length
                  ? "No device fits this filter."
                  : fleet.ready
                    ? "No device has joined yet."
                    : "Reading the fleet."
              }
            >
              {fleet.ready && all.length === 0 && (
                <>
                  <p>
                    A device is a machine that runs tasks. It joins by one line in its terminal; its owner decides there
                    what it may do.
                  </p>
                  <Button asks kind="primary" icon="plus" onClick={add}>
                    Add device
                  </Button>
                </>
              )}
            </Empty>
          </section>
        ) : cards ? (
          <ul className="devicecards">
            {list.map((view) => {
              const shown = shownOf(view);
              return (
                <li key={view.id}>
                  <Link href={`/devices?device=${view.id}`} className="devicecard">
                    <span className="row">
                      <Icon name={ICONS[view.kind]} big />
                      <span className="tag">{view.tag}</span>
                      <b className="strong cut">{view.device.name}</b>
                      {view.device.demo && <span className="chip demo">demo</span>}
                    </span>
                    <span className={`row strong word tone-${shown.tone}`}>
                      <Glyph name={shown.glyph} />
                      {shown.word}
                    </span>
                    <span className="small dim">
                      {[osOf(view), workWords(work.get(view.id)), workWordsOf(today.get(view.id))]
                        .filter(Boolean)
                        .join(", ")}
                    </span>
                    <span className="small dim">{rightsInShort(view.device, view.offer)}</span>
                    <SmallLines vitals={vitals} device={view.id} />
                  </Link>
                </li>
              );
            })}
          </ul>
        ) : (
          <table className="fleettable">
            <thead>
              <tr>
                <th>State</th>
                <th>Device</th>
                <th>Now</th>
                <th>The last hour</th>
                <th>Today</th>
              </tr>
            </thead>
            <tbody>
              {list.map((view) => {
                const shown = shownOf(view);
                return (
                  <tr key={view.id} className={view.id === open ? "selected" : ""}>
                    <td>
                      <span className={`row word strong nowrap tone-${shown.tone}`}>
                        <Glyph name={shown.glyph} />
                        {shown.word}
                      </span>
                      <span className="small dim nowrap">{linkWords(view.device, now)}</span>
                    </td>
                    <td>
                      <Link className="row" href={`/devices?device=${view.id}`}>
                        <span className="dim">
                          <Icon name={ICONS[view.kind]} big />
                        </span>
                        <span className="twolines">
                          <span className="row">
                            <span className="tag">{view.tag}</span>
                            <b className="strong nowrap">{view.device.name}</b>
                            {view.device.demo && <span className="chip demo">demo</span>}
                          </span>
                          <span className="small dim cut">{osOf(view)}</span>
                        </span>
                      </Link>
                    </td>
                    <td className="small">
                      <span className="twolines">
                        <NowLine tasks={work.get(view.id)} />
                        <span className="dim">{rightsInShort(view.device, view.offer)}</span>
                      </span>
                    </td>
                    <td>
                      <SmallLines vitals={vitals} device={view.id} />
                    </td>
                    <td className="small nowrap">
                      {workWordsOf(today.get(view.id)) ? (
                        <Link className="link" href={`/devices/${view.id}#today`}>
                          {workWordsOf(today.get(view.id))}
                        </Link>
                      ) : (
                        <span className="dim">nothing yet</span>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
        {fitting.length > list.length && (
          <p className="row kept">
            <Button onClick={() => setMost(most + SHOWN_AT_ONCE)}>
              Show {Math.min(SHOWN_AT_ONCE, fitting.length - list.length)} more
            </Button>
            <span className="small dim">
              {list.length} of {plural(fitting.length, "device")}
            </span>
          </p>
        )}
        {vitals && list.length > 0 && <KeptLine vitals={vitals} />}
        <OnlyOne all={all} />
      </section>
      {adding && <AddDevice enrollment={search.get("add") ?? "1"} way={wayOf(search.get("way"))} onClose={close} />}
      {!adding && chosen && (
        <DevicePanel
          key={chosen.id}
          view={chosen}
          busy={work.get(chosen.id) ?? []}
          onClose={close}
          onDo={async (what) => {
            try {
              await what(hub);
            } catch (error) {
              report(error);
            }
          }}
        />
      )}
    </Shell>
  );
}

export const osOf = (view: DeviceView): string =>
  [
    view.offer?.facts?.os_name ?? view.device.os,
    view.device.condition?.battery ? `battery ${view.device.condition.battery}` : "",
  ]
    .filter(Boolean)
    .join(", ");

function workWords(tasks: { task: string; name: string }[] | undefined): string {
  if (!tasks?.length) return "";
  const shown = tasks.slice(0, 2).map((one) => one.task);
  return `${shown.join(", ")}${tasks.length > 2 ? ` and ${tasks.length - 2} more` : ""}, ${tasks[0]?.name ?? ""}`;
}

/** What a device does now, each task with a way to it. */
function NowLine({ tasks }: { tasks: { task: string; name: string; constellation: string }[] | undefined }) {
  const [first, ...more] = tasks ?? [];
  if (!first) return <span className="dim">nothing now</span>;
  return (
    <Link className="link cut" href={`/constellations/${first.constellation}/t/${first.task}`}>
      {first.task}, {first.name}
      {more.length > 0 && ` and ${more.length} more`}
    </Link>
  );
}
