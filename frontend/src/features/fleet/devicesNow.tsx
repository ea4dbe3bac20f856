/** How the devices of a list stand now: the parts that cards and table of the fleet share. */
import type { DeviceView, deviceShown } from "../../model/fleet/fleet.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import type { IconName } from "../../ui/Icon.tsx";
import { StateBar } from "../../ui/parts.tsx";
import type { useVitals, useWorkToday } from "./vitals/vitals.ts";
import type { useWork } from "./vitals/work.ts";

export const ICONS: Record<DeviceView["kind"], IconName> = {
  phone: "phone",
  server: "server",
  laptop: "laptop",
  desktop: "desktop",
  tab: "tab",
  machine: "desktop",
};

/** The readings that a list of devices is drawn from. */
export interface DevicesNow {
  work: ReturnType<typeof useWork>;
  today: ReturnType<typeof useWorkToday>;
  vitals: ReturnType<typeof useVitals>["value"];
  shownOf: (view: DeviceView) => ReturnType<typeof deviceShown>;
}

export const osOf = (view: DeviceView): string =>
  [
    view.offer?.facts?.os_name ?? view.device.os,
    view.device.condition?.battery ? `battery ${view.device.condition.battery}` : "",
  ]
    .filter(Boolean)
    .join(", ");

export function workWords(tasks: { task: string; name: string }[] | undefined): string {
  if (!tasks?.length) return "";
  const shown = tasks.slice(0, 2).map((one) => one.task);
  return `${shown.join(", ")}${tasks.length > 2 ? ` and ${tasks.length - 2} more` : ""}, ${tasks[0]?.name ?? ""}`;
}

/** How many devices stand where, as a bar and as words. */
export function StateCounts({ all, shownOf }: { all: readonly DeviceView[]; shownOf: DevicesNow["shownOf"] }) {
  const tally = new Map<string, { word: string; count: number; view: DeviceView }>();
  for (const view of all) {
    const word = shownOf(view).word.split(",")[0] ?? "";
    const held = tally.get(word);
    if (held) held.count += 1;
    else tally.set(word, { word, count: 1, view });
  }
  if (all.length === 0) return null;
  return (
    <>
      {tally.size > 1 && <StateBar counts={[...tally.values()].map((one) => ({ ...one, shown: shownOf(one.view) }))} />}
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
    </>
  );
}
