/**
 * Where the blocks of a drawing stand. Small drawings are placed at once, and again by ELK in its worker; large ones only
 * in a worker, by the quick placement: ELK takes tens of seconds for thousands and would move what one already reads.
 */
import { useEffect, useMemo, useState } from "react";
import type { Drawing } from "./blocks.ts";
import { layout, layoutDown, type Placed } from "./layout.ts";

const ELK_FROM = 24;
/** Above so many blocks the placement would hold up the page. */
const AT_ONCE_MAX = 300;

const NOWHERE: Placed = { at: new Map(), routes: [], width: 0, height: 0 };

let worker: Worker | null = null;
let tickets = 0;

/** The quick placement, worked out in a worker. A block is sent without the tasks that it holds. */
function placeElsewhere(drawing: Drawing, then: (placed: Placed) => void): () => void {
  worker ??= new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  const running = worker;
  tickets += 1;
  const ticket = tickets;
  const hear = (event: MessageEvent<{ ticket: number; placed: Placed }>) => {
    if (event.data.ticket !== ticket) return;
    running.removeEventListener("message", hear);
    then(event.data.placed);
  };
  running.addEventListener("message", hear);
  const blocks = drawing.blocks.map((block) => ({ ...block, tasks: [], family: null }));
  running.postMessage({ ticket, drawing: { blocks, links: drawing.links, place: new Map() } });
  return () => running.removeEventListener("message", hear);
}

/** The places of a drawing; while those of a changed one are worked out, what stood before stays where it was. */
export function usePlaces(drawing: Drawing, down: boolean): { placed: Placed; ready: boolean } {
  const large = !down && drawing.blocks.length > AT_ONCE_MAX;
  const quick = useMemo(() => (large ? NOWHERE : down ? layoutDown(drawing) : layout(drawing)), [drawing, down, large]);
  const [found, setFound] = useState<{ drawing: Drawing; placed: Placed } | null>(null);
  useEffect(() => {
    if (down || drawing.blocks.length < ELK_FROM) return;
    if (large) return placeElsewhere(drawing, (placed) => setFound({ drawing, placed }));
    let wanted = true;
    void import("./elk.ts")
      .then((elk) => elk.elkLayout(drawing))
      .then(
        (placed) => {
          if (wanted) setFound({ drawing, placed });
        },
        // Without the hub its file may not be had: the quick placement stands.
        () => {},
      );
    return () => {
      wanted = false;
    };
  }, [drawing, down, large]);
  if (found && (found.drawing === drawing || large)) return { placed: found.placed, ready: true };
  return { placed: quick, ready: !large };
}
