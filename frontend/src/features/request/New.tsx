/**
 * New request: words become a preview as one types; what was understood can be changed; a plan is built in rows.
 * Launch sends the hash of what was shown, so that nothing else can run.
 */

import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { Shell } from "../../app/shell/Shell.tsx";
import { useNeeds } from "../../app/waiting/needs.ts";
import { useFleet, useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import type { Submission } from "../../link/endpoints.ts";
import { Problem } from "../../link/rest.ts";
import type { Priority, RecipeCandidate, RequestPreview } from "../../model/types.ts";
import { AWAY } from "../../ui/away.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button, Empty, ProblemNote, Tabs } from "../../ui/parts.tsx";
import { QuestionCard } from "../inbox/questions/Questions.tsx";
import { PrioritySelect } from "./PriorityChoice.tsx";
import { Facts, GrantLines, grantsOf, PreviewCard } from "./preview/PreviewCard.tsx";
import { usePreview } from "./preview/preview.ts";
import { Slots } from "./preview/Slots.tsx";
import { WhatIfCard } from "./preview/WhatIfCard.tsx";

type Way = "describe" | "build" | "recipe";
const BuildFrom = lazy(() => import("./build/BuildFrom.tsx"));
const Assistant = lazy(async () => ({ default: (await import("./Assistant.tsx")).Assistant }));
/** The Inbox has all of them. */
const ASKED_MOST = 3;

export function NewPage() {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const [, go] = useLocation();
  const search = new URLSearchParams(useSearch());
  const building = search.get("way") === "build";
  const [way, setWay] = useState<Way>(building ? "build" : search.get("recipe") ? "recipe" : "describe");
  const [words, setWords] = useState(search.get("q") ?? "");
  const [recipe, setRecipe] = useState<{ name: string; params: Record<string, unknown> } | null>(
    search.get("recipe") && !building ? { name: search.get("recipe") ?? "", params: {} } : null,
  );
  const [launching, setLaunching] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const [priority, setPriority] = useState<Priority | null>(null);
  const [key, setKey] = useState(() => crypto.randomUUID());

  const asked = useMemo<Submission | null>(() => {
    if (recipe) return { recipe: recipe.name, params: recipe.params };
    if (way === "build") return null;
    return words.trim() ? { request: words.trim() } : null;
  }, [recipe, way, words]);
  const { preview, stamp, settled } = usePreview(asked);
  const shown = preview.value;
  const understood = shown?.understood;
  const exact = understood?.candidates[0];
  const grants = shown ? grantsOf(shown) : [];
  const forModel = Boolean(understood?.by_model) && understood?.outcome !== "exact";

  // The hub has not read the words, so the page says nothing about their meaning.
  const unreachable = settled && preview.problem?.code === "hub_unreachable";

  const blocked = !asked
    ? "Say what should happen."
    : unreachable
      ? AWAY
      : !settled || preview.loading
        ? "The preview is being made."
        : !shown || preview.problem
          ? "It cannot run as it is; the faults say why."
          : understood && understood.outcome !== "exact" && !understood.by_model
            ? understood.candidates.length > 0
              ? "Choose what is meant first."
              : "No recipe fits these words: say it another way, or build it in rows."
            : null;

  const launch = async () => {
    if (blocked || launching || !asked) return;
    setLaunching(true);
    try {
      const made = await hub.submit(
        { ...asked, ...(shown?.plan_hash ? { plan_hash: shown.plan_hash } : {}), ...(priority ? { priority } : {}) },
        key,
      );
      go(`/constellations/${made.id}`);
    } catch (error) {
      if (error instanceof Problem) setRefused(error);
      else throw error;
    } finally {
      setLaunching(false);
    }
  };
  // Another request is another thing to create.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is asked is what makes a new key.
  useEffect(() => {
    setKey(crypto.randomUUID());
    setRefused(null);
  }, [stamp, priority]);

  const adopt = (candidate: RecipeCandidate, params: Record<string, unknown>) =>
    setRecipe({ name: candidate.recipe, params });
  const say = (text: string) => {
    setWords(text);
    setRecipe(null);
  };

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
              rows={2}
              // biome-ignore lint/a11y/noAutofocus: this page is opened to type here.
              autoFocus
              value={words}
              onChange={(event) => say(event.target.value)}
            />
            {!unreachable && (
              <UnderstoodLine
                preview={shown}
                recipe={recipe}
                loading={Boolean(asked) && (!settled || preview.loading)}
                words={words}
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
          <Suspense fallback={<p className="dim">Reading.</p>}>
            <BuildFrom recipe={building ? search.get("recipe") : null} from={building ? search.get("from") : null} />
          </Suspense>
        ) : (
          <>
            {preview.problem && asked && settled && <ProblemNote problem={preview.problem} />}
            {!recipe && understood && understood.outcome !== "exact" && settled && !unreachable && (
              <Meanings
                outcome={understood.outcome}
                candidates={understood.candidates}
                examples={understood.examples ?? []}
                onSay={say}
                onAdopt={adopt}
                onBuild={() => setWay("build")}
              />
            )}
            {!recipe && understood && understood.outcome !== "exact" && settled && !unreachable && (
              <Suspense>
                <Assistant words={words.trim()} />
              </Suspense>
            )}
            <AskedBack />
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
              <span className="grow" />
              <PrioritySelect value={priority} none="As planned" onChange={setPriority} />
              {(recipe?.name ?? (understood?.outcome === "exact" && exact?.recipe)) && (
                <Button large onClick={() => go(`/new?way=build&recipe=${recipe?.name ?? exact?.recipe}`)}>
                  Change it in rows
                </Button>
              )}
              <Button
                asks
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
            </div>
            {blocked && asked && !unreachable && <p className="small dim num">{blocked}</p>}
          </>
        )}
      </div>
    </Shell>
  );
}

