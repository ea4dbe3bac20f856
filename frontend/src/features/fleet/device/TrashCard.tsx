/** The trash of a device: how much lies there and since when, a way back for each file, and the way to empty it. */
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useNow, useWorkspace } from "../../../app/workspace/context.ts";
import type { DeviceView } from "../../../model/fleet/fleet.ts";
import { recipeWith } from "../../../model/rows/document.ts";
import type { Created } from "../../../model/types.ts";
import { age, bytes, plural } from "../../../model/words/words.ts";
import { Icon } from "../../../ui/Icon.tsx";
import { Button, Rest } from "../../../ui/parts.tsx";
import { type InTrash, type Trash, trashOf } from "./trash.ts";

const SHOWN_MAX = 6;
const LISTED_MAX = 200;
const WAIT_S = 30;
/** Such small work is not offered as a recipe. */
const LABELS = { test: "trash" };
const AGES = [
  { days: 0, words: "all of it" },
  { days: 1, words: "older than a day" },
  { days: 7, words: "older than a week" },
  { days: 30, words: "older than 30 days" },
];

export function TrashCard({ view: { device, offer } }: { view: DeviceView }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [, go] = useLocation();
  const [trash, setTrash] = useState<Trash | null>(null);
  const [open, setOpen] = useState<Created | null>(null);
  const [busy, setBusy] = useState("");
  const [days, setDays] = useState(30);
  const may = (name: string) => (offer?.tools ?? []).some((tool) => tool.name === name && !tool.unavailable);
  if (!may("trash.list")) return null;

  const call = async (tool: string, args: Record<string, unknown>): Promise<Created> => {
    const task = { id: "trash", tool, args, device: { id: device.id } };
    const plan = { starloom: 1, name: `Trash of ${device.name}`, tasks: [task] };
    const made = await hub.submitAndWait({ plan, labels: LABELS }, WAIT_S);
    setOpen(made.state === "succeeded" ? null : made);
    return made;
  };
  const act = async (what: string, run: () => Promise<void>) => {
    setBusy(what);
    try {
      await run();
    } catch (error) {
      report(error);
    } finally {
      setBusy("");
    }
  };
  const look = async () => setTrash(trashOf(await call("trash.list", { limit: LISTED_MAX })));
  const putBack = async (item: InTrash) => {
    const made = await call("fs.restore", { tickets: [item.ticket] });
    if (made.state !== "succeeded") return;
    say(`${item.name} is back in its place`);
    await look();
  };
  const why = busy ? "It is being asked." : device.link === "online" ? null : `${device.name} is not connected.`;
  return (
    <section className="card" aria-label="Its trash" aria-busy={Boolean(busy)}>
      <header>
        <h2>Its trash</h2>
        {trash && <span className="dim">{trash.count ? bytes(trash.bytes) : "empty"}</span>}
      </header>
      {trash && trash.count > 0 && (
        <Items trash={trash} why={why} onPutBack={(item) => void act(item.ticket, () => putBack(item))} />
      )}
      <div className="body stack">
        {!trash && <p className="dim">Files that requests removed or replaced there lie in its trash.</p>}
        {open && (
          <p className="small">
            {open.answer?.sentence ?? `It is ${open.state}.`}{" "}
            <Link className="link" href={`/constellations/${open.id}`}>
              Open it
            </Link>
          </p>
        )}
        <div className="row wrap">
          <Button asks="start" why={why} onClick={() => void act("look", look)}>
            {trash ? "Look again" : "Look into it"}
          </Button>
          {may("trash.empty") && (
            <span className="row end">
              <label className="field">
                <select
                  aria-label="How much to remove for good"
                  value={days}
                  onChange={(event) => setDays(Number(event.target.value))}
                >
                  {AGES.map((one) => (
                    <option key={one.days} value={one.days}>
                      {one.words}
                    </option>
                  ))}
                </select>
              </label>
              <Button
                asks="start"
                kind="bad"
                title="Shows what it would do first; then it waits for a person, and the device asks its owner."
                onClick={() => go(recipeWith("empty-trash", { where: { id: device.id }, days }))}
              >
                Empty
              </Button>
            </span>
          )}
        </div>
      </div>
    </section>
  );
}

interface ItemsProps {
  trash: Trash;
  why: string | null;
  onPutBack: (item: InTrash) => void;
}

function Items({ trash, why, onPutBack }: ItemsProps) {
  const now = useNow(60_000);
  const line = (item: InTrash) => (
    <div key={item.ticket} className="item beside">
      <Icon name="file" />
      <b className="strong cut" title={item.path}>
        {item.name || "unknown place"}
      </b>
      <Button asks="start" why={why ?? (item.path ? null : "Its place is not known.")} onClick={() => onPutBack(item)}>
        Put back
      </Button>
      <span className="sub small">
        {bytes(item.bytes)}, {age(item.since_s * 1000, now)}
      </span>
    </div>
  );
  return (
    <>
      <p className="body small dim">
        {plural(trash.count, "file or folder").replace("file or folders", "files and folders")}
        {trash.oldest_s !== undefined && `, the oldest ${age(trash.oldest_s * 1000, now)}`}
      </p>
      {trash.items.slice(0, SHOWN_MAX).map(line)}
      <Rest count={trash.count - SHOWN_MAX}>
        {() => (
          <>
            {trash.items.slice(SHOWN_MAX).map(line)}
            {trash.count > trash.items.length && (
              <p className="body small dim">and {trash.count - trash.items.length} older ones</p>
            )}
          </>
        )}
      </Rest>
    </>
  );
}
