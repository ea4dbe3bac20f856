/**
 * The drawing as a tree for screen readers and the keyboard: one tab stop; up and down read on, left and right walk
 * the dependencies, Enter opens. Only what is near the active row is in the page.
 */
import { type KeyboardEvent, memo } from "react";
import { useStructure, useTask } from "../../../app/workspace/context.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { dependencies, specs } from "../../../model/tasks/selectors.ts";
import { naturalOrder } from "../../../model/words/natural.ts";
import { pressedKey } from "../../../ui/pressedKey.ts";
import { useScene } from "./context.ts";

const NEAR = 60;

interface Line {
  id: string;
  level: number;
}

export function Mirror({ label }: { label: string }) {
  const { model, selected, onSelect, onMenu } = useScene();
  useStructure(model);
  const lines = linesOf(model);
  const at = Math.max(
    0,
    lines.findIndex((line) => line.id === selected),
  );
  const active = lines[at];

  const walk = (direction: "source" | "target"): string | undefined => {
    if (!selected) return undefined;
    const back = direction === "source" ? "target" : "source";
    for (const dependency of dependencies(model).values()) {
      if (dependency[back] === selected && specs(model).has(dependency[direction])) return dependency[direction];
    }
    return undefined;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const key = pressedKey(event);
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    let next: string | undefined;
    if (key === "ContextMenu" || (key === "F10" && event.shiftKey)) {
      event.preventDefault();
      const box = event.currentTarget.nextElementSibling?.getBoundingClientRect();
      if (active && box) onMenu(active.id, { x: box.left + box.width / 3, y: box.top + box.height / 3 });
      return;
    }
    if (step) next = lines[Math.min(lines.length - 1, Math.max(0, selected ? at + step : at))]?.id;
    else if (key === "Home") next = lines[0]?.id;
    else if (key === "End") next = lines[lines.length - 1]?.id;
    else if (key === "ArrowRight") next = walk("target");
    else if (key === "ArrowLeft") next = walk("source");
    else if (key === "Enter" || key === " ") next = active?.id;
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (next) onSelect(next);
  };

  const from = Math.max(0, at - NEAR);
  return (
    <div
      className="mirror sr"
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={active ? `mirror-${active.id}` : undefined}
      onKeyDown={onKeyDown}
    >
      {lines.slice(from, at + NEAR).map((line, index) => (
        <MirrorLine
          key={line.id}
          line={line}
          place={from + index + 1}
          of={lines.length}
          selected={line.id === selected}
        />
      ))}
    </div>
  );
}

interface LineProps {
  line: Line;
  place: number;
  of: number;
  selected: boolean;
}

const MirrorLine = memo(function MirrorLine({ line, place, of, selected }: LineProps) {
  const { model, fleet } = useScene();
  const view = useTask(model, fleet, line.id);
  return (
    <div
      id={`mirror-${line.id}`}
      role="treeitem"
      aria-level={line.level}
      aria-posinset={place}
      aria-setsize={of}
      aria-selected={selected}
      tabIndex={-1}
    >
      {[line.id, view && !view.spec.for_each ? view.shown.word : "group", view?.deviceName].filter(Boolean).join(", ")}
    </div>
  );
});

const kept = new WeakMap<StreamModel, { structure: number; lines: Line[] }>();

/** The lines of a plan, made once for each change of it: React may begin a picture several times. */
function linesOf(model: StreamModel): Line[] {
  const { structure } = model;
  const held = kept.get(model);
  if (held?.structure === structure) return held.lines;
  const lines = makeLines(model);
  kept.set(model, { structure, lines });
  return lines;
}

function makeLines(model: StreamModel): Line[] {
  const children = new Map<string, string[]>();
  const tops: string[] = [];
  for (const spec of specs(model).values()) {
    const own = spec.group ? children.get(spec.group) : tops;
    if (own) own.push(spec.id);
    else if (spec.group) children.set(spec.group, [spec.id]);
  }
  const lines: Line[] = [];
  for (const id of tops) {
    lines.push({ id, level: 1 });
    for (const child of naturalOrder(children.get(id) ?? [])) lines.push({ id: child, level: 2 });
  }
  return lines;
}
