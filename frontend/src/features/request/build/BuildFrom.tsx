/** What the editor begins with: the draft of last time, a recipe, or the first plan of a constellation. Loaded on need. */
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { Problem } from "../../../link/rest.ts";
import { type Fields, valuesIn } from "../../../model/rows/document.ts";
import { planOfStream } from "../../../model/rows/live/entities.ts";
import { lastSeqOf, modelAt } from "../../../model/stream/history.ts";
import type { Head, StreamEvent } from "../../../model/types.ts";
import { ProblemNote } from "../../../ui/parts.tsx";
import { Build } from "./Build.tsx";

interface BuildFromProps {
  recipe: string | null;
  from: string | null;
  /** The values of the recipe's parameters for this run, as JSON. */
  values: string | null;
}

export default function BuildFrom({ recipe, from, values }: BuildFromProps) {
  const { hub } = useWorkspace();
  const key = recipe ? `recipe ${recipe}` : from ? `plan of ${from}` : null;
  const read = useResource<Fields>(key, async (signal) => {
    if (recipe) {
      const found = await hub.recipeKept(recipe, signal);
      // What is made of a built-in recipe is another one, and needs a name of its own.
      const document = found.document as Fields;
      return found.built_in ? { ...document, name: "", version: 1 } : document;
    }
    return firstPlan(from ?? "", await hub.events(from ?? "", 0, signal));
  });
  if (read.problem) return <ProblemNote problem={read.problem} />;
  if (!key) return <Build key="draft" place="draft" />;
  const place = `draft.${key}${values ? ` ${values}` : ""}`;
  return read.value ? (
    <Build key={place} place={place} document={read.value} values={valuesIn(values)} />
  ) : (
    <p className="dim">Reading {recipe ?? from}.</p>
  );
}

/** The plan that a constellation began with: nothing that rules, people or lists added to it. */
function firstPlan(id: string, log: StreamEvent[]): Fields {
  const seq = lastSeqOf(log, 1);
  const found = seq === null ? null : modelAt(id, log, seq);
  const head = found?.one<Head>("head");
  if (!found || !head) {
    throw new Problem(409, {
      code: "not_planned",
      reason: `${id} has no plan yet.`,
      hint: "Wait until it is planned, then try again.",
    });
  }
  return planOfStream(found, head);
}
