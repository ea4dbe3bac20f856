/** Recipes: a gallery by purpose, each with its picture and its sentence for this fleet. Importing one runs nothing. */
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { Shell } from "../../app/shell/Shell.tsx";
import { useFleet, useWorkspace } from "../../app/workspace/context.ts";
import { inDialog, lazily } from "../../app/workspace/lazily.tsx";
import { useResource } from "../../app/workspace/resource.ts";
import { devices } from "../../model/fleet/fleet.ts";
import { Icon } from "../../ui/Icon.tsx";
import { Button, Empty, ProblemNote } from "../../ui/parts.tsx";
import { Said } from "../../ui/Said.tsx";
import { SearchField } from "../../ui/Search.tsx";
import { hasWords, sections, untriedOf } from "./gallery.ts";
import { ProposalsRow } from "./Proposals.tsx";
import { RecipeCard } from "./RecipeCard.tsx";

const ImportRecipe = lazily(
  "The import of a recipe",
  () => import("./ImportRecipe.tsx"),
  (module) => module.default,
  inDialog,
);

export function RecipesPage() {
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const [importing, setImporting] = useState(false);
  const [typed, setTyped] = useState("");
  const fleet = useFleet();
  const views = [...devices(fleet).values()];
  // Sentences name devices: they are made again when one comes, goes, or offers something else.
  const stamp = views.map((view) => `${view.id} ${view.device.link} ${view.offer?.digest ?? ""}`).join();
  const { reload } = recipes;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp stands for the fleet.
  useEffect(reload, [stamp, reload]);
  const empty = fleet.ready && views.length === 0;
  const demo = views.filter((view) => view.device.demo);
  const demos = { all: demo.length, online: demo.filter((view) => view.device.link === "online").length };
  const items = (recipes.value?.items ?? []).filter((one) => hasWords(one, typed));
  const untried = untriedOf(items, demos);
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
        <ProposalsRow />
        {empty && (
          <p>
            No device has joined yet, and each recipe needs one.{" "}
            <Link className="link" href="/devices?add=1">
              Add a device
            </Link>{" "}
            or{" "}
            <Link className="link" href="/devices?add=1&way=phone">
              a phone
            </Link>
            .
          </p>
        )}
        {untried && (
          <p className="small dim">
            {untried.count === 1 ? "One recipe" : `${untried.count} recipes`} can be tried with the demo devices.{" "}
            <Said text={untried.why} />
          </p>
        )}
        {sections(items).map((section) => (
          <section key={section.key} aria-label={section.title}>
            <header className="row wrap sectionhead">
              <h2>{section.title}</h2>
              <span className="dim">{section.says}</span>
            </header>
            <div className="recipegrid">
              {section.items.map((recipe) => (
                <RecipeCard key={recipe.name} recipe={recipe} demos={demos} empty={empty} />
              ))}
            </div>
          </section>
        ))}
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
        <ImportRecipe
          onClose={() => {
            setImporting(false);
            recipes.reload();
          }}
        />
      )}
    </Shell>
  );
}
