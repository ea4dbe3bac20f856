/**
 * New request: words become a preview as one types; what was understood can be changed; a plan is built in rows.
 * Launch sends the hash of what was shown, so that nothing else can run.
 */

import { useEffect, useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { Shell } from "../../app/shell/Shell.tsx";
import { useFleet, useWorkspace } from "../../app/workspace/context.ts";
import { useKept } from "../../app/workspace/drafts.ts";
import { lazily } from "../../app/workspace/lazily.tsx";
import { type Resource, useResource } from "../../app/workspace/resource.ts";
import type { Submission } from "../../link/endpoints.ts";
import type { Runs } from "../../link/schedules.ts";
import { paramsInOrder } from "../../model/plan/asked.ts";
import type { Priority, RecipeCandidate, RequestPreview, Sharing, Understood } from "../../model/types.ts";
import { AWAY } from "../../ui/away.tsx";
import { Button, ProblemNote, Tabs } from "../../ui/parts.tsx";
import { AskedBack, AskedLately } from "./EarlierRequests.tsx";
import { Meanings } from "./Meanings.tsx";
import { PrioritySelect } from "./PriorityChoice.tsx";
import { useLaunch } from "./preview/launch.ts";
import { Facts, GrantLines, grantsOf, PreviewCard } from "./preview/PreviewCard.tsx";
import { usePreview } from "./preview/preview.ts";
import { labelsOf } from "./preview/Slots.tsx";
import { WhatIfCard } from "./preview/WhatIfCard.tsx";
import { RecipeChoice } from "./RecipeChoice.tsx";
import { type Rhythm, RhythmNote } from "./Rhythm.tsx";
import { ModelFault, UnderstoodLine } from "./Understood.tsx";

type Way = "describe" | "build" | "recipe";
const BuildFrom = lazily(
  "The editor of plans",
  () => import("./build/BuildFrom.tsx"),
  (module) => module.default,
);
const PromptCard = lazily(
  "The text for the model",
  () => import("./PromptCard.tsx"),
  (module) => module.default,
);
const Assistant = lazily(
  "The choice of an assistant",
  () => import("./Assistant.tsx"),
  (module) => module.Assistant,
);

/** As many characters as the hub takes of the words of a request. */
const WORDS_MOST = 4000;

/** The address at which a recipe stands in rows, with the values that were understood. */
function inRows({ name, params }: { name: string; params: unknown }): string {
  return `/new?${new URLSearchParams({ way: "build", recipe: name, values: JSON.stringify(params ?? {}) })}`;
}

type Previewed = Resource<RequestPreview>;

const isAway = ({ problem }: Previewed): boolean => problem?.code === "hub_unreachable";
const isUnread = ({ problem }: Previewed): boolean =>
  problem?.code === "hub_unreachable" || (problem?.status ?? 0) >= 500;

/** Why what was asked cannot be launched now; null where it can. */
function whyNotYet(preview: Previewed, settled: boolean): string | null {
  if (settled && isAway(preview)) return AWAY;
  if (settled && isUnread(preview))
    return "The hub could not make the preview; nothing is said about the request itself.";
  if (!settled || preview.loading) return "The preview is being made.";
  const shown = preview.value;
  if (!shown || preview.problem) return "It cannot run as it is; the reason stands above.";
  const { understood } = shown;
  if (!understood || understood.outcome === "exact" || understood.by_model) return shown.may_not || null;
  if (understood.candidates.length > 0) return "Choose what is meant first.";
  if (understood.places?.length) return "Nothing needs to run: the answer is here.";
  return "No recipe fits these words: say it another way, or make a plan by hand in Build.";
}

/** The recipe that words with a rhythm mean, where it is the only one and lacks nothing: there is nothing to choose. */
function onlyMeaning(understood: Understood | undefined): Runs | null {
  const [one, other] = understood?.candidates ?? [];
  if (!one || other || one.missing?.length || one.unused?.length) return null;
  return { recipe: one.recipe, params: one.params ?? {} };
}

export function NewPage() {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const [, go] = useLocation();
  const search = new URLSearchParams(useSearch());
  const building = search.get("way") === "build";
  const [way, setWay] = useState<Way>(building ? "build" : search.get("recipe") ? "recipe" : "describe");
  const said = search.get("q");
  const kept = useKept<{ words: string }>("words");
  const [words, setWords] = useState(said ?? kept.found?.words ?? "");
  const [recipe, setRecipe] = useState<{ name: string; params: Record<string, unknown> } | null>(
    search.get("recipe") && !building ? { name: search.get("recipe") ?? "", params: {} } : null,
  );
  // The address changes on this page as well: by *Change it in rows*, and by going back from there.
  useEffect(() => setWay((now) => (building ? "build" : now === "build" ? "describe" : now)), [building]);
  // What is meant is chosen from the words' own candidates, so their rhythm stays until other words are said.
  const [chosenRhythm, setChosenRhythm] = useState<Rhythm | null>(null);
  const [priority, setPriority] = useState<Priority | null>(null);
  const [sharing, setSharing] = useState<Sharing | null>(null);

  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const row = recipes.value?.items.find((one) => one.name === recipe?.name);
  const labels = labelsOf(Object.keys(row?.params ?? {}), row?.params ?? {});
  const open = paramsInOrder(row).filter(([name, param]) => !param.optional && !(name in (recipe?.params ?? {})));
  const lacks = recipe && way === "recipe" ? open.map(([name]) => labels[name]).join(", ") : "";

  const asked = useMemo<Submission | null>(() => {
    if (lacks) return null;
    if (recipe) return { recipe: recipe.name, params: recipe.params };
    if (way === "build") return null;
    return words.trim() ? { request: words.trim() } : null;
  }, [recipe, way, words, lacks]);
  const { preview, stamp, settled } = usePreview(asked);
  const shown = preview.value;
  const understood = shown?.understood;
  const exact = understood?.candidates[0];
  const rhythm = understood?.rhythm ?? chosenRhythm;
  const grants = shown ? grantsOf(shown) : [];
  const forModel = Boolean(understood?.by_model) && understood?.outcome !== "exact";

  // Without the hub's reading of the words, or after a fault of the hub, the page says nothing about their meaning.
  const unreachable = settled && isAway(preview);
  const unread = settled && isUnread(preview);

  const blocked = !asked
    ? lacks
      ? `Fill in ${lacks} first.`
      : "Say what should happen."
    : whyNotYet(preview, settled);

  const sent = () => way === "describe" && kept.keep(null);
  const { launch, launching, refused } = useLaunch({
    asked: blocked ? null : asked,
    shown,
    stamp,
    priority,
    sharing: forModel ? sharing : null,
    onLaunched: sent,
  });

  const adopt = (candidate: RecipeCandidate, params: Record<string, unknown>) => {
    setRecipe({ name: candidate.recipe, params });
    setChosenRhythm(rhythm);
  };
  const show = (text: string) => {
    setWords(text);
    setRecipe(null);
    setChosenRhythm(null);
  };
  const say = (text: string) => {
    show(text);
    kept.keep(text.trim() ? { words: text } : null);
    // The address says what a link said; a reload shows what was typed.
    if (said !== null) go("/new", { replace: true });
  };
  // A link says its words also while this page stands. What was typed before is kept apart from them.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the link that says them, once.
  useEffect(() => {
    if (said === null) return;
    kept.begin();
    setWay("describe");
    show(said);
  }, [said]);

  return (
    <Shell
      title="New request"
      // The editor listens for its own launch.
      keys={way === "build" ? [] : [{ keys: "Ctrl-Enter", does: "Launch", run: () => void launch(), always: true }]}
    >
      <div className="page new">
        <div className="row wrap">
          <h2 className="hero grow">What should happen?</h2>
          <Tabs<Way>
            look="seg"
            label="Way in"
            value={way}
            onChange={(next) => {
              setWay(next);
              setRecipe(null);
            }}
            choices={[
              { value: "describe", label: "Describe", icon: "edit" },
              { value: "build", label: "Build", icon: "list" },
              { value: "recipe", label: "Recipe", icon: "recipe" },
            ]}
          />
        </div>
        {way === "describe" && (
          <div className="asking-box">
            <textarea
              aria-label="What should happen?"
              placeholder="For example: how are my machines"
              maxLength={WORDS_MOST}
              rows={2}
              // biome-ignore lint/a11y/noAutofocus: this page is opened to type here.
              autoFocus
              value={words}
              onChange={(event) => say(event.target.value)}
            />
            {!unread && (
              <UnderstoodLine
                preview={shown}
                recipe={recipe}
                loading={Boolean(asked) && (!settled || preview.loading)}
                words={words}
                onWords={say}
                onParams={(params) => {
                  const name = recipe?.name ?? exact?.recipe;
                  if (name) setRecipe({ name, params });
                }}
              />
            )}
          </div>
        )}
        {way === "recipe" && <RecipeChoice chosen={recipe} onChoose={(name, params) => setRecipe({ name, params })} />}
        {way === "build" ? (
          <BuildFrom
            waiting={<p className="dim">Reading.</p>}
            recipe={building ? search.get("recipe") : null}
            from={building ? search.get("from") : null}
            values={building ? search.get("values") : null}
          />
        ) : (
          <>
            {preview.problem && asked && settled && <ProblemNote problem={preview.problem} />}
            {way === "describe" && rhythm && !unreachable && (
              <RhythmNote
                rhythm={rhythm}
                runs={
                  recipe ? (blocked ? null : { recipe: recipe.name, params: recipe.params }) : onlyMeaning(understood)
                }
                onScheduled={sent}
              />
            )}
            {!recipe && understood && understood.outcome !== "exact" && settled && !unreachable && (
              <Meanings
                outcome={understood.outcome}
                candidates={understood.candidates}
                examples={understood.examples ?? []}
                gap={understood.gap ?? ""}
                places={understood.places ?? []}
                onSay={say}
                onAdopt={adopt}
                onBuild={() => setWay("build")}
              />
            )}
            {!recipe && forModel && understood?.share && settled && !unreachable && (
              <PromptCard
                key={stamp}
                words={words.trim()}
                most={understood.share}
                sharing={sharing}
                onSharing={setSharing}
              />
            )}
            {!recipe && settled && !unreachable && <ModelFault fault={understood?.model_fault} />}
            {!recipe && understood && understood.outcome !== "exact" && settled && !unreachable && (
              <Assistant words={words.trim()} />
            )}
            <AskedBack />
            {way === "describe" && !asked && !unreachable && <AskedLately onWords={say} />}
            {shown && shown.tasks.length > 0 && <PreviewCard preview={shown} fleet={fleet} />}
            {shown && asked && shown.tasks.length > 0 && <WhatIfCard key={stamp} asked={asked} preview={shown} />}
            <GrantLines grants={grants} />
            {refused && <ProblemNote problem={refused} />}
            <div className="launch">
              {shown && shown.tasks.length > 0 ? (
                <Facts preview={shown} />
              ) : (
                <span className="dim">Nothing starts before you launch it.</span>
              )}
              <span className="launchacts">
                <PrioritySelect value={priority} none="As planned" onChange={setPriority} />
                {(recipe?.name ?? (understood?.outcome === "exact" && exact?.recipe)) && (
                  <Button
                    large
                    onClick={() => go(inRows(recipe ?? { name: exact?.recipe ?? "", params: exact?.params }))}
                  >
                    Change it in rows
                  </Button>
                )}
                <Button
                  asks="start"
                  large
                  kind="primary"
                  why={blocked}
                  aria-busy={launching || undefined}
                  onClick={() => void launch()}
                >
                  {grants.length > 0 ? "Launch, waits for the grant" : forModel ? "Have the model plan it" : "Launch"}{" "}
                  {!blocked && (
                    <kbd className="only-wide" aria-hidden="true">
                      Ctrl &#x21B5;
                    </kbd>
                  )}
                </Button>
              </span>
            </div>
            {blocked && (asked || lacks) && !unreachable && <p className="small dim num">{blocked}</p>}
          </>
        )}
      </div>
    </Shell>
  );
}
