/** A card of the gallery: a recipe's picture, its sentence for this fleet, what it lacks, and a try with demo devices. */

import { Link } from "wouter";
import { grantWords } from "../../model/fleet/rights.ts";
import type { RecipeRow, RecipeSentence } from "../../model/types.ts";
import { Icon } from "../../ui/Icon.tsx";
import { Said } from "../../ui/Said.tsx";
import { lackWords, trialProgress, tryOf } from "./gallery.ts";
import { RecipePicture } from "./RecipePicture.tsx";

const asked = (words: string) => `/new?q=${encodeURIComponent(words)}`;

interface RecipeCardProps {
  recipe: RecipeRow;
  demos: { all: number; online: number };
  /** No device has joined, which the page says once: no card repeats what it lacks. */
  empty: boolean;
}

export function RecipeCard({ recipe, demos, empty }: RecipeCardProps) {
  const sentence = recipe.sentence;
  const lacking = empty ? [] : lackWords(sentence?.lacks ?? []);
  const tried = tryOf(recipe, demos);
  const ready = sentence !== undefined && sentence.lacks.length === 0;
  return (
    <article className={`card recipecard ${ready ? "" : "lacking"}`} aria-label={recipe.title}>
      <Link className="recipehead" href={`/recipes/${recipe.name}`}>
        {recipe.shape && <RecipePicture shape={recipe.shape} />}
        <h3>{recipe.title}</h3>
      </Link>
      {sentence &&
        (ready ? (
          <Link className="sentence" href={asked(sentence.words)} title="Look at its plan; nothing starts yet">
            <Words sentence={sentence} />
          </Link>
        ) : (
          <p className="sentence">
            <Words sentence={sentence} />
          </p>
        ))}
      {lacking.map((reason) => (
        <p key={reason} className="small lack">
          {reason}.
        </p>
      ))}
      {lacking.length > 0 && (
        <p className="small row wrap">
          {[...new Set(sentence?.lacks.map((lack) => lack.way))].map((way) => (
            <Link key={way} className="link" href={`/devices?add=1&way=${way}`}>
              {way === "phone" ? "Add a phone" : "Add a device"}
            </Link>
          ))}
        </p>
      )}
      {sentence && ready && sentence.ungranted.length > 0 && (
        <p className="small lack">
          {sentence.ungranted.join(" and ")} {sentence.ungranted.length > 1 ? "have" : "has"} not allowed this yet. The
          preview says how to allow it.
        </p>
      )}
      <div className="row wrap facts">
        <RecipeFacts recipe={recipe} />
      </div>
      {tried?.words && recipe.demo && (
        <div className="try small">
          <Link className="btn" href={asked(tried.words)}>
            <Icon name="play" />
            Try with the demo devices
          </Link>
          <span className="dim">
            Uses {recipe.demo.devices.join(" and ")}. It leaves <Said text={recipe.demo.leaves} />.
          </span>
        </div>
      )}
    </article>
  );
}

function Words({ sentence }: { sentence: RecipeSentence }) {
  let at = 0;
  return (
    <>
      {sentence.parts.map((part) => {
        const key = at;
        at += part.text.length;
        return part.kind === "words" ? (
          part.text
        ) : (
          <b key={key} className={`part-${part.kind}`}>
            {part.text}
          </b>
        );
      })}
    </>
  );
}

/** The effects that the grants do not tell already: one that needs to write files writes, and has read something. */
function effectsBeyond(needs: readonly string[], effects: readonly string[]): string[] {
  return effects.filter((effect) => !needs.includes(`files:${effect}`) && (effect !== "read" || needs.length === 0));
}

export function RecipeFacts({ recipe }: { recipe: RecipeRow }) {
  const needs = [...new Set(Object.values(recipe.asks_for ?? {}).flat())].sort();
  const trial = trialProgress(recipe);
  return (
    <>
      {trial && (
        <span className="chip" title="After these its words start it, like any recipe.">
          {trial}
        </span>
      )}
      {recipe.clock && (
        <span className="chip" title="It asks for nothing at a run, so a schedule can run it with nobody there.">
          can be scheduled
        </span>
      )}
      {needs.length > 0 && (
        <span className="chip needs" title={`The owner of a device must have granted ${needs.join(", ")}`}>
          needs to {needs.map(grantWords).join(", ")}
        </span>
      )}
      {effectsBeyond(needs, recipe.effects ?? []).map((effect) => (
        <span key={effect} className="chip out">
          {effect}
        </span>
      ))}
      {recipe.built_in === false && <span className="chip out">version {recipe.version}</span>}
    </>
  );
}
