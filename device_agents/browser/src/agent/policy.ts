/**
 * What the owner of this tab allows: one switch a capability, kept here, never written by the hub. Pure.
 * `decide` is asked for every call and answers with a reason; where it refuses, with what to tap.
 */
import type { Capability, Surroundings, Tool } from "../tools/interface.ts";

export type Policy = Readonly<Record<Capability, boolean>>;

/** What each switch is called, what it lets others do, and the grant by which plans and previews name it. */
export const CAPABILITIES: Record<Capability, { label: string; allows: string; grant: string }> = {
  ask: { label: "Questions", allows: "ask me something on this page", grant: "tab:ask" },
  notify: { label: "Notices", allows: "show me a notice", grant: "tab:notify" },
  files: {
    label: "Files",
    allows: "let me pick files to send, and save files here; each by my tap",
    grant: "tab:files",
  },
  camera: { label: "Camera", allows: "ask me for a picture; I take it by my tap", grant: "tab:camera" },
  location: { label: "Location", allows: "ask where this device is; I tell it by my tap", grant: "tab:location" },
  clipboard: {
    label: "Clipboard",
    allows: "copy a text, or ask for the copied one; each by my tap",
    grant: "tab:clipboard",
  },
  share: { label: "Share", allows: "hand things to another app; each by my tap", grant: "tab:share" },
  python: { label: "Python", allows: "run programs here by themselves, without network or files", grant: "python:run" },
};

/** What happens only by a tap at the moment is on; what would run without me is off until I switch it on. */
export const FIRST_POLICY: Policy = {
  ask: true,
  notify: true,
  files: true,
  camera: true,
  location: true,
  clipboard: true,
  share: true,
  python: false,
};

export interface Decision {
  allowed: boolean;
  reason: string;
}

export function decide(policy: Policy, tool: Tool): Decision {
  const { label } = CAPABILITIES[tool.capability];
  if (policy[tool.capability]) return { allowed: true, reason: `${label} is switched on` };
  return { allowed: false, reason: switchedOff(tool.capability) };
}

export function switchedOff(capability: Capability): string {
  return `${CAPABILITIES[capability].label} is switched off on this device; open its page and switch it on`;
}

/** What was kept, with the first policy for switches that it does not know yet. */
export function policyOf(stored: Partial<Policy> | undefined): Policy {
  return { ...FIRST_POLICY, ...stored };
}

/** The capabilities that this browser has none of the tools for, each with the reason. */
export function missingIn(tools: readonly Tool[], around: Surroundings): Map<Capability, string> {
  const missing = new Map<Capability, string>();
  for (const tool of tools) missing.set(tool.capability, missing.get(tool.capability) ?? tool.probe(around) ?? "");
  for (const tool of tools) if (tool.probe(around) === null) missing.delete(tool.capability);
  return missing;
}
