/** The trash of a device as a call of `trash.list` tells it. Pure; a device may send anything. */
import type { Created } from "../../../model/types.ts";

export interface InTrash {
  bytes: number;
  name: string;
  path: string;
  since_s: number;
  ticket: string;
}

export interface Trash {
  bytes: number;
  count: number;
  items: InTrash[];
  oldest_s?: number;
}

/** The trash that a list has told; null where it has not ended, or told something else. */
export function trashOf({ answer }: Pick<Created, "answer">): Trash | null {
  const told = answer?.items[0]?.value as Partial<Trash> | null | undefined;
  if (typeof told?.count !== "number" || typeof told.bytes !== "number" || !Array.isArray(told.items)) return null;
  return told as Trash;
}
