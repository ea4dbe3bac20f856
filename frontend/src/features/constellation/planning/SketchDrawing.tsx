/**
 * The plan as far as a model has written it: ghost cards where the running plan will have its own. Nothing here can be
 * pressed: a sketch has no tasks yet, only their picture.
 */
import { useMemo } from "react";
import { type Block, NODE_HEIGHT } from "../../../model/layout/blocks.ts";
import { layout, layoutDown, pathOf } from "../../../model/layout/layout.ts";
import type { Sketch, SketchTask } from "../../../model/types.ts";
import { plural } from "../../../model/words/words.ts";
import { drawingSize, rem } from "../../../styles/textSize.ts";
import { Glyph } from "../../../ui/Glyph.tsx";

/** As wide as the widest card of the running plan, since tool and device stand in it. */
const WIDE = 208;
const ROOM = 16;

export function SketchDrawing({ sketch, down }: { sketch: Sketch; down: boolean }) {
  const tasks = sketch.tasks ?? [];
  const { placed, links } = useMemo(() => drawn(tasks, down), [tasks, down]);
  const left = sketch.left_out ?? 0;
  if (tasks.length === 0) return null;
  const size = drawingSize(placed.width + 2 * ROOM, placed.height + 2 * ROOM);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide drawing scrolls, and must do so by keyboard too.
    <section className="sketch" tabIndex={0} aria-label="Plan so far">
      {/* biome-ignore lint/a11y/noRedundantRoles: a list without bullets is none for one screen reader. */}
      <ol role="list" style={size.style}>
        {tasks.map((task) => {
          const at = placed.at.get(task.id) ?? { x: 0, y: 0 };
          return (
            <li
              key={task.id}
              className="sketched"
              style={{ left: rem(at.x + ROOM), top: rem(at.y + ROOM), width: rem(WIDE), height: rem(NODE_HEIGHT) }}
            >
              <Glyph name="dotted_ring" tone="grey" />
              <span className="name cut">{task.id}</span>
              <span className="what">
                <span className="cut">{underName(task)}</span>
                {task.after?.length ? <span className="sr">, after {task.after.join(", ")}</span> : null}
              </span>
            </li>
          );
        })}
      </ol>
      <svg {...size} aria-hidden="true">
        <g transform={`translate(${ROOM} ${ROOM})`}>
          {placed.routes.map((points, at) => (
            <path key={`${links[at]?.from}>${links[at]?.to}`} d={pathOf(points)} />
          ))}
        </g>
      </svg>
      {left > 0 && <p className="small dim">and {plural(left, "more task")} that are not drawn.</p>}
    </section>
  );
}

/** `fs.find on attic`, or a person. */
function underName(task: SketchTask): string {
  const what = task.person ? "a person" : (task.tool ?? "");
  const where = task.device ? `${what ? `${what} on ` : ""}${task.device}` : what;
  return `${where}${task.each ? ", for each item" : ""}`;
}

function drawn(tasks: readonly SketchTask[], down: boolean) {
  const ids = new Set(tasks.map((task) => task.id));
  const blocks: Block[] = tasks.map((task) => ({
    id: task.id,
    kind: "single",
    tasks: [task.id],
    family: null,
    folded: false,
    width: WIDE,
    height: NODE_HEIGHT,
  }));
  const links = tasks.flatMap((task) =>
    (task.after ?? []).filter((from) => ids.has(from) && from !== task.id).map((from) => ({ from, to: task.id })),
  );
  const drawing = { blocks, links, place: new Map(tasks.map((task) => [task.id, task.id])) };
  return { links, placed: down ? layoutDown(drawing) : layout(drawing) };
}
