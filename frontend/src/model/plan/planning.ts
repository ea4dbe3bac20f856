/** Whether a constellation is still being planned. Pure. */
import type { Head } from "../types.ts";

const PLANNING: ReadonlySet<string> = new Set(["planning", "looking"]);

/** Whether there is no plan yet and the planner works on one, or waits for an answer. */
export const isPlanning = (head: Pick<Head, "state" | "version">): boolean => !head.version && PLANNING.has(head.state);
