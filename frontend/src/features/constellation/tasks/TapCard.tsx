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
      (elapsedMs(view, nowMs) ?? 0) > AFTER_MS,
  );
  const names = [...new Set(waiting.map((view) => view.deviceName))];
  if (names.length === 0) return null;
  return (
    <section className="card asked" aria-label="Waits for a tap">
      <p className="item">
        <Glyph name="hand" tone="violet" />
        <b className="strong">Look at {names.join(" and ")}: a tap may be needed there.</b>
        <span className="sub">
          {waiting.map((view) => view.name).join(", ")} runs in its Starloom page, where a picture, a file or the
          clipboard needs a tap. <a href="/tab/">Is it this device? Open that page.</a>
        </span>
      </p>
    </section>
  );
}
