/** What a pointer on the graph means: a press, a menu of a task, and the name of what is only painted below it. */
import { useReactFlow } from "@xyflow/react";
import { type MouseEvent, useState } from "react";
import type { Drawing } from "../../../../model/layout/blocks.ts";
import { farEnd, type Hit, hitAt } from "../../../../model/layout/hits.ts";
import type { Placed } from "../../../../model/layout/layout.ts";

import { useLongPress } from "./longPress.ts";

/** How many pixels beside a link a press still counts. */
const LINK_SLACK = 6;

interface PointingProps {
  selected: string | null;
  onSelect: (task: string) => void;
  onMenu: (task: string, at: { x: number; y: number }) => void;
}

export function usePointing({ selected, onSelect, onMenu }: PointingProps, drawing: Drawing, placed: Placed) {
  const flow = useReactFlow();
  const [hovered, setHovered] = useState<{ hit: Hit; x: number; y: number } | null>(null);
  /** The thing that is drawn below a pointer on the bare canvas. */
  const under = (event: { clientX: number; clientY: number }): Hit | null => {
    const slack = LINK_SLACK / flow.getZoom();
    return hitAt(drawing, placed, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }), slack);
  };
  const press = (event: MouseEvent) => {
    const hit = under(event);
    if (hit) onSelect(hit.kind === "task" ? hit.id : farEnd(drawing, hit, selected));
  };
  /** The task of a card, or of a tile or frame that is only painted. */
  const taskAt = (target: Element, at: { x: number; y: number }): string | null => {
    const card = target.closest<HTMLElement>("[data-task]")?.dataset.task;
    if (card) return card;
    const hit = under({ clientX: at.x, clientY: at.y });
    return hit?.kind === "task" ? hit.id : null;
  };
  const askMenu = (target: Element, at: { x: number; y: number }) => {
    const task = taskAt(target, at);
    if (task) onMenu(task, at);
  };
  const { held, handlers } = useLongPress(askMenu);
  const onContextMenu = (event: MouseEvent | globalThis.MouseEvent) => {
    event.preventDefault();
    if (!held.current) askMenu(event.target as Element, { x: event.clientX, y: event.clientY });
  };
  const hover = (event: MouseEvent) => {
    const bare = event.buttons === 0 && (event.target as Element).classList.contains("react-flow__pane");
    const hit = bare ? under(event) : null;
    if (hit || hovered) setHovered(hit && { hit, x: event.clientX, y: event.clientY });
  };
  return { hovered, handlers, hover, leave: () => setHovered(null), press, onContextMenu };
}
