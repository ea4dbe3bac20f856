/** One recipe: the words for it, its values as a form with the preview, run, change, export, versions. */
import { useMemo, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { Missing } from "../../app/shell/Missing.tsx";
import { Shell } from "../../app/shell/Shell.tsx";
import { useFleet, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import type { Submission } from "../../link/endpoints.ts";
import { schedulesRunning } from "../../model/fleet/schedules.ts";
import { paramsInOrder } from "../../model/plan/asked.ts";
import { type Fields, valuesIn } from "../../model/rows/document.ts";
import type { Priority, RecipeVersionRow, RecipeWhole } from "../../model/types.ts";
import { msOf } from "../../model/words/times.ts";
import { author, plural } from "../../model/words/words.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Button, ProblemNote } from "../../ui/parts.tsx";
import { PrioritySelect } from "../request/PriorityChoice.tsx";
import { useLaunch } from "../request/preview/launch.ts";
import { Facts, GrantLines, grantsOf, PreviewCard } from "../request/preview/PreviewCard.tsx";
import { usePreview } from "../request/preview/preview.ts";
import { labelsOf, Slots } from "../request/preview/Slots.tsx";
import { RecipeFacts } from "./RecipeCard.tsx";
import { runsWords, TrustCard } from "./Trust.tsx";
import { LastRuns } from "./trend/LastRuns.tsx";

export function RecipePage({ name }: { name: string }) {
  const { hub } = useWorkspace();
  const search = new URLSearchParams(useSearch());
  const version = Number(search.get("version")) || undefined;
  const values = search.get("values");
  const read = useResource(`recipe ${name} ${version ?? ""}`, (signal) => hub.recipe(name, signal, version));
  return (
    <Shell title={read.value?.title ?? name} crumb={{ path: "/recipes", label: "Recipes" }}>
      <div className="page new">
        {read.problem?.code === "unknown_recipe" && version === undefined ? (
          <Missing
            title={`The hub knows no recipe ${name}.`}
            why="It may have been removed, or the address is cut."
            all={{ path: "/recipes", words: "all recipes" }}
          />
        ) : (
          read.problem && <ProblemNote problem={read.problem} />
        )}
        {read.value && (
          <Shown
            key={`${name} ${version ?? ""} ${values}`}
            recipe={read.value}
            values={valuesIn(values)}
            old={version !== undefined}
            onChanged={read.reload}
          />
        )}
      </div>
    </Shell>
  );
}

interface ShownProps {
  recipe: RecipeWhole;
  /** The values that its form begins with. */
  values: Fields;
  old: boolean;
  onChanged: () => void;
}

function Shown({ recipe, values, old, onChanged }: ShownProps) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const fleet = useFleet();
  const [, go] = useLocation();
  const [given, setGiven] = useState<Record<string, unknown>>(() =>
    // A later version may have lost a value that an earlier run was given.
    Object.fromEntries(Object.entries(values).filter(([name]) => name in (recipe.params ?? {}))),
  );
  const [removing, setRemoving] = useState(false);
  const params = useMemo(
    () => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "" && value !== undefined)),
    [given],
  );
  const missing = paramsInOrder(recipe).filter(([key, param]) => !param.optional && !(key in params));
  const labels = labelsOf(Object.keys(recipe.params ?? {}), recipe.params ?? {});
  const asked: Submission = { recipe: recipe.name, params };
  const { preview, stamp, settled } = usePreview(missing.length || old ? null : asked);
  const shown = stamp && !preview.problem ? preview.value : null;
  const grants = shown ? grantsOf(shown) : [];
  const [priority, setPriority] = useState<Priority | null>(null);
  const { launch, launching, refused } = useLaunch({ asked, shown, stamp, priority });
  const blocked = old
    ? "This is an older version; the newest one runs."
    : missing.length
      ? `Fill in ${missing.map(([one]) => labels[one]).join(", ")} first.`
      : preview.problem
        ? "It cannot run as it is; the reason stands above."
        : !settled || !shown
          ? "The preview is being made."
          : null;
  const scheduled = removing ? schedulesRunning(fleet, recipe.name) : [];
  const remove = async () => {
    try {
      await hub.removeRecipe(recipe.name, scheduled.length > 0);
      say(`${recipe.name} is removed`);
      go("/recipes");
    } catch (error) {
      setRemoving(false);
      report(error);
    }
  };
  const types = Object.fromEntries(paramsInOrder(recipe));
  const empty = Object.fromEntries(
    paramsInOrder(recipe).map(([one, param]) => [one, given[one] ?? param.default ?? ""]),
  );
  return (
    <>
      <div className="row wrap">
        <span className="small dim mono">{recipe.name}</span>
        <RecipeFacts recipe={recipe} />
        <span className="grow" />
        <Button icon="edit" onClick={() => go(`/new?way=build&recipe=${recipe.name}`)}>
          {recipe.built_in === false ? "Change it in rows" : "Make your own from it"}
        </Button>
        <Button icon="clock" onClick={() => go(`/schedules?add=1&recipe=${recipe.name}`)}>
          Schedule it
        </Button>
        <Button icon="down_to" onClick={() => download(`${recipe.name}.yaml`, recipe.text)}>
          Export
        </Button>
        {recipe.built_in === false && (
          <Button asks="run" kind="bad" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )}
      </div>
      {Object.keys(types).length > 0 && (
        <section className="card" aria-label="Values">
          <header>
            <h2>Values for this run</h2>
          </header>
          <div className="under flat">
            <Slots params={empty} types={types} onChange={setGiven} />
          </div>
        </section>
      )}
      {preview.problem && stamp && <ProblemNote problem={preview.problem} />}
      {shown && shown.tasks.length > 0 && <PreviewCard preview={shown} fleet={fleet} />}
      <GrantLines grants={grants} />
      {refused && <ProblemNote problem={refused} />}
      <div className="launch">
        {shown ? <Facts preview={shown} /> : <span className="dim">{blocked}</span>}
        <span className="launchacts">
          <PrioritySelect value={priority} none="As planned" onChange={setPriority} />
          <Button
            asks="start"
            large
            kind="primary"
            why={blocked ?? (launching ? "It is being started." : null)}
            onClick={() => void launch()}
          >
            {grants.length ? "Run, waits for the grant" : "Run"}
          </Button>
        </span>
      </div>
      {(recipe.phrases ?? []).length > 0 && (
        <section className="card">
          <header>
            <h2>Words to type for it</h2>
          </header>
          <ul className="plainlist body">
            {recipe.phrases?.map((phrase) => (
              <li key={phrase}>{phrase}</li>
            ))}
          </ul>
        </section>
      )}
      {recipe.trust && !old && <TrustCard name={recipe.name} trust={recipe.trust} onDone={onChanged} />}
      {!old && <RecipeTrend name={recipe.name} />}
      {recipe.built_in === false && <Versions recipe={recipe} />}
      <details>
        <summary>As written</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must be able to. */}
        <pre className="value" tabIndex={0}>
          {recipe.text}
        </pre>
      </details>
      {removing && (
        <Modal label="Remove this recipe" className="asking" onClose={() => setRemoving(false)}>
          <p>
            Remove <b className="strong">{recipe.title}</b> with all its versions? What runs from it goes on.
          </p>
          {scheduled.length > 0 && (
            <p>
              {plural(scheduled.length, "schedule")} {scheduled.length === 1 ? "runs" : "run"} it:{" "}
              <b>{scheduled.join(", ")}</b>. Change {scheduled.length === 1 ? "it" : "them"} in{" "}
              <Link className="link" href="/schedules">
                Schedules
              </Link>
              , or every later firing fails.
            </p>
          )}
          <div className="row">
            <Button onClick={() => setRemoving(false)}>Keep it</Button>
            <Button kind="bad" onClick={() => void remove()}>
              {scheduled.length > 0 ? "Remove it anyway" : "Remove the recipe"}
            </Button>
          </div>
        </Modal>
      )}
    </>
  );
}