/** Questions of a planner about words that were sent from here before: they wait for an answer, not for a plan. */
function AskedBack() {
  const asked = useNeeds().items.filter((need) => need.kind === "planner");
  if (asked.length === 0) return null;
  return (
    <section className="card" aria-label="Asked while planning">
      <header>
        <h2>Asked while planning</h2>
      </header>
      {asked.slice(0, ASKED_MOST).map((need) => (
        <QuestionCard
          key={`${need.constellation}:${need.id}`}
          question={need}
          constellation={need.constellation}
          origin={
            <Link className="link" href={`/constellations/${need.constellation}`}>
              {need.name || "The request"}
            </Link>
          }
        />
      ))}
    </section>
  );
}

function UnderstoodLine(props: {
  preview: RequestPreview | null;
  recipe: { name: string; params: Record<string, unknown> } | null;
  loading: boolean;
  words: string;
  onParams: (params: Record<string, unknown>) => void;
}) {
  const { preview, recipe, loading, words, onParams } = props;
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const exact = preview?.understood?.outcome === "exact" ? preview.understood.candidates[0] : undefined;
  const name = recipe?.name ?? exact?.recipe;
  const params = recipe?.params ?? exact?.params ?? {};
  const row = recipes.value?.items.find((one) => one.name === name);
  if (!words.trim()) {
    const phrases = (recipes.value?.items ?? [])
      .flatMap((one) => (one.phrases ?? []).slice(0, 1))
      .filter((phrase) => !phrase.includes("{"));
    return (
      <div className="under">
        <span className="dim">Plain words. A recipe that fits is shown here as you type.</span>
        {phrases.slice(0, 3).map((phrase) => (
          <Link
            key={phrase}
            className="chip out"
            href={`/new?q=${encodeURIComponent(phrase)}`}
            onClick={() => location.assign(`/new?q=${encodeURIComponent(phrase)}`)}
          >
            {phrase}
          </Link>
        ))}
      </div>
    );
  }
  return (
    <div className="under" aria-live="polite">
      {name ? (
        <>
          <Glyph name="tick" tone="teal" />
          <span className="dim">I understood:</span>
          <b className="strong">{row?.title ?? exact?.title ?? name}</b>
          <span className="small dim">{name}</span>
          <Slots params={params} types={row?.params} onChange={onParams} />
        </>
      ) : loading ? (
        <span className="dim">Reading.</span>
      ) : (
        <>
          <Glyph name="hand" tone="violet" />
          <span className="grow">
            {preview?.understood?.outcome === "near"
              ? "This may mean one of these; nothing starts before you choose."
              : "No recipe fits these words."}
            {preview?.understood?.by_model ? " The model can plan it." : ""}
          </span>
        </>
      )}
    </div>
  );
}

