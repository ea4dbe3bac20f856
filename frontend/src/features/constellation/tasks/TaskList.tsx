/**
 * The list lens: equal in function to the graph, virtualised, grouped as a person reads it: what is stuck, what runs,
 * what is next, what is done. One grammar of filters.
 */
import { type MouseEvent, memo, useCallback, useEffect, useRef, useState } from "react";
import { Sections } from "../../../model/tasks/sections.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { grown, rem } from "../../../styles/textSize.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { Icon } from "../../../ui/Icon.tsx";
import { Empty } from "../../../ui/parts.tsx";
import { useLongPress } from "../graph/canvas/longPress.ts";
import { Elapsed } from "../graph/cards.tsx";
import type { OpenMenu } from "../graph/context.ts";
import { HEAD_PX, heightOf, linesIn, type Seen, topOf } from "./lines.ts";

interface TaskListProps {
  views: TaskView[];
  selected: string | null;
  rowHeight: number;
  progress: ReadonlyMap<string, { fraction: number }>;
  onSelect: (task: string) => void;
  /** A row that is pressed by a key takes the focus along. */
  onSelectByKey: (task: string) => void;
  onMenu: OpenMenu;
}

export function TaskList({ views, selected, rowHeight, progress, onSelect, onSelectByKey, onMenu }: TaskListProps) {
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const [order] = useState(() => new Sections());
  const sections = order.of(views);
  const seen = useScrolled(box, rowHeight);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new selection scrolls, never a new order.
  useEffect(() => {
    const top = selected === null ? null : topOf(sections, rowHeight, selected);
    if (!box || top === null) return;
    const { scrollTop, clientHeight } = box;
    const [begin, end] = [grown(top), grown(top + rowHeight)];
    if (begin < scrollTop) box.scrollTop = begin;
    else if (end > scrollTop + clientHeight) box.scrollTop = end - clientHeight;
  }, [selected, box]);

  const byKey = useRef(onSelectByKey);
  byKey.current = onSelectByKey;
  const onPress = useCallback<Press>(
    (task, event) => (event.detail === 0 ? byKey.current(task) : onSelect(task)),
    [onSelect],
  );
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

  if (views.length === 0) return <Empty title="No task fits this filter.">Clear the filter to see all of them.</Empty>;
  return (
    <div className="tasklist" ref={setBox} {...handlers}>
      <div role="list" aria-label="Tasks" style={{ height: rem(heightOf(sections, rowHeight)), position: "relative" }}>
        {linesIn(sections, rowHeight, seen).map((line) =>
          line.view ? (
            <div key={line.view.id} role="listitem" style={placeOf(line.top, rowHeight)}>
              <TaskRow
                view={line.view}
                selected={line.view.id === selected}
                fraction={progress.get(line.view.id)?.fraction ?? -1}
                onPress={onPress}
                onMenu={onRowMenu}
              />
            </div>
          ) : (
            <div key={`head ${line.title}`} role="listitem" className="section" style={placeOf(line.top, HEAD_PX)}>
              <h2>
                {line.title} <span>{line.count}</span>
              </h2>
            </div>
          ),
        )}
      </div>
    </div>
  );
}

const placeOf = (top: number, height: number) => ({ height: rem(height), transform: `translateY(${rem(top)})` });

type Press = (task: string, event: MouseEvent) => void;

interface TaskRowProps {
  view: TaskView;
  selected: boolean;
  fraction: number;
  onPress: Press;
  onMenu: OpenMenu;
}

const TaskRow = memo(function TaskRow({ view, selected, fraction, onPress, onMenu }: TaskRowProps) {
  const { shown } = view;
  const moving = fraction >= 0 && (shown.glyph === "turning_arc" || shown.glyph === "broken_arc");
  return (
    <button
      type="button"
      data-task={view.id}
      className={`taskrow tone-${shown.tone} ${selected ? "selected" : ""}`}
      aria-current={selected ? "true" : undefined}
      onClick={(event) => onPress(view.id, event)}
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
      <span className="at small dim cut">
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

/** Before the list has been laid out once. */
const FIRST_PX = 900;

/** Draws again when another row begins the view; `row` is the height of one. */
function useScrolled(element: HTMLElement | null, row: number): Seen {
  const [seen, setSeen] = useState<Seen>({ top: 0, height: FIRST_PX });
  useEffect(() => {
    if (!element) return;
    const look = ({ top, height }: Partial<Seen>) =>
      setSeen((held) => {
        const now = { top: top ?? held.top, height: height ?? held.height };
        return now.top === held.top && now.height === held.height ? held : now;
      });
    const onScroll = () => look({ top: Math.floor(element.scrollTop / grown(row)) * row });
    element.addEventListener("scroll", onScroll, { passive: true });
    const watch =
      typeof ResizeObserver === "function"
        ? new ResizeObserver(([entry]) => entry && look({ height: Math.ceil(entry.contentRect.height / grown(1)) }))
        : null;
    watch?.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      watch?.disconnect();
    };
  }, [element, row]);
  return seen;
}
