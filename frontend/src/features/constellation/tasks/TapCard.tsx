/** Work that runs in a browser tab of another device: it may wait for a tap there, which nobody sees from here. */

import type { TaskView } from "../../../model/tasks/selectors.ts";
import { elapsedMs } from "../../../model/tasks/selectors.ts";
import type { Device } from "../../../model/types.ts";
import { Glyph } from "../../../ui/Glyph.tsx";

/** Most calls that need no tap have ended by then. */
const AFTER_MS = 2_000;

interface Props {
  views: readonly TaskView[];
  /** The devices that have had its tasks. */
  used: readonly Device[];
  nowMs: number;
}

export function TapCard({ views, used, nowMs }: Props) {
  const tabs = new Set(used.filter(({ os }) => os === "browser").map(({ id }) => id));
  // Of thousands of tasks none need be looked at.
  if (tabs.size === 0) return null;
  const waiting = views.filter(
    (view) =>
      view.record?.state === "running" &&
      tabs.has(view.record.device ?? "") &&
      (view.record.reason === "tap" || (elapsedMs(view, nowMs) ?? 0) > AFTER_MS),
  );
  // A tab of before says nothing of it, so there it only may be so.
  const sure = waiting.filter((view) => view.record?.reason === "tap");
  const told = sure.length > 0 ? sure : waiting;
  const names = [...new Set(told.map((view) => view.deviceName))];
  if (names.length === 0) return null;
  return (
    <section className="card asked" aria-label="Waits for a tap">
      <p className="item">
        <Glyph name="hand" tone="violet" />
        <b className="strong">
          {sure.length > 0
            ? `It waits for a tap on ${names.join(" and ")}.`
            : `Look at ${names.join(" and ")}: a tap may be needed there.`}
        </b>
        <span className="sub">
          {told.map((view) => view.name).join(", ")} runs in its Starloom page, where a picture, a file or the clipboard
          needs a tap. <a href="/tab/">Is it this device? Open that page.</a>
        </span>
      </p>
    </section>
  );
}
