/** The fleet: every device with what it does now, and the sheet that adds one. */
import { Fragment, useMemo, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { useAsks } from "../../app/waiting/waiting.ts";
import { useFleet, useMedia, useNow, usePhone, useWorkspace } from "../../app/workspace/context.ts";
import { type DeviceView, deviceShown, devices, openEnrollments } from "../../model/fleet/fleet.ts";
import { linesOf, withLoad } from "../../model/fleet/vitals.ts";
import { plural } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button, Empty } from "../../ui/parts.tsx";
import { SearchField } from "../../ui/Search.tsx";
import { AskItem } from "../inbox/WaitingCard.tsx";
import { DeviceCards } from "./DeviceCards.tsx";
import { DeviceTable } from "./DeviceTable.tsx";
import { DevicePanel } from "./device/DevicePanel.tsx";
import { type DevicesNow, StateCounts } from "./devicesNow.tsx";
import { AddDevice } from "./joining/AddDevice.tsx";
import { wayOf } from "./joining/JoinWays.tsx";
import { OnlyOne } from "./OnlyOne.tsx";
import { Stopped, useStopEverything } from "./StopEverything.tsx";
import { KeptLine } from "./vitals/DeviceLines.tsx";
import { useVitals, useWorkToday } from "./vitals/vitals.ts";
import { useWork } from "./vitals/work.ts";

/** Devices that are shown at first, and more at each press. */
const SHOWN_AT_ONCE = 50;

export function FleetPage() {
  const fleet = useFleet();
  const phone = usePhone();
  const cards = useMedia("(max-width: 1100px)");
  const now = useNow(5000);
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const work = useWork();
  const stopping = useStopEverything();
  const [, go] = useLocation();
  const search = new URLSearchParams(useSearch());
  const [words, setWords] = useState("");
  const [most, setMost] = useState(SHOWN_AT_ONCE);
  const adding = search.get("add") !== null;
  const open = search.get("device");
  const all = useMemo(() => [...devices(fleet).values()], [fleet, fleet.revision]);
  const stateOf = (view: DeviceView) => deviceShown(view, work.get(view.id)?.length ?? 0);
  const fits = (view: DeviceView) => {
    const text =
      `${view.device.name} ${view.tag} os:${view.device.os} ${(view.offer?.grants ?? []).map((grant) => `grant:${grant}`).join(" ")} ${(view.offer?.tools ?? []).map((tool) => `tool:${tool.name}`).join(" ")} ${stateOf(view).word}`.toLowerCase();
    return words
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word));
  };
  const fitting = all.filter(fits);
  const list = fitting.slice(0, most);
  const ids = list.map((view) => view.id);
  const vitals = useVitals(ids).value;
  const shownOf = (view: DeviceView) => withLoad(stateOf(view), linesOf(vitals, view.id));
  const today = useWorkToday(ids);
  const asking = openEnrollments(fleet).filter((enrollment) => enrollment.state === "asking");
  const chosen = open ? devices(fleet).get(open) : undefined;
  const asks = useAsks();
  const shownNow: DevicesNow = { work, today, vitals, shownOf };
  const close = () => go("/devices");
  const add = () => go("/devices?add=1");
  const panel = adding || chosen;
  return (
    <Shell
      title="Fleet"
      beside={<span className="dim nowrap">{plural(all.length, "device")}</span>}
      actions={[
        <Fragment key="stop">{stopping.button}</Fragment>,
        <Button key="add" asks="fleet" kind="primary" icon="plus" onClick={add}>
          Add device
        </Button>,
      ]}
      keys={[{ keys: "Escape", does: "Close the sheet", run: close }]}
      entries={[{ id: "add", group: "Do", label: "Add device", run: add }]}
      narrow={Boolean(panel)}
      fixed
      className={`split ${panel ? "with-sheet" : ""}`}
    >
      <section className="scroller">
        <div className="fleethead">
          <StateCounts all={all} shownOf={shownOf} />
          <SearchField
            icon="filter"
            className="search end"
            label="Filter devices"
            placeholder="os: tool: grant: name"
            value={words}
            onChange={setWords}
          />
          {phone && (
            <>
              <Button asks="fleet" kind="primary" icon="plus" onClick={add}>
                Add device
              </Button>
              {stopping.button}
            </>
          )}
        </div>
        <Stopped />
        {stopping.dialog}
        {asks.length > 0 && (
          <section className="card" aria-label="Devices that ask">
            {asks.map((ask) => (
              <AskItem key={`${ask.device}${ask.action}`} ask={ask} />
            ))}
          </section>
        )}
        {asking.map((enrollment) => (
          // The open sheet asks the same itself; the line stays, to have the focus back once that is closed.
          <div key={enrollment.id} className="grant asking-line" hidden={adding}>
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
                  <Button asks="fleet" kind="primary" icon="plus" onClick={add}>
                    Add device
                  </Button>
                </>
              )}
            </Empty>
          </section>
        ) : cards ? (
          <DeviceCards list={list} now={shownNow} />
        ) : (
          <DeviceTable list={list} now={shownNow} open={open} nowMs={now} />
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
