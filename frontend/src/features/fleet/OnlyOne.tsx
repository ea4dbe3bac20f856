/** Tools that a single device offers. */
import type { DeviceView } from "../../model/fleet/fleet.ts";

const NAMED_MAX = 8;

/** Tools that a single device offers, by the device and in the words of the tools: where one loss is a hole. */
export function OnlyOne({ all }: { all: DeviceView[] }) {
  const offers = new Map<string, DeviceView[]>();
  for (const view of all) {
    for (const tool of view.offer?.tools ?? []) {
      if (!tool.unavailable) offers.set(tool.name, [...(offers.get(tool.name) ?? []), view]);
    }
  }
  const single = [...offers].filter(([, views]) => views.length === 1);
  if (all.length < 2 || single.length === 0) return null;
  const byDevice = new Map<DeviceView, string[]>();
  for (const [tool, [view]] of single) {
    if (!view) continue;
    const title = view.offer?.tools?.find((one) => one.name === tool)?.title || tool;
    byDevice.set(view, [...(byDevice.get(view) ?? []), title]);
  }
  return (
    <section className="card pad">
      <header>
        <h2>What only one device can do</h2>
      </header>
      <ul className="plainlist body stack">
        {[...byDevice].map(([view, titles]) => (
          <li key={view.id}>
            <b className="strong">{`${view.tag} ${view.device.name}`}</b>{" "}
            <span className="dim">
              {titles.slice(0, NAMED_MAX).join("; ")}
              {titles.length > NAMED_MAX && `; and ${titles.length - NAMED_MAX} more`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
