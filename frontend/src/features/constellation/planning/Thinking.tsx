/** A model plans: what it does in lines, each with its time, and the plan as far as it is written. */
import { useNow } from "../../../app/workspace/context.ts";
import { sketchNow, sketchWords, type ThinkingLine, thinkingLines } from "../../../model/plan/thinking.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { Head } from "../../../model/types.ts";
import { duration } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { SketchDrawing } from "./SketchDrawing.tsx";

const TICK_MS = 500;
const GLYPHS = { done: ["tick", "teal"], now: ["turning_arc", "blue"], failed: ["cross", "vermilion"] } as const;

interface Props {
  model: StreamModel;
  fleet: StreamModel;
  head: Head;
  phone: boolean;
}

export function Thinking({ model, fleet, head, phone }: Props) {
  const now = useNow(TICK_MS);
  const sketch = sketchNow(model, now);
  const lines = thinkingLines(model, fleet, now);
  const phase = sketch ? sketchWords({ ...sketch, tasks: [], looks: [], left_out: 0 }) : "";
  return (
    <div className="thinking">
      <p className="dim">{head.request}</p>
      {/* What is counted changes four times a second: only another phase is announced. */}
      <p className="sr" role="status">
        {phase}
      </p>
      <ol aria-label="What the planner does">
        {lines.map((line) => (
          <Line key={line.key} line={line} />
        ))}
      </ol>
      {sketch && sketch.kind !== "plan" && (sketch.answer || sketch.words) && (
        <blockquote className="small">{sketch.answer || sketch.words}</blockquote>
      )}
      {sketch && <SketchDrawing sketch={sketch} down={phone} />}
      {sketch && (sketch.tasks?.length ?? 0) > 0 && (
        <p className="small dim">
          A picture of what is being written. Nothing of it runs before it is whole and checked.
        </p>
      )}
    </div>
  );
}

function Line({ line }: { line: ThinkingLine }) {
  const [glyph, tone] = GLYPHS[line.mark];
  return (
    <li className={line.mark}>
      <Glyph name={glyph} tone={tone} />
      <span className="told">{line.text}</span>
      <span className="dim small num">
        {[line.size, line.ms === null ? "" : duration(line.ms)].filter(Boolean).join(", ")}
      </span>
    </li>
  );
}
