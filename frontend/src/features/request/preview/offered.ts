/** The look for files whose names a form offers: one task that only reads, and its result. Pure. */
import type { Submission } from "../../../link/endpoints.ts";
import type { Created, RecipeParam } from "../../../model/types.ts";

type Offers = NonNullable<RecipeParam["offers"]>;

export interface Found {
  bytes: number;
  mtime_s: number;
  name: string;
}

const SHOWN_MAX = 200;

/** Whether the device is chosen on which they lie. */
export const isAsked = (offers: Offers, params: Record<string, unknown>): boolean => Boolean(params[offers.on]);

export function lookFor(offers: Offers, params: Record<string, unknown>): Submission {
  const device = params[offers.on];
  const words = offers.words ? params[offers.words] : "";
  const args = {
    limit: SHOWN_MAX,
    pattern: offers.pattern,
    root: params[offers.root] || ".",
    ...(words ? { words } : null),
  };
  const task = { id: "look", tool: "fs.find", args, device: typeof device === "string" ? { name: device } : device };
  return { plan: { starloom: 1, name: "Look for values", tasks: [task] }, labels: { test: "values" } };
}

/** The files of such a look, the newest first; none where it has not ended well, or tells something else. */
export function foundIn({ answer }: Pick<Created, "answer">): Found[] {
  const told = answer?.items[0]?.value as { files?: unknown } | null | undefined;
  const files = Array.isArray(told?.files) ? (told.files as Partial<Found>[]) : [];
  return files
    .filter((file): file is Found => typeof file.name === "string" && typeof file.mtime_s === "number")
    .sort((one, other) => other.mtime_s - one.mtime_s);
}
