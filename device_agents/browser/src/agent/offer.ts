/** What this tab says it can do: tools with their schemas, why some are not available, facts, grants, slots. */
import { sha256 } from "@noble/hashes/sha2.js";
import { z } from "zod";
import type { Offer, OfferFrame } from "../generated/protocol.ts";
import { hex } from "../protocol/proof.ts";
import { canonical } from "../protocol/values.ts";
import type { Capability, Surroundings, Tool } from "../tools/interface.ts";
import { CAPABILITIES, type Policy, switchedOff } from "./policy.ts";

/** How many calls run at once; several questions may wait for their person side by side. */
export const SLOTS = 4;

/** @param facts strings such as the system's and the browser's name */
export function makeOffer(
  tools: readonly Tool[],
  policy: Policy,
  around: Surroundings,
  facts: Record<string, string>,
): OfferFrame {
  const offered = tools.map((tool) => ({
    args: schemaOf(tool.args, "input"),
    effects: [...tool.effects],
    grant: CAPABILITIES[tool.capability].grant,
    name: tool.name,
    repeatability: tool.repeatability,
    returns: schemaOf(tool.gives, "output"),
    title: tool.title,
    unavailable: tool.probe(around) ?? (policy[tool.capability] ? null : switchedOff(tool.capability)),
  }));
  const granted = (Object.keys(CAPABILITIES) as Capability[]).filter((capability) => policy[capability]);
  const grants = granted.map((capability) => CAPABILITIES[capability].grant).sort();
  const offer: Offer = { digest: "", facts, grants, slots: SLOTS, tools: offered };
  return {
    t: "offer",
    offer: { ...offer, digest: digestOf(offer) },
    os: "browser",
    policy_digest: digestOf(policy),
    profile: policy.python ? "work" : "observe",
  };
}

function schemaOf(kind: z.ZodType, io: "input" | "output"): string {
  const { $schema: _, ...schema } = z.toJSONSchema(kind, { io, unrepresentable: "any" });
  return canonical(schema);
}

function digestOf(value: unknown): string {
  return hex(sha256(new TextEncoder().encode(canonical(value)))).slice(0, 32);
}

/** What the tab can see of where it runs. */
export function surroundings(): Surroundings {
  return {
    secure: globalThis.isSecureContext,
    navigator,
    notifications: typeof Notification === "undefined" ? "absent" : Notification.permission,
    hasWasm: typeof WebAssembly === "object",
  };
}
