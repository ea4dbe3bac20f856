/** Which browser on which system a user agent names, in words; empty for what is none. Pure. */
import { BROWSER_SYSTEMS, BROWSERS } from "../../../model/types.ts";

export function browserName(agent: string): string {
  const find = (names: typeof BROWSERS) => names.find(([pattern]) => new RegExp(pattern).test(agent))?.[1];
  const browser = agent.startsWith("Mozilla/") ? find(BROWSERS) : undefined;
  const system = find(BROWSER_SYSTEMS);
  return browser ? `${browser}${system ? ` on ${system}` : ""}` : "";
}
