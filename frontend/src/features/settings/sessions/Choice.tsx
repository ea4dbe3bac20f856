/** What an invited person may do: a preset, each right in words, and recipes by name. */
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { Labelled, ProblemNote } from "../../../ui/parts.tsx";
import { ALWAYS, mayGive, OFFERED, OWN, PRESETS, RECIPE, SOME_RECIPES } from "./allowed.ts";

interface ChoiceProps {
  preset: string;
  chosen: readonly string[];
  /** The scopes of this sign-in; all of its role without any. */
  held: readonly string[];
  onPreset: (preset: string) => void;
  onToggle: (scope: string, on: boolean) => void;
}

export function Choice({ preset, chosen, held, onPreset, onToggle }: ChoiceProps) {
  return (
    <>
      <Labelled label="They may">
        {(id) => (
          <select id={id} value={preset} onChange={(event) => onPreset(event.target.value)}>
            {PRESETS.map((one) => (
              <option key={one.id} value={one.id}>
                {one.words}
              </option>
            ))}
            {preset === OWN && <option value={OWN}>A choice of your own</option>}
          </select>
        )}
      </Labelled>
      <fieldset className="choices">
        <legend className="small dim">In particular</legend>
        {OFFERED.map(({ scope, words }) => {
          const given = mayGive(held, scope);
          const fixed = scope === ALWAYS || (preset === SOME_RECIPES && scope === "run");
          return (
            <label key={scope} className="row">
              <input
                type="checkbox"
                disabled={fixed || !given}
                checked={chosen.includes(scope)}
                onChange={(event) => onToggle(scope, event.target.checked)}
              />
              <span>
                {words}
                {!given && <span className="dim"> (your own sign-in does not have this)</span>}
              </span>
            </label>
          );
        })}
      </fieldset>
      {preset === SOME_RECIPES && <Recipes chosen={chosen} held={held} onToggle={onToggle} />}
    </>
  );
}

function Recipes({ chosen, held, onToggle }: Pick<ChoiceProps, "chosen" | "held" | "onToggle">) {
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const offered = (recipes.value?.items ?? []).filter(({ name }) => mayGive(held, RECIPE + name));
  return (
    <fieldset className="choices">
      <legend className="small dim">Recipes that they may start, and stop again</legend>
      {recipes.problem && <ProblemNote problem={recipes.problem} />}
      {offered.map(({ name, title }) => (
        <label key={name} className="row">
          <input
            type="checkbox"
            checked={chosen.includes(RECIPE + name)}
            onChange={(event) => onToggle(RECIPE + name, event.target.checked)}
          />
          <span>
            {title} <span className="ref dim">{name}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
