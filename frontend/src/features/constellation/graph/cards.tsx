/** The cards of the drawing: one task, a run of tasks, what left the plan. Sizes are fixed; states never move them. */
import { memo, useSyncExternalStore } from "react";
import { useNow, useTask } from "../../../app/workspace/context.ts";
import type { Block } from "../../../model/layout/blocks.ts";
import { elapsedMs, type TaskView } from "../../../model/tasks/selectors.ts";
import { duration } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { useScene } from "./context.ts";

export function Elapsed({ view }: { view: TaskView }) {
  const running = view.shown.glyph === "turning_arc" || view.shown.glyph === "broken_arc";
  const now = useNow(running ? 500 : 0);
  const ms = elapsedMs(view, now);
  return <>{ms === null ? "" : duration(ms)}</>;
}

interface TaskCardProps {
  view: TaskView;
  selected: boolean;
  badge: "added" | "changed" | null;
  fraction: number;
  onSelect: (task: string) => void;
}

/** One task: glyph, name, time; device, state's word and what it is about. */
const TaskCard = memo(function TaskCard({ view, selected, badge, fraction, onSelect }: TaskCardProps) {
  const { shown } = view;
  const note =
    view.label && view.name === view.id && shown.tone === "teal" ? `${shown.word}, ${view.label}` : shown.word;
  const showsPart = fraction >= 0 && (shown.glyph === "turning_arc" || shown.glyph === "broken_arc");
  return (
    <button
      type="button"
      tabIndex={-1}
      data-task={view.id}
      className={`node g-${shown.glyph} tone-${shown.tone} ${selected ? "selected" : ""} ${badge ?? ""}`}
      title={[view.name, view.label, shown.word, view.deviceName].filter(Boolean).join(", ")}
      onClick={() => onSelect(view.id)}
    >
      <Glyph name={shown.glyph} />
      <span className="name cut">{view.name}</span>
      <span className="time">{showsPart ? `${Math.round(fraction / 10)} %` : <Elapsed view={view} />}</span>
      <span className="what">
        {view.deviceTag && <span className="tag">{view.deviceTag}</span>}
        <span className="word cut">{note}</span>
      </span>
      {showsPart && (
        <span className={`part ${shown.stuck ? "stuck" : ""}`}>
          <i style={{ width: `${fraction / 10}%` }} />
        </span>
      )}
      {badge && <span className={`mark ${badge}`}>{badge === "added" ? "+" : "~"}</span>}
    </button>
  );
});

export function LiveCard({ id }: { id: string }) {
  const { model, fleet, selected, overlay, onSelect } = useScene();
  const view = useTask(model, fleet, id);
  const progress = useSyncExternalStore(model.subscribe, () => model.progress.get(id));
  if (!view) return <GhostCard id={id} />;
  return (
    <TaskCard
      view={view}
      selected={selected === id}
      badge={overlay.added.has(id) ? "added" : overlay.changed.has(id) ? "changed" : null}
      fraction={progress && progress.attempt === (view.record?.attempt ?? 0) ? progress.fraction : -1}
      onSelect={onSelect}
    />
  );
}

export function GhostCard({ id, note }: { id: string; note?: string }) {
  const { overlay } = useScene();
  const version = overlay.removed.get(id);
  return (
    <div className="node ghost tone-grey">
      <Glyph name="drop" tone="grey" />
      <span className="name cut">{id}</span>
      <span className="time" />
      <span className="what">
        <span className="cut">{note ?? (version ? `Dropped in v${version}` : "Not in the plan")}</span>
      </span>
    </div>
  );
}

export function SingleBlock({ block }: { block: Block }) {
  const id = block.tasks[0] ?? block.id;
  return block.kind === "ghost" ? <GhostCard id={id} /> : <LiveCard id={id} />;
}

export function ChainBlock({ block }: { block: Block }) {
  return (
    <div className="chain">
      {block.tasks.map((id) => (
        <LiveCard key={id} id={id} />
      ))}
    </div>
  );
}