function Versions({ recipe }: { recipe: RecipeWhole }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [, go] = useLocation();
  const versions = useResource(`versions ${recipe.name} ${recipe.version}`, (signal) =>
    hub.recipeVersions(recipe.name, signal),
  );
  const items = versions.value?.items ?? [];
  const newest = items[0]?.version;
  const bringBack = async (row: RecipeVersionRow) => {
    try {
      const old = await hub.recipe(recipe.name, undefined, row.version);
      const made = await hub.saveRecipe(old.text, newest);
      say(`Version ${row.version} is back as version ${made.version}`);
      go(`/recipes/${recipe.name}`);
    } catch (error) {
      report(error);
    }
  };
  if (items.length < 2) return null;
  return (
    <section className="card" aria-label="Versions">
      <header>
        <h2>Versions</h2>
      </header>
      {items.map((row) => (
        <div key={row.version} className="item">
          <span className="num small">{row.version}</span>
          <span className="cut">
            <Link
              className="link"
              href={
                row.version === newest ? `/recipes/${recipe.name}` : `/recipes/${recipe.name}?version=${row.version}`
              }
            >
              {row.title}
            </Link>{" "}
            <span className="small dim">
              {author(row.author)}, {new Date(msOf(row.saved_at)).toLocaleString("en-GB")}
              {runsWords(row.runs) && `; ${runsWords(row.runs)}`}
            </span>
            {row.because && (
              <span className="small dim">
                Back from version {row.back_from}: {row.because}.
              </span>
            )}
          </span>
          {row.version === newest ? (
            <span className="small dim">runs</span>
          ) : (
            <Button asks="run" onClick={() => void bringBack(row)}>
              Bring it back
            </Button>
          )}
        </div>
      ))}
    </section>
  );
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The last runs of a recipe, read when its page is. */
function RecipeTrend({ name }: { name: string }) {
  const { hub } = useWorkspace();
  const read = useResource(`recipe runs ${name}`, (signal) => hub.recipeRuns(name, signal));
  if (read.problem) return <ProblemNote problem={read.problem} />;
  return read.value ? <LastRuns trend={read.value} /> : null;
}
