/** Tools that a single device offers. */
import type { DeviceView } from "../../model/fleet/fleet.ts";

/** Tools that a single device offers: where one loss is a hole. */
export function OnlyOne({ all }: { all: DeviceView[] }) {
  const offers = new Map<string, DeviceView[]>();
  for (const view of all) {
    for (const tool of view.offer?.tools ?? []) {
      if (!tool.unavailable) offers.set(tool.name, [...(offers.get(tool.name) ?? []), view]);
    }
  }
  const single = [...offers].filter(([, views]) => views.length === 1);
  if (all.length < 2 || single.length === 0) return null;
  return (
    <section className="card pad">
      <header>
        <h2>What only one device can do</h2>
      </header>
      <div className="row wrap body">
        {single.slice(0, 24).map(([tool, views]) => (
          <span key={tool} className="chip out">
            <b>{tool}</b>
            {views[0]?.tag}
          </span>
        ))}
        {single.length > 24 && <span className="small dim">and {single.length - 24} more</span>}
      </div>
    </section>
  );
}
