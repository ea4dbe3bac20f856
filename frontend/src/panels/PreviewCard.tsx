/** The plan that would run: each task with its device, why that one, what it may do, and what it lacks. */
import type { MissingGrant, Preview, PreviewTask } from "../link/endpoints.ts";
import { devices } from "../model/fleet.ts";
import type { StreamModel } from "../model/stream.ts";
import { plural } from "../model/words.ts";
import { Glyph } from "../ui/Glyph.tsx";

/** Every missing grant once, wherever the preview names it. */
export function grantsOf(preview: Preview): MissingGrant[] {
  const found = new Map<string, MissingGrant>();
  const all = [...(preview.missing_grants ?? []), ...preview.tasks.flatMap((task) => task.missing)];
  for (const grant of all) found.set(`${grant.device}\n${grant.line}`, grant);
  return [...found.values()];
}

export function PreviewCard({ preview, fleet }: { preview: Preview; fleet: StreamModel }) {
  const groups = preview.tasks.filter((task) => task.each);
  const tag = (device: string | null | undefined): string => {
    if (!device) return "";
    const known = devices(fleet);
    for (const view of known.values()) if (view.id === device || view.device.name === device) return view.tag;
    return "";
  };
  return (
    <section className="card preview">
      <header>
        <h2>What will run</h2>
        <span className="small dim">
          {plural(preview.tasks.length, "task")} now
          {groups.length > 0 && `; ${groups.map((task) => task.id).join(", ")} repeat for each item found`}
        </span>
      </header>
      <ul>
        {preview.tasks.map((task) => (
          <PreviewRow key={task.id} task={task} tag={tag(task.device)} />
        ))}
      </ul>
      {(preview.warnings ?? []).map((text) => {
        return (
          <p key={text} className="warning tone-amber">
            <Glyph name="barrier" />
            {text}
          </p>
        );
      })}
    </section>
  );
}

function PreviewRow({ task, tag }: { task: PreviewTask; tag: string }) {
  const lacks = task.missing.length > 0;
  const others = task.alternatives
    .map((one) => `${one.device}: ${one.why || (one.fits ? "fits" : "does not fit")}`)
    .join("\n");
  return (
    <li>
      <span className="what">
        <b className="strong">{task.id}</b>
        <span className="small dim cut">
          {task.tool ?? (task.person ? "asks a person" : "")}
          {task.each ? `, for each ${task.each}` : ""}
        </span>
      </span>
      <span className="where">
        {task.person ? (
          <span className="dim">a person</span>
        ) : (
          <span className="chip" title={others || undefined}>
            {tag && <b>{tag}</b>}
            {task.device ?? (task.devices.length ? task.devices.join(" or ") : "no device yet")}
          </span>
        )}
      </span>
      <span className="small dim why">{task.why}</span>
      <span className="effects">
        {task.effects.map((effect) => (
          <span key={effect} className="chip out">
            {effect}
          </span>
        ))}
      </span>
      <span className={`small row word grantword ${lacks ? "tone-violet" : "tone-teal"}`}>
        {lacks ? (
          <>
            <Glyph name="hand" /> needs {task.missing[0]?.grant}
          </>
        ) : (
          task.grant && (
            <>
              <Glyph name="tick" /> {task.grant}
            </>
          )
        )}
      </span>
    </li>
  );
}
