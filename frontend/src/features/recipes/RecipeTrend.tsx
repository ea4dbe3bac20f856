/** The last runs of a recipe, read when its page is. */

import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { ProblemNote } from "../../ui/parts.tsx";
import { LastRuns } from "./trend/LastRuns.tsx";

export function RecipeTrend({ name }: { name: string }) {
  const { hub } = useWorkspace();
  const read = useResource(`recipe runs ${name}`, (signal) => hub.recipeRuns(name, signal));
  if (read.problem) return <ProblemNote problem={read.problem} />;
  return read.value ? <LastRuns trend={read.value} /> : null;
}
