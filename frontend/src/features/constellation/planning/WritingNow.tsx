/** A model reviews the plan or writes the answer: a line, and the words as they come. The final text replaces it. */
import { useNow } from "../../../app/workspace/context.ts";
import { writingNow } from "../../../model/plan/thinking.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { duration } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";

const TICK_MS = 500;

export function WritingNow({ model }: { model: StreamModel }) {
  const now = useNow(TICK_MS);
  const writing = writingNow(model, now);
  if (!writing) return null;
  return (
    <section className="writing" aria-label="What the model writes">
      <p className="row tight">
        <Glyph name="turning_arc" tone="blue" />
        {/* Counts change four times a second: only another line is announced. */}
        <b role="status">{writing.line}</b>
        <span className="dim small num">{[writing.size, duration(writing.ms)].filter(Boolean).join(", ")}</span>
      </p>
      {writing.words && (
        <blockquote>
          {writing.words} <span className="dim small">Not checked yet.</span>
        </blockquote>
      )}
    </section>
  );
}