function Meanings(props: {
  outcome: string;
  candidates: RecipeCandidate[];
  examples: string[];
  onAdopt: (candidate: RecipeCandidate, params: Record<string, unknown>) => void;
  onBuild: () => void;
  onSay: (words: string) => void;
}) {
  const { outcome, candidates, examples, onAdopt, onSay } = props;
  if (candidates.length === 0) {
    return (
      <section className="card">
        <Empty title="Nothing near it was found.">
          <p>
            Say it another way, choose one of the{" "}
            <Link className="link" href="/recipes">
              recipes
            </Link>
            , or{" "}
            <button type="button" className="link" onClick={props.onBuild}>
              build it in rows
            </button>
            .
          </p>
          {examples.length > 0 && (
            <p className="row wrap">
              <span className="dim">For example:</span>
              {examples.map((words) => (
                <button key={words} type="button" className="chip out" onClick={() => onSay(words)}>
                  {words}
                </button>
              ))}
            </p>
          )}
        </Empty>
      </section>
    );
  }
  return (
    <section className="card">
      <header>
        <h2>{outcome === "near" ? "Did you mean" : "The nearest recipes"}</h2>
      </header>
      {candidates.slice(0, 3).map((candidate) => (
        <CandidateForm key={candidate.recipe} candidate={candidate} onAdopt={(params) => onAdopt(candidate, params)} />
      ))}
    </section>
  );
}

function CandidateForm({
  candidate,
  onAdopt,
}: {
  candidate: RecipeCandidate;
  onAdopt: (params: Record<string, unknown>) => void;
}) {
  const [params, setParams] = useState<Record<string, unknown>>(candidate.params ?? {});
  const missing = candidate.missing ?? [];
  const open = missing.filter((slot) => params[slot.name] === undefined || params[slot.name] === "");
  return (
    <form
      className="item meaning"
      onSubmit={(event) => {
        event.preventDefault();
        if (open.length === 0) onAdopt(params);
      }}
    >
      <Glyph name="dotted_ring" tone="indigo" />
      <span>
        <b className="strong">{candidate.title || candidate.recipe}</b>{" "}
        <span className="small dim">{candidate.recipe}</span>
      </span>
      <Button
        asks
        type="submit"
        why={open.length ? `Fill in ${open.map((slot) => slot.title ?? slot.name).join(", ")} first.` : null}
      >
        Use this
      </Button>
      <span className="sub row wrap">
        <Slots
          params={{ ...Object.fromEntries(missing.map((slot) => [slot.name, ""])), ...params }}
          types={Object.fromEntries(missing.map((slot) => [slot.name, { type: slot.type, title: slot.title }]))}
          onChange={setParams}
        />
      </span>
      {missing.map(
        (slot) =>
          slot.reason && (
            <span key={slot.name} className="sub small dim">
              {slot.title ?? slot.name}: {slot.reason}
            </span>
          ),
      )}
    </form>
  );
}

function RecipeChoice(props: {
  chosen: { name: string; params: Record<string, unknown> } | null;
  onChoose: (name: string, params: Record<string, unknown>) => void;
}) {
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const row = recipes.value?.items.find((one) => one.name === props.chosen?.name);
  const defaults = Object.fromEntries(
    Object.entries(row?.params ?? {}).map(([name, param]) => [name, props.chosen?.params[name] ?? param.default ?? ""]),
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
            <b className="strong">{one.name}</b>
            <span className="small dim">{one.title}</span>
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
