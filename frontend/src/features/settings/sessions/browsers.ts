/** Which browser on which system a user agent names, in words; empty for what is none. Pure. */
import { BROWSER_SYSTEMS, BROWSERS } from "../../../model/types.ts";
import { scopeWords } from "./allowed.ts";

export function browserName(agent: string): string {
  const find = (names: typeof BROWSERS) => names.find(([pattern]) => new RegExp(pattern).test(agent))?.[1];
  const browser = agent.startsWith("Mozilla/") ? find(BROWSERS) : undefined;
  const system = find(BROWSER_SYSTEMS);
  return browser ? `${browser}${system ? ` on ${system}` : ""}` : "";
}

/** The parts of a role that a token has; nothing where it has all of it. The hub of an older release names none. */
export const limits = (scopes: readonly string[] | undefined): string =>
  scopes?.length ? `may only ${scopes.map(scopeWords).join("; ")}` : "";
