/**
 * The list lens: equal in function to the graph, virtualised, grouped as a person reads it: what is stuck, what runs,
 * what is next, what is done. One grammar of filters.
 */
import { elementScroll, useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useMemo, useRef } from "react";
import { inTrouble, readingOrder, type TaskView } from "../../../model/tasks/selectors.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Icon } from "../../../ui/Icon.tsx";
import { Empty } from "../../../ui/parts.tsx";
import { useLongPress } from "../graph/canvas/longPress.ts";
import { Elapsed } from "../graph/cards.tsx";
import type { OpenMenu } from "../graph/context.ts";

type Line = { kind: "head"; title: string; count: number } | { kind: "task"; view: TaskView };

function sectionOf(view: TaskView): string {
  const { shown } = view;
  if (shown.tone === "vermilion") return "Failed";
  if (shown.glyph === "hand") return "Needs you";
  // The heading is the word of the badge: a task that is held stands below *Held*.
  if (inTrouble(shown)) return shown.word.split(/[,:]/)[0] ?? shown.word;
  if (shown.tone === "blue") return "Running";
  if (shown.glyph === "dotted_ring") return "Ready";
  if (shown.glyph === "ring") return "Waiting";
  return shown.tone === "teal" ? "Done" : "Left out";
}

export function listLines(views: TaskView[]): Line[] {
  const sections = new Map<string, TaskView[]>();
  for (const view of readingOrder(views)) {
    const name = sectionOf(view);
    const held = sections.get(name);
    if (held) held.push(view);
    else sections.set(name, [view]);
  }
  const lines: Line[] = [];
  for (const [title, own] of sections) {
    lines.push({ kind: "head", title, count: own.length });
    for (const view of own) lines.push({ kind: "task", view });
  }
  return lines;
}

/** No task's id begins as a heading's key does: the names in a plan have no spaces. */
const keyOf = (line: Line | undefined): string =>
  line ? (line.kind === "head" ? `head ${line.title}` : line.view.id) : "";

/** The size as the browser works it out for the next frame. Asked for at once, it would have to be worked out twice. */
function observeSize(of: { scrollElement: Element | null }, tell: (size: { width: number; height: number }) => void) {
  const element = of.scrollElement;
  if (!element || typeof ResizeObserver === "undefined") return;
  const observer = new ResizeObserver(([entry]) => {
    if (!entry) return;
    const { width, height } = entry.contentRect;
    tell({ width: Math.round(width), height: Math.round(height) });
  });
  observer.observe(element);
  return () => observer.disconnect();
}

/** A new list is at its top already; to scroll it there, the browser would have to work out the page at once. */
const scrollTo: typeof elementScroll = (offset, options, list) => {
  if (offset + (options.adjustments ?? 0) > 0 || list.scrollOffset) elementScroll(offset, options, list);
};

interface TaskListProps {
  views: TaskView[];
  selected: string | null;
  rowHeight: number;
  progress: ReadonlyMap<string, { fraction: number }>;
  onSelect: (task: string) => void;
  onMenu: OpenMenu;
}

export function TaskList({ views, selected, rowHeight, progress, onSelect, onMenu }: TaskListProps) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => listLines(views), [views]);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => (lines[index]?.kind === "head" ? 32 : rowHeight),
    overscan: 8,
    initialRect: { width: 800, height: 900 },
    observeElementRect: observeSize,
    scrollToFn: scrollTo,
    // Another order is another place for each size: without keys a heading's height stays where a task is now.
    getItemKey: useCallback((index: number) => keyOf(lines[index]), [lines]),
  });
  const at = lines.findIndex((line) => line.kind === "task" && line.view.id === selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new selection scrolls, never a new order.
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: "auto" });
  }, [selected]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `measure` forgets the sizes that were kept.
  useEffect(() => rows.measure(), [rowHeight]);

  const { held, handlers } = useLongPress((target, at) => {
    const task = target.closest<HTMLElement>("[data-task]")?.dataset.task;
    if (task) onMenu(task, at);
  });
  const onRowMenu = useCallback<OpenMenu>(
    (task, where) => {
      if (!held.current) onMenu(task, where);
    },
    [held, onMenu],
  );

  if (lines.length === 0) return <Empty title="No task fits this filter.">Clear the filter to see all of them.</Empty>;
  return (
    <div className="tasklist" ref={box} {...handlers}>
      <div role="list" aria-label="Tasks" style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const line = lines[row.index];
          if (!line) return null;
          const style = { height: row.size, transform: `translateY(${row.start}px)` };
          if (line.kind === "head") {
            return (
              <div key={`head ${line.title}`} role="listitem" className="section" style={style}>
                <h2>
                  {line.title} <span>{line.count}</span>
                </h2>
              </div>
            );
          }
          return (
            <div key={line.view.id} role="listitem" style={style}>
              <TaskRow
                view={line.view}
                selected={line.view.id === selected}
                fraction={progress.get(line.view.id)?.fraction ?? -1}
                onSelect={onSelect}
                onMenu={onRowMenu}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface TaskRowProps {
  view: TaskView;
  selected: boolean;
  fraction: number;
  onSelect: (task: string) => void;
  onMenu: OpenMenu;
}

const TaskRow = memo(function TaskRow({ view, selected, fraction, onSelect, onMenu }: TaskRowProps) {
  const { shown } = view;
  const moving = fraction >= 0 && (shown.glyph === "turning_arc" || shown.glyph === "broken_arc");
  return (
    <button
      type="button"
      data-task={view.id}
      className={`taskrow tone-${shown.tone} ${selected ? "selected" : ""}`}
      aria-current={selected ? "true" : undefined}
      onClick={() => onSelect(view.id)}
      onContextMenu={(event) => {
        event.preventDefault();
        const box = event.currentTarget.getBoundingClientRect();
        // The menu key has no place on the screen: the row has.
        const at = event.clientX || event.clientY ? event : { clientX: box.left + 48, clientY: box.bottom };
        onMenu(view.id, { x: at.clientX, y: at.clientY });
      }}
    >
      <Glyph name={shown.glyph} />
      <span className="strong cut" title={view.id}>
        {view.name}
      </span>
      <span className="sub cut">
        <span className="word">{shown.word}</span>
        {view.label && view.name === view.id && <span className="dim">, {view.label}</span>}
      </span>
      <span className="at small dim nowrap">
        {view.deviceTag && <span className="tag">{view.deviceTag}</span>}{" "}
        {view.deviceName || (view.spec.person ? "a person" : "any device")}
      </span>
      <span className="small dim nowrap num">
        {moving ? `${Math.round(fraction / 10)} %` : <Elapsed view={view} />}
      </span>
      <Icon name="right" />
      {moving && (
        <span className={`meter ${shown.stuck ? "stuck" : ""}`} aria-hidden="true">
          <i style={{ width: `${fraction / 10}%` }} />
        </span>
      )}
    </button>
  );
});
