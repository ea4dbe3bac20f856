/** The recipes to choose from, and the parameters of the one that is chosen. */
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { paramsInOrder } from "../../model/plan/asked.ts";
import { Slots } from "./preview/Slots.tsx";

export function RecipeChoice(props: {
  chosen: { name: string; params: Record<string, unknown> } | null;
  onChoose: (name: string, params: Record<string, unknown>) => void;
}) {
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const row = recipes.value?.items.find((one) => one.name === props.chosen?.name);
  const defaults = Object.fromEntries(
    paramsInOrder(row).map(([name, param]) => [name, props.chosen?.params[name] ?? param.default ?? ""]),
  );
  return (
    <section className="card">
      <header>
        <h2>Recipe</h2>
      </header>
      <div className="choices">
        {recipes.value?.items.map((one) => (
          <button
            key={one.name}
            type="button"
            className="choice"
            aria-pressed={one.name === row?.name}
            onClick={() => props.onChoose(one.name, {})}
          >
            <b className="strong">{one.title || one.name}</b>
            <span className="small dim">{one.name}</span>
          </button>
        ))}
      </div>
      {row && Object.keys(defaults).length > 0 && (
        <div className="under flat">
          <Slots
            params={defaults}
            types={row.params}
            onChange={(params) => props.onChoose(row.name, dropEmpty(params))}
          />
        </div>
      )}
    </section>
  );
}

const dropEmpty = (params: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== "" && value !== undefined));
