/**
 * The drawing of a plan and the places of its blocks. A small plan is drawn and placed at once, and placed again by ELK
 * in its worker; a large one is drawn in slices and placed in a worker only, by the quick placement: ELK takes tens of
 * seconds for thousands of tasks, and would move blocks that a person reads already.
 */
import { useEffect, useMemo, useRef, useState } from "react";
import { useStructure } from "../../../../app/workspace/context.ts";
import { inSlices } from "../../../../link/slices.ts";
import { type Drawing, drawingSteps, drawing as makeDrawing } from "../../../../model/layout/blocks.ts";
import { layout, layoutDown, type Placed } from "../../../../model/layout/layout.ts";
import { outlineOf, type PackedPlaces, placedSteps } from "../../../../model/layout/packed.ts";
import type { Overlay } from "../../../../model/stream/history.ts";
import type { StreamModel } from "../../../../model/stream/stream.ts";
import { dependencies, specs } from "../../../../model/tasks/selectors.ts";
import type { TaskSpec } from "../../../../model/types.ts";

const ELK_FROM = 24;
/** Above so many blocks the placement would hold up the page. */
const AT_ONCE_MAX = 300;
/** Above so many tasks the making of the drawing would. */
const DRAWN_AT_ONCE_MAX = 600;

const NOWHERE: Placed = { at: new Map(), routes: [], width: 0, height: 0 };
const NOTHING: Drawing = { blocks: [], links: [], place: new Map() };

let worker: Worker | null = null;
let tickets = 0;

/** Starts early what takes long to start. */
function layoutWorker(): Worker {
  worker ??= new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  return worker;
}

/** The quick placement, worked out in a worker. */
function placeElsewhere(drawing: Drawing, down: boolean, then: (placed: Placed) => void): () => void {
  const running = layoutWorker();
  tickets += 1;
  const ticket = tickets;
  let stop = () => running.removeEventListener("message", hear);
  const hear = (event: MessageEvent<{ ticket: number; places: PackedPlaces }>) => {
    if (event.data.ticket !== ticket) return;
    stop();
    stop = inSlices(placedSteps(drawing, event.data.places), then);
  };
  running.addEventListener("message", hear);
  const outline = outlineOf(drawing);
  running.postMessage({ ticket, outline, down }, [outline.kinds.buffer, outline.sizes.buffer, outline.ends.buffer]);
  return () => stop();
}

interface Plan {
  model: StreamModel;
  overlay: Overlay;
  ghosts: boolean;
  down: boolean;
}

/**
 * The drawing of a plan; while that of a changed one is made, the one before stays. A plan that changes all the time is
 * drawn as often as making the drawing takes.
 */
function useDrawing({ model, overlay, ghosts, down }: Plan): Drawing {
  const structure = useStructure(model);
  const large = specs(model).size > DRAWN_AT_ONCE_MAX;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model is one object; `structure` says when it changed.
  const small = useMemo(
    () => (large ? NOTHING : makeDrawing(specs(model), dependencies(model).values(), overlay.removed, ghosts, down)),
    [model, structure, overlay, ghosts, down, large],
  );
  const [found, setFound] = useState(NOTHING);
  const making = useRef<{ stop: () => void; again: (() => void) | null } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  useEffect(() => {
    if (!large) return;
    const make = () => {
      const own: { stop: () => void; again: (() => void) | null } = { stop: () => {}, again: null };
      making.current = own;
      const given = [[...specs(model).values()], [...dependencies(model).values()]] as const;
      own.stop = inSlices(drawingSteps(...given, overlay.removed, ghosts, down), (made) => {
        making.current = null;
        setFound(made);
        own.again?.();
      });
    };
    if (making.current) making.current.again = make;
    else make();
  }, [model, structure, overlay, ghosts, down, large]);
  useEffect(() => {
    return () => {
      making.current?.stop();
      making.current = null;
    };
  }, []);
  const shown = useRef(NOTHING);
  // A plan that has just become large is shown as it was.
  shown.current = large ? (found === NOTHING ? shown.current : found) : small;
  return shown.current;
}

/** Whether so many tasks stand outside of groups that a worker has to place them: a group is one block. */
function hasManyLoose(all: Iterable<TaskSpec>): boolean {
  let loose = 0;
  for (const { group } of all) {
    if (!group) loose += 1;
    if (loose > AT_ONCE_MAX) return true;
  }
  return false;
}

/** A drawing with its places; while those of a changed one are worked out, what stood before stays as it was. */
export function usePlaces(plan: Plan): { drawing: Drawing; placed: Placed; ready: boolean } {
  const { down } = plan;
  const drawing = useDrawing(plan);
  const large = drawing.blocks.length > AT_ONCE_MAX;
  const quick = useMemo(() => (large ? NOWHERE : down ? layoutDown(drawing) : layout(drawing)), [drawing, down, large]);
  const [found, setFound] = useState<{ drawing: Drawing; placed: Placed; down: boolean } | null>(null);
  const many = specs(plan.model).size > DRAWN_AT_ONCE_MAX;
  useEffect(() => {
    if (many && hasManyLoose(specs(plan.model).values())) layoutWorker();
  }, [many, plan.model]);
  useEffect(() => {
    if (large) return placeElsewhere(drawing, down, (placed) => setFound({ drawing, placed, down }));
    if (down || drawing.blocks.length < ELK_FROM) return;
    let wanted = true;
    void import("./elk.ts")
      .then((elk) => elk.elkLayout(drawing))
      .then(
        (placed) => {
          if (wanted) setFound({ drawing, placed, down });
        },
        // Without the hub its file may not be had: the quick placement stands.
        () => {},
      );
    return () => {
      wanted = false;
    };
  }, [drawing, down, large]);
  if (found?.down === down && (found.drawing === drawing || large)) return { ...found, ready: true };
  return { drawing, placed: quick, ready: !large && drawing !== NOTHING };
}
