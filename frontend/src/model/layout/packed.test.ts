import { describe, expect, it } from "vitest";
import { photoBackup } from "../../../dev/scenario.ts";
import { whole } from "../stream/steps.ts";
import { StreamModel } from "../stream/stream.ts";
import { dependencies, specs } from "../tasks/selectors.ts";
import type { Dependency, TaskSpec } from "../types.ts";
import { type Drawing, drawing, drawingSteps } from "./blocks.ts";
import { layout } from "./layout.ts";
import { drawingOf, outlineOf, packed, placedSteps } from "./packed.ts";

function layered(size: number): Drawing {
  const tasks = Array.from({ length: size }, (_, at): TaskSpec => ({ changed_in: 1, id: `t${at}` }) as TaskSpec);
  const gates = tasks
    .slice(20)
    .flatMap((task, at) =>
      [at, (at * 7) % 20].map((source) => ({ source: `t${source}`, target: task.id }) as Dependency),
    );
  return drawing(new Map(tasks.map((task) => [task.id, task])), gates);
}

function sample(): Drawing {
  const model = new StreamModel("s");
  model.readSnapshot({ entities: {}, seq: 0 });
  model.readEvents(photoBackup("killed"));
  return drawing(specs(model), dependencies(model).values());
}

describe("a packed drawing", () => {
  it.each([
    ["with a family and runs", sample()],
    ["of many layers", layered(1500)],
    ["of nothing", layered(0)],
  ])("%s is placed as the drawing itself", (_, made) => {
    const outline = drawingOf(outlineOf(made));
    const steps = placedSteps(made, packed(outline, layout(outline)));
    expect(whole(steps)).toEqual(layout(made));
  });

  it("is read with pauses", () => {
    const made = layered(1500);
    const steps = placedSteps(made, packed(made, layout(made)));
    let pauses = 0;
    while (!steps.next().done) pauses += 1;
    expect(pauses).toBeGreaterThan(3);
  });
});

describe("a drawing that is made with pauses", () => {
  it("is the one of what was given, whatever happens in them", () => {
    const model = new StreamModel("s");
    model.readSnapshot({ entities: {}, seq: 0 });
    const ids = Array.from({ length: 2000 }, (_, at) => `t${at}`);
    const puts = Object.fromEntries(ids.map((id) => [`spec/${id}`, { id, changed_in: 1 }]));
    model.readEvents([{ at_ms: 1, by: "engine", kind: "k", puts, seq: 1, stream: "s" }]);
    const steps = drawingSteps([...specs(model).values()], [], new Map(), false, false);
    let pauses = 0;
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) {
        expect(step.value.blocks.map((block) => block.id)).toEqual(ids);
        break;
      }
      pauses += 1;
      const gone = { [`spec/t${1999 - pauses}`]: null };
      model.readEvents([{ at_ms: 1, by: "engine", kind: "k", puts: gone, seq: 1 + pauses, stream: "s" }]);
    }
    expect(pauses).toBeGreaterThan(3);
  });
});
