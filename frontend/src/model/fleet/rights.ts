/** What a device may do, in words, and the line that its owner types there to change it. The device itself decides. */

import type { Device, Offer } from "../types.ts";
import { known } from "../words/known.ts";
import { NOT_YET_NEXT_STEP, neverCame } from "./fleet.ts";

const PROFILES: Record<string, string> = {
  observe: "It may look: disks, memory, processes, services, logs. No files, no programs.",
  files: "It may look, and read and write files in the folders that its owner named.",
  work: "It may look, handle files in named folders, and run Python and git in a cage without network.",
  operate:
    "It may look, handle files, run Python and git, and operate: the commands, services and hosts that its owner named.",
};
const TAB = "It is a browser tab: it may do what was switched on there, and most of that asks by a tap.";

const GRANTS: Record<string, string> = {
  "files:read": "read files",
  "files:write": "write files",
  "python:run": "run Python in a cage",
  "python:unconfined": "run Python without a cage",
  "git:run": "use git",
  "shell:run": "run the commands that its owner listed",
  "net:reach": "reach the hosts that its owner listed",
  "service:restart": "restart services",
  "container:read": "look at containers",
};

/** A grant in words: `read files`; one without words of its own stands as it is called. */
export const grantWords = (grant: string): string =>
  known(GRANTS, grant) ?? grant.replace(/^tab:/, "").replaceAll("_", " ");

interface Rights {
  /** What its profile comes to, in a sentence. */
  sentence: string;
  /** What it may beyond looking, in words; a grant without words of its own stands as it is called. */
  grants: string[];
  /** Tools that it has and cannot use now, by the reason. */
  lacking: { reason: string; tools: string[] }[];
  /** The line that shows what is in force; typed on the device. */
  line: string;
}

export function rightsOf(device: Device, offer: Offer | undefined): Rights {
  const grants = offer?.grants ?? [];
  const reasons = new Map<string, string[]>();
  for (const tool of offer?.tools ?? []) {
    if (tool.unavailable) reasons.set(tool.unavailable, [...(reasons.get(tool.unavailable) ?? []), tool.name]);
  }
  return {
    sentence: device.os === "browser" ? TAB : (known(PROFILES, device.profile ?? "observe") ?? PROFILES.observe ?? ""),
    grants: grants.map(grantWords),
    lacking: [...reasons].map(([reason, tools]) => ({ reason, tools })),
    line: "starloom-agent policy",
  };
}

/** The same in a few words, for a row: `look`, `look, read and write files`. */
export function rightsInShort(device: Device, offer: Offer | undefined): string {
  const grants = rightsOf(device, offer).grants;
  if (neverCame(device)) return NOT_YET_NEXT_STEP;
  if (grants.length === 0) return "may look, no more";
  const shown = grants.slice(0, 2).join(", ");
  return `may ${shown}${grants.length > 2 ? ` and ${grants.length - 2} more` : ""}`;
}
