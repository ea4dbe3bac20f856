/** Recipes: what can be asked for without a model - built-in ones and those saved here. Importing one runs nothing. */
import { lazy, Suspense, useState } from "react";
import { Link } from "wouter";
import { useWorkspace } from "../app/context.ts";
import { useResource } from "../app/resource.ts";
import { Shell } from "../app/Shell.tsx";
import type { RecipeRow } from "../link/endpoints.ts";
import { Icon } from "../ui/Icon.tsx";
import { Button, Empty, ProblemNote } from "../ui/parts.tsx";
import { SearchField } from "../ui/Search.tsx";

const ImportRecipe = lazy(() => import("../rows/ImportRecipe.tsx"));

export function RecipesPage() {
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const [importing, setImporting] = useState(false);
  const [typed, setTyped] = useState("");
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const items = (recipes.value?.items ?? []).filter((one) => {
    const text = `${one.name} ${one.title} ${(one.phrases ?? []).join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const own = items.filter((one) => one.built_in === false);
  const given = items.filter((one) => one.built_in !== false);
  return (
    <Shell title="Recipes">
      <div className="page recipes">
        <div className="row wrap">
          <SearchField label="Filter recipes" placeholder="Filter" value={typed} onChange={setTyped} />
          <span className="grow" />
          <Link className="btn" href="/schedules">
            <Icon name="clock" />
            Schedules
          </Link>
          <Button icon="down_to" onClick={() => setImporting(true)}>
            Import
          </Button>
          <Link className="btn primary" href="/new?way=build">
            <Icon name="plus" />
            Build one in rows
          </Link>
        </div>
        {recipes.problem && <ProblemNote problem={recipes.problem} />}
        {own.length > 0 && <RecipeCard title="Yours" items={own} />}
        {given.length > 0 && <RecipeCard title={own.length ? "Built in" : "All"} items={given} />}
        {recipes.value && items.length === 0 && (
          <section className="card">
            <Empty title={typed ? "No recipe has these words." : "This hub has no recipes."}>
              <p>
                Build what you want in rows and save it, or{" "}
                <button type="button" className="link" onClick={() => setImporting(true)}>
                  import one
                </button>
                .
              </p>
            </Empty>
          </section>
        )}
      </div>
      {importing && (
        <Suspense fallback={null}>
          <ImportRecipe
            onClose={() => {
              setImporting(false);
              recipes.reload();
            }}
          />
        </Suspense>
      )}
    </Shell>
  );
}

function RecipeCard({ title, items }: { title: string; items: readonly RecipeRow[] }) {
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span className="small dim">{items.length}</span>
      </header>
      {items.map((recipe) => (
        <Link key={recipe.name} className="item recipeline" href={`/recipes/${recipe.name}`}>
          <Icon name="recipe" />
          <span className="cut">
            <b className="strong">{recipe.title}</b> <span className="small dim mono">{recipe.name}</span>
          </span>
          <span className="row wrap facts">
            <RecipeFacts recipe={recipe} />
          </span>
          {recipe.phrases?.[0] && <span className="sub small">Say: {recipe.phrases[0]}</span>}
        </Link>
      ))}
    </section>
  );
}

export function RecipeFacts({ recipe }: { recipe: RecipeRow }) {
  const needs = [...new Set(Object.values(recipe.asks_for ?? {}).flat())];
  return (
    <>
      {recipe.clock && (
        <span className="chip" title="It asks for nothing at a run, so a schedule can run it with nobody there.">
          fit for a clock
        </span>
      )}
      {needs.map((grant) => (
        <span key={grant} className="chip" title="What a device's owner must have granted">
          needs {grant}
        </span>
      ))}
      {(recipe.effects ?? []).map((effect) => (
        <span key={effect} className="chip out">
          {effect}
        </span>
      ))}
      {recipe.built_in === false && <span className="chip out">version {recipe.version}</span>}
    </>
  );
}
