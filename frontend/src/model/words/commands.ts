/**
 * How commands are typed. The hub's words name commands as documents do, `starloom open`;
 * what the page shows works when pasted on the computer it is for. The hub says how its own program is typed there; a
 * device says so in its facts.
 */
const COMMAND = /(?<![\w./~-])starloom(?= (?:[a-z]|--[a-z]))/g;
const AGENT_COMMAND = /(?<![\w./~-])starloom-agent ([a-z][a-z-]*)/g;
const AGENT_PLACE = /^(?:\/[\w. @+-]+)*\/starloom-agent$|^[A-Za-z]:(?:\\[\w.@+-]+)*\\starloom-agent(?:\.exe)?$/;
const HOME_PLACE = /^(?:(?:\/[\w. @+-]+)+|[A-Za-z]:(?:\\[\w.@+-]+)+)$/;

let program = "starloom";

/** Take the words from a session or a refusal of the hub; without them the name stays. */
export function setProgram(words: unknown): void {
  if (typeof words === "string" && words) program = words;
}

export const typed = (text: string): string => text.replace(COMMAND, () => program);

/** A line for a device, by what it says of itself; it may say anything, so only a path of the agent is taken. */
export function typedOnDevice(line: string, facts: Readonly<Record<string, string>> | undefined): string {
  const place = facts?.program ?? "";
  const home = facts?.home ?? "";
  if (!AGENT_PLACE.test(place)) return line;
  const more = HOME_PLACE.test(home) ? ` --home ${quoted(home)}` : "";
  return line.replace(AGENT_COMMAND, (_, command: string) => `${quoted(place)} ${command}${more}`);
}

const quoted = (path: string): string => (/[ ]/.test(path) ? `'${path}'` : path);
