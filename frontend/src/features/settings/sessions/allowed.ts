/** The choice of what an invited person may do: presets, its role and its scopes. Pure; the hub decides in any case. */
import { RIGHTS } from "../../../model/types.ts";

const ROLES = ["viewer", "approver", "operator"] as const;
export type InvitedRole = (typeof ROLES)[number];

/** Before the name of a recipe: a scope that is a part of “run”. */
export const RECIPE = "recipe:";
/** The hub takes so many scopes for one token. */
const SCOPES_MOST = 16;
/** A page shows nothing without it. */
export const ALWAYS = "read";

const isInvited = (role: string): role is InvitedRole => (ROLES as readonly string[]).includes(role);

/** Each scope that somebody can be invited with; the rest is for owners. */
export const OFFERED = RIGHTS.flatMap(([scope, role, words]) => (isInvited(role) ? [{ scope, role, words }] : []));

const wholeOf = (role: InvitedRole): string[] =>
  OFFERED.filter((one) => ROLES.indexOf(one.role) <= ROLES.indexOf(role)).map(({ scope }) => scope);

/** A role without the right to pass it on, which somebody who only looks is not given unasked. */
const ownOf = (role: InvitedRole): string[] => wholeOf(role).filter((scope) => scope !== "access");

export const PRESETS = [
  { id: "viewer", words: "Look, and change nothing", scopes: ownOf("viewer") },
  { id: "approver", words: "Look, and answer questions", scopes: ownOf("approver") },
  { id: "runner", words: "Start work, and leave the answers to others", scopes: ["read", "artifacts", "run"] },
  { id: "recipes", words: "Look, and start some recipes", scopes: ["read", "artifacts"] },
  { id: "operator", words: "All but inviting people, secrets and the model", scopes: wholeOf("operator") },
] as const satisfies readonly { id: string; words: string; scopes: readonly string[] }[];

export const OWN = "own";
export const SOME_RECIPES = "recipes";

/** What this sign-in has itself: nobody gives more than that. */
export const mayGive = (held: readonly string[], scope: string): boolean =>
  held.length === 0 || held.includes(scope) || (scope.startsWith(RECIPE) && held.includes("run"));

/** The preset that is this choice; that of recipes once one of them is in it. */
export function presetOf(chosen: readonly string[], held: readonly string[]): string {
  if (chosen.some((scope) => scope.startsWith(RECIPE))) return SOME_RECIPES;
  const same = PRESETS.find(({ scopes }) => {
    const given = scopes.filter((scope) => mayGive(held, scope));
    return given.length === chosen.length && given.every((scope) => chosen.includes(scope));
  });
  return same?.id ?? OWN;
}

/** The least role that has all of this. */
export function roleOf(chosen: readonly string[]): InvitedRole {
  const ranks = chosen.map((scope) => {
    const role = scope.startsWith(RECIPE) ? "operator" : OFFERED.find((one) => one.scope === scope)?.role;
    return role ? ROLES.indexOf(role) : 0;
  });
  return ROLES[Math.max(0, ...ranks)] ?? "viewer";
}

/** The scopes to ask for: none for the whole of a role, which only somebody has to give who has the whole. */
export function scopesOf(chosen: readonly string[], held: readonly string[]): string[] {
  const whole = wholeOf(roleOf(chosen));
  const all = whole.length === chosen.length && whole.every((scope) => chosen.includes(scope));
  return all && held.length === 0 ? [] : [...chosen].sort();
}

/** A scope in words: what it allows. */
export function scopeWords(scope: string): string {
  if (scope.startsWith(RECIPE)) return `start ${scope.slice(RECIPE.length)}`;
  return RIGHTS.find(([name]) => name === scope)?.[2] ?? scope;
}

/** All that is chosen, each in words and in the order of the hub. */
export function mayWords(chosen: readonly string[]): string[] {
  const names = chosen.filter((scope) => scope.startsWith(RECIPE)).map((scope) => scope.slice(RECIPE.length));
  const plain = RIGHTS.filter(([scope]) => chosen.includes(scope)).map(([, , words]) => words);
  const recipes = names.length
    ? [`start the ${names.length === 1 ? "recipe" : "recipes"} ${[...names].sort().join(", ")}`]
    : [];
  return chosen.includes("run") ? plain : [...plain, ...recipes];
}

/** Why the link cannot be made yet; null where it can. */
export function whyNotYet(name: string, chosen: readonly string[], preset: string): string | null {
  if (!/^[\p{L}\p{N}][\p{L}\p{M}\p{N}._@+-]{0,63}$/u.test(name.normalize("NFC")))
    return "A name has letters, digits and . _ @ + -, at most 64, and no space.";
  if (preset === SOME_RECIPES && !chosen.some((scope) => scope.startsWith(RECIPE)))
    return "Choose a recipe that they may start.";
  return chosen.length > SCOPES_MOST
    ? `At most ${SCOPES_MOST} rights are given by one link: choose fewer recipes.`
    : null;
}
