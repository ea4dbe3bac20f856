/** On Home and in the inbox: recipes that the hub took back a version, until this person has read why. Live. */
import { Link } from "wouter";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import type { RecipeRuns, RecipeVersion } from "../../model/types.ts";
import { age } from "../../model/words/words.ts";
import { WentBack } from "./Trust.tsx";

export function RecipeNotices() {
  const fleet = useFleet();
  const now = useNow(10_000);
  const reader = `person:${useWorkspace().session?.principal.name}`;
  const versions = fleet.kind<RecipeVersion>("recipe");
  const told = [...fleet.kind<RecipeRuns>("recipe_runs").values()].flatMap((runs) => {
    const version = runs.told && !runs.seen?.includes(reader) ? versions.get(`${runs.name}/${runs.told}`) : undefined;
    return version ? [version] : [];
  });
  if (told.length === 0) return null;
  return (
    <section className="card" aria-label="From your recipes">
      <header>
        <h2>From your recipes</h2>
        <span className="dim">{told.length}</span>
      </header>
      {told.map((version) => (
        <div key={version.name} className="under flat">
          <span className="row">
            <Link className="link strong cut" href={`/recipes/${version.name}`}>
              {version.title}
            </Link>
            <span className="small dim nowrap">{age(version.at_ms, now)}</span>
          </span>
          <WentBack
            name={version.name}
            back={{ because: version.because ?? "", from: version.back_from ?? 0, unread: true }}
          />
        </div>
      ))}
    </section>
  );
}
