/** The words as the hub reads them: the recipe with its parameters, or that none fits. */
import { Link } from "wouter";
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { ordered, paramsInOrder } from "../../model/plan/asked.ts";
import type { RequestPreview } from "../../model/types.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Said } from "../../ui/Said.tsx";
import { trialWords } from "./Meanings.tsx";
import { Slots } from "./preview/Slots.tsx";

export function UnderstoodLine(props: {
  preview: RequestPreview | null;
  recipe: { name: string; params: Record<string, unknown> } | null;
  loading: boolean;
  words: string;
  onParams: (params: Record<string, unknown>) => void;
  onWords: (words: string) => void;
}) {
  const { preview, recipe, loading, words, onParams, onWords } = props;
  const { hub } = useWorkspace();
  const recipes = useResource("recipes", (signal) => hub.recipes(signal));
  const exact = preview?.understood?.outcome === "exact" ? preview.understood.candidates[0] : undefined;
  const name = recipe?.name ?? exact?.recipe;
  const params = recipe?.params ?? exact?.params ?? {};
  const row = recipes.value?.items.find((one) => one.name === name);
  const types = Object.fromEntries(paramsInOrder(row));
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
            onClick={() => onWords(phrase)}
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
          <Slots params={ordered(params, types)} types={types} onChange={onParams} />
          {exact?.trial && !recipe && <span className="small dim">{trialWords(exact.trial)}</span>}
        </>
      ) : loading ? (
        <span className="dim">Reading.</span>
      ) : (
        <>
          <Glyph name="hand" tone="violet" />
          <span className="grow">
            {nearWords(preview?.understood)}
            {preview?.understood?.by_model ? " The model can plan it." : ""}
          </span>
        </>
      )}
    </div>
  );
}

/** What words without an exact match come to; a recipe on trial is named as the reason for which they start nothing. */
export function nearWords(understood: RequestPreview["understood"]): string {
  if (understood?.places?.length) return "This needs no work: the answer is below.";
  if (understood?.outcome !== "near") return "No recipe fits these words.";
  const trial = understood.candidates[0]?.trial ? understood.title : "";
  return trial
    ? `${trial}; nothing starts before you choose.`
    : "This may mean one of these; nothing starts before you choose.";
}

/** A model is set and cannot be asked: the reason, and the way out. */
export function ModelFault({ fault }: { fault: NonNullable<RequestPreview["understood"]>["model_fault"] }) {
  if (!fault) return null;
  return (
    <section className="note tone-amber" aria-label="The model">
      <Glyph name="broken_arc" tone="amber" />
      <p className="strong">
        A model is set, and <Said text={fault.reason} />.
      </p>
      <p className="small dim">
        <Said text={fault.hint} />
      </p>
    </section>
  );
}
