/**
 * The parameters of a recipe as a person fills them in: what must be given first, in the order of its words, and the
 * words of a recipe with their values. Pure.
 */
import type { RecipeRow } from "../types.ts";

type Asked = Pick<RecipeRow, "params" | "phrases">;
type Param = NonNullable<RecipeRow["params"]>[string];

/** Needed parameters in the order of the words, then the others in that order; those in no words come last. */
export function paramsInOrder(recipe: Asked | undefined): [string, Param][] {
  const words = (recipe?.phrases ?? []).join(" ");
  const place = (name: string): number => {
    const at = words.indexOf(`{${name}}`);
    return at < 0 ? words.length : at;
  };
  return Object.entries(recipe?.params ?? {}).sort(
    ([a, one], [b, other]) => Number(Boolean(one.optional)) - Number(Boolean(other.optional)) || place(a) - place(b),
  );
}

/** The same values, those of known parameters in their order first. */
export function ordered<T>(values: Record<string, T>, order: Record<string, unknown>): Record<string, T> {
  const known = Object.keys(order).filter((name) => name in values);
  const names = [...new Set([...known, ...Object.keys(values)])];
  return Object.fromEntries(names.map((name) => [name, values[name] as T]));
}

/** The words of a recipe that name the most of these values, with the values in place; empty where none fits. */
export function wordsWith(phrases: readonly string[], values: Record<string, string>): string {
  let best = "";
  let most = 0;
  for (const phrase of phrases) {
    const names = [...phrase.matchAll(/\{([^}]+)\}/g)].map((found) => found[1] ?? "");
    if (names.length <= most || !names.every((name) => values[name])) continue;
    most = names.length;
    best = phrase.replaceAll(/\{([^}]+)\}/g, (_, name: string) => values[name] ?? "");
  }
  return best;
}
