/** The picture of a recipe: its tasks as small boxes in the colour of their device. Drawn from its plan, never by hand. */
import type { RecipeShape } from "../../model/types.ts";
import { plural } from "../../model/words/words.ts";

const STEP_X = 30;
const STEP_Y = 16;
const BOX_W = 18;
const BOX_H = 10;
const BEHIND = 2.5;
const TONES = ["blue", "teal", "violet", "amber"];

type Task = RecipeShape["tasks"][number];

export function RecipePicture({ shape }: { shape: RecipeShape }) {
  if (shape.tasks.length === 0) return <div className="picture" />;
  const width = shape.columns * STEP_X;
  const height = shape.rows * STEP_Y;
  const tall = new Map<number, number>();
  for (const task of shape.tasks) tall.set(task.column, (tall.get(task.column) ?? 0) + 1);
  // A column stands in the middle of the tallest one.
  const at = (task: Task) => ({
    x: task.column * STEP_X + (STEP_X - BOX_W) / 2,
    y: task.row * STEP_Y + (STEP_Y - BOX_H) / 2 + ((shape.rows - (tall.get(task.column) ?? 0)) * STEP_Y) / 2,
  });
  const slots = [...new Set(shape.tasks.map((task) => task.on).filter((on) => on !== null))];
  const looks = [
    ...slots.map((on, index) => ({ tone: TONES[index % TONES.length], of: shape.tasks.filter((t) => t.on === on) })),
    { tone: "grey", of: shape.tasks.filter((task) => task.on === null) },
  ].filter((look) => look.of.length > 0);
  const lines = shape.links.map(([from, to]) => {
    const first = shape.tasks[from];
    const second = shape.tasks[to];
    if (!first || !second) return "";
    const a = at(first);
    const b = at(second);
    const start = a.x + BOX_W;
    const bend = (start + b.x) / 2;
    const [one, other] = [a.y + BOX_H / 2, b.y + BOX_H / 2];
    return `M${start} ${one}C${bend} ${one} ${bend} ${other} ${b.x} ${other}`;
  });
  const box = (task: Task, off: number) => {
    const { x, y } = at(task);
    return `M${x + off} ${y - off}h${BOX_W}v${BOX_H}h${-BOX_W}z`;
  };
  const many = shape.tasks.filter((task) => task.many).length;
  const said = [
    `${plural(shape.tasks.length, "task")} in ${plural(shape.columns, "step")}`,
    slots.length ? `on ${plural(slots.length, "place")}` : "on any device",
    ...(many ? [`${many} of them once for each item or device`] : []),
  ].join(", ");
  return (
    <div className="picture">
      <svg viewBox={`-4 -4 ${width + 8} ${height + 8}`} role="img" aria-label={said}>
        <path className="lines" d={lines.join("")} />
        {looks.map((look) => (
          <g key={look.tone} className={`tone-${look.tone}`}>
            <path
              className="behind"
              d={look.of
                .filter((task) => task.many)
                .map((task) => box(task, BEHIND))
                .join("")}
            />
            <path d={look.of.map((task) => box(task, 0)).join("")} />
          </g>
        ))}
      </svg>
    </div>
  );
}
