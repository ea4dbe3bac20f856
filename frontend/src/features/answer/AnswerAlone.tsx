/** The answer alone, or one part of it, under an address that can be passed on to whoever may see the hub. */

import { Link } from "wouter";
import { MissingConstellation } from "../../app/shell/Missing.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { useFleet, useStream } from "../../app/workspace/context.ts";
import { usePrinting } from "../../app/workspace/printing.ts";
import { partsOf } from "../../model/answer/parts.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import { allViews, answer, head, specs } from "../../model/tasks/selectors.ts";
import { Boundary } from "../../ui/Boundary.tsx";
import { Empty } from "../../ui/parts.tsx";
import { PartSave, PartView } from "./Answer.tsx";
import { AnswerBand } from "./AnswerBand.tsx";
import { PrintedFacts } from "./PrintedFacts.tsx";

/** So many parts stand below each other; more of them would be a page that nobody reads. */
const PARTS_MAX = 20;

/** The names of the devices that its tasks were on. */
const devicesOf = (model: StreamModel, fleet: StreamModel): string[] =>
  [...new Set(allViews(model, fleet).map((view) => view.deviceName))].filter(Boolean).sort();

export function AnswerPage({ id, part: wanted }: { id: string; part: string | null }) {
  const model = useStream(id);
  const fleet = useFleet();
  const printing = usePrinting();
  const constellation = head(model);
  if (!constellation) return <MissingConstellation id={id} />;
  const parts = partsOf(answer(model), specs(model));
  const shown = wanted === null ? parts : parts.filter((part) => part.key === wanted);
  const path = `/constellations/${encodeURIComponent(id)}`;
  return (
    <Shell
      title={wanted === null || !shown[0] ? "Answer" : shown[0].title}
      crumb={{ path, label: constellation.name || constellation.request || id }}
    >
      <div className="page alone">
        {printing && <PrintedFacts of={constellation} devices={devicesOf(model, fleet)} />}
        {wanted === null && (
          <AnswerBand
            of={constellation}
            sentence={answer(model)?.sentence ?? ""}
            answer={answer(model)}
            label={null}
            fleet={fleet}
          />
        )}
        {shown.slice(0, PARTS_MAX).map((part) => (
          <section key={part.key} className="card" aria-label={part.title}>
            <header>
              <h2 className="cut">{part.title}</h2>
              <span className="end">
                <PartSave part={part} />
              </span>
            </header>
            <div className="part">
              <Boundary part="This part of the answer" of={part.key}>
                <PartView part={part} />
              </Boundary>
            </div>
          </section>
        ))}
        {shown.length > PARTS_MAX && (
          <p className="dim">
            The first {PARTS_MAX} of {shown.length} parts.
          </p>
        )}
        {shown.length === 0 && (
          <Empty title={wanted === null ? "The answer has no parts yet." : "The answer has no such part."}>
            <Link className="link" href={path}>
              Open the constellation
            </Link>
          </Empty>
        )}
      </div>
    </Shell>
  );
}
