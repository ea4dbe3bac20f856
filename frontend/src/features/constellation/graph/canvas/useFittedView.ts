/** The view of the graph: it follows the plan until a person moves it; keys, buttons and a selection move it, too. */
import { useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Drawing } from "../../../../model/layout/blocks.ts";
import { beginOf, fitted } from "../../../../model/layout/fitting.ts";
import { boxOf } from "../../../../model/layout/hits.ts";
import type { Placed } from "../../../../model/layout/layout.ts";
import type { StreamModel } from "../../../../model/stream/stream.ts";
import { inTrouble, taskView } from "../../../../model/tasks/selectors.ts";
import { pressedKey } from "../../../../ui/pressedKey.ts";

export interface ViewProps {
  model: StreamModel;
  fleet: StreamModel;
  selected: string | null;
  /** Pixels that floating panels cover above and below, so that a fit does not put work under them. */
  top: number;
  bottom: number;
  /** The least zoom of a fit; below it only a part is shown. 0 fits all of it always. */
  readable: number;
  /** Drawn from top to bottom with folded families, for a narrow screen. */
  down: boolean;
}

export function useFittedView(
  { model, fleet, selected, top, bottom, readable, down }: ViewProps,
  drawing: Drawing,
  placed: Placed,
  ready: boolean,
) {
  const flow = useReactFlow();
  const box = useRef<HTMLDivElement>(null);
  const moved = useRef(false);
  const [follows, setFollows] = useState(true);
  // Cards that stood elsewhere for one frame would be pressed where they no longer are.
  const [isFitted, setIsFitted] = useState(false);
  /** A view that a person has chosen stays; before the first fit there is nothing to choose. */
  const onMoved = () => {
    moved.current = isFitted;
    setFollows(!isFitted);
  };
  const zoom = (by: "in" | "out") => {
    onMoved();
    void (by === "in" ? flow.zoomIn : flow.zoomOut)({ duration: 120 });
  };
  const fitAll = useCallback(
    (duration: number) => {
      const element = box.current;
      if (!element || !ready) return;
      const room = { width: element.clientWidth, height: element.clientHeight, top, bottom };
      const first = placed.at.get(firstToSee(drawing, placed, model, fleet, down)) ?? { x: 0, y: 0 };
      const to = fitted(placed, room, { least: readable, wide: down }, first);
      void flow.setViewport(to, { duration }).then((done) => done && setIsFitted(true));
    },
    [flow, ready, top, bottom, placed, drawing, readable, down, model, fleet],
  );

  const fitAgain = () => {
    moved.current = false;
    setFollows(true);
    fitAll(180);
  };

  useEffect(() => {
    if (moved.current) return;
    const frame = requestAnimationFrame(() => fitAll(0));
    return () => cancelAnimationFrame(frame);
  }, [fitAll]);

  // The room changes when the window turns or a task is opened beside the graph.
  useEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver !== "function") return;
    const watch = new ResizeObserver(() => {
      if (!moved.current) fitAll(0);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [fitAll]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const key = pressedKey(event);
      if (key === "f") fitAgain();
      else if (key === "+" || key === "=") zoom("in");
      else if (key === "-") zoom("out");
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  // A task that was found by its name or by a key may stand far away; one that was pressed is in view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another choice moves the view, and the first fit shows it.
  useEffect(() => {
    const element = box.current;
    const at = selected !== null && element ? boxOf(drawing, placed, selected) : null;
    if (!at || !element) return;
    const { x, y, zoom } = flow.getViewport();
    const [left, above] = [at.x * zoom + x, at.y * zoom + y];
    const beside = left + at.width * zoom < 0 || left > element.clientWidth;
    if (!beside && above + at.height * zoom > top && above < element.clientHeight - bottom) return;
    onMoved();
    void flow.setCenter(at.x + at.width / 2, at.y + at.height / 2, { zoom });
  }, [selected, isFitted]);
  return { box, isFitted, follows, onMoved, fitFirst: () => fitAll(0), fitAgain, zoom };
}

/** The block of the first task in trouble, else of the first that runs, else the one where the drawing begins. */
function firstToSee(drawing: Drawing, placed: Placed, model: StreamModel, fleet: StreamModel, down: boolean): string {
  let open = "";
  for (const [task, block] of drawing.place) {
    const shown = taskView(model, fleet, task)?.shown;
    if (shown && inTrouble(shown)) return block;
    if (shown?.tone === "blue" && !open) open = block;
  }
  return open || beginOf(placed, down);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable]"));
}
