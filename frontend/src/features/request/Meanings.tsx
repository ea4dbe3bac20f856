/** Recipes that may be meant, each with the parameters that it still lacks. */
import { useState } from "react";
import { Link } from "wouter";
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { ordered, paramsInOrder } from "../../model/plan/asked.ts";
import type { RecipeCandidate } from "../../model/types.ts";
import { msOf } from "../../model/words/times.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button, Empty } from "../../ui/parts.tsx";
import { Said } from "../../ui/Said.tsx";
import { labelsOf, Slots } from "./preview/Slots.tsx";

export function Meanings(props: {
  outcome: string;
  candidates: RecipeCandidate[];
  examples: string[];
  gap: string;
  places?: { title: string; path: string }[];
  onAdopt: (candidate: RecipeCandidate, params: Record<string, unknown>) => void;
  onBuild: () => void;
  onSay: (words: string) => void;
}) {
  const { outcome, candidates, examples, places = [], onAdopt, onSay } = props;
  if (candidates.length === 0) {
    return (
      <section className="card">
        <Empty
          title={places.length ? "Here it is." : props.gap ? "No recipe does this." : "Nothing near it was found."}
        >
          {props.gap && <GapWords gap={props.gap} onSay={onSay} />}
          {places.length > 0 && (
            <p className="row wrap">
              {places.map(({ title, path }) => (
                <Link key={path} className="btn" href={path}>
                  {title}
                </Link>
              ))}
            </p>
          )}
          <p>
            Say it another way, choose one of the{" "}
            <Link className="link" href="/recipes">
              recipes
            </Link>
            , or{" "}
            <button type="button" className="link" onClick={props.onBuild}>
              build it in rows
            </button>{" "}
            (Build).
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
      <p className="small dim cardend">
        None of them? Say it another way, or make the plan by hand in{" "}
        <button type="button" className="link" onClick={props.onBuild}>
          Build
        </button>
        .
      </p>
    </section>
  );
}

/** Why no recipe does it; a request that helps stands between asterisks, and is a button. */
function GapWords({ gap, onSay }: { gap: string; onSay: (words: string) => void }) {
  let at = 0;
  return (
    <p>
      {`${gap.charAt(0).toUpperCase()}${gap.slice(1)}.`.split("*").map((part, index) => {
        const key = at;
        at += part.length + 1;
        return index % 2 === 1 ? (
          <button key={key} type="button" className="chip out" onClick={() => onSay(part)}>
            {part}
          </button>
        ) : (
          <Said key={key} text={part} />
        );
      })}
    </p>
  );
}

/** A recipe that words alone do not start yet, and when it last ran as planned. */
export function trialWords({ clean, needed, last_at }: NonNullable<RecipeCandidate["trial"]>): string {
  const last = last_at ? `runs as it did on ${new Date(msOf(last_at)).toLocaleString("en-GB")}; ` : "";
  return `On trial: ${last}${clean} of ${needed} clean runs in a row.`;
}

/** Devices that stand beside a word that names none of them, the nearest first; the field has all of them. */
const CHIPS_MOST = 4;

function CandidateForm({
  candidate,
  onAdopt,
}: {
  candidate: RecipeCandidate;
  onAdopt: (params: Record<string, unknown>) => void;
}) {
  const [params, setParams] = useState<Record<string, unknown>>(candidate.params ?? {});
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const row = recipes.value?.items.find((one) => one.name === candidate.recipe);
  const missing = candidate.missing ?? [];
  const asked = Object.fromEntries(missing.map((slot) => [slot.name, { type: slot.type, title: slot.title }]));
  const values = { ...Object.fromEntries(missing.map((slot) => [slot.name, ""])), ...params };
  // Fields that words have filled are titled by the recipe, too; the others of it have defaults.
  const types = Object.fromEntries(
    paramsInOrder(row).flatMap(([name, param]) => (name in values ? [[name, { ...param, ...asked[name] }]] : [])),
  );
  const labels = labelsOf(Object.keys(values), { ...asked, ...types });
  const open = missing.filter((slot) => params[slot.name] === undefined || params[slot.name] === "");
  const take = (slot: string, device: string) => {
    const taken = { ...params, [slot]: { name: device } };
    setParams(taken);
    if (open.every((one) => one.name === slot)) onAdopt(taken);
  };
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
        asks="start"
        type="submit"
        why={open.length ? `Fill in ${open.map((slot) => labels[slot.name]).join(", ")} first.` : null}
      >
        Use this
      </Button>
      <span className="sub row wrap">
        <Slots params={ordered(values, types)} types={{ ...asked, ...types }} onChange={setParams} />
      </span>
      {candidate.unused && candidate.unused.length > 0 && (
        <span className="sub small strong">It does not use: {candidate.unused.join(", ")}</span>
      )}
      {candidate.trial && <span className="sub small dim">{trialWords(candidate.trial)}</span>}
      {missing.map(
        (slot) =>
          slot.reason && (
            <span key={slot.name} className="sub small dim row wrap">
              {labels[slot.name]}: {slot.reason}
              {slot.type === "device" &&
                slot.choices?.slice(0, CHIPS_MOST).map((device) => (
                  <button key={device} type="button" className="chip out" onClick={() => take(slot.name, device)}>
                    {device}
                  </button>
                ))}
            </span>
          ),
      )}
    </form>
  );
}
