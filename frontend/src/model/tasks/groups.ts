/**
 * The counts of each group's children. Counts only the children that are others than before, so that one event of a group
 * of thousands costs one child. Reads lazily, as the board does.
 */
import { everyNth, type Steps } from "../stream/steps.ts";
import type { StreamModel } from "../stream/stream.ts";
import type { TaskState } from "../types.ts";
import { type Board, boardOf, type TaskView } from "./board.ts";
import { Tally } from "./tally.ts";

/** So many children are counted between two places at which counting may pause. */
const CHILDREN_A_STEP = 256;

class Groups {
  private readonly board: Board;
  private readonly tallies = new Map<string, Tally>();
  private readonly counted = new Map<string, TaskView>();
  private readonly changed: Set<string>;

  constructor(model: StreamModel, board: Board) {
    this.board = board;
    this.changed = board.note().changed;
    const all = () => {
      for (const id of model.kind("spec").keys()) this.changed.add(id);
    };
    model.watch({ put: () => {}, reset: all, prepare: () => this.prepare() });
    all();
  }

  /** Counts what is marked, with pauses; the board was there before, and has worked it out. */
  private *prepare(): Steps {
    this.board.readRevision();
    const pause = everyNth(CHILDREN_A_STEP);
    for (const id of this.changed) {
      this.changed.delete(id);
      this.count(id);
      if (pause()) yield;
    }
  }

  of(group: string): Tally {
    this.board.readRevision();
    for (const id of this.changed) this.count(id);
    this.changed.clear();
    return this.tally(group);
  }

  private count(id: string): void {
    const [before, now] = [this.counted.get(id), this.board.view(id)];
    if (before === now) return;
    if (before?.spec.group) this.tally(before.spec.group).change(before, undefined);
    if (now?.spec.group) this.tally(now.spec.group).change(undefined, now);
    if (now) this.counted.set(id, now);
    else this.counted.delete(id);
  }

  private tally(group: string): Tally {
    let held = this.tallies.get(group);
    if (!held) {
      held = new Tally();
      this.tallies.set(group, held);
    }
    return held;
  }
}

const kept = new WeakMap<Board, Groups>();

/** How many of a group's children are done and stand. */
export const standing = (tally: Tally): number =>
  tally.counts(({ glyph }) => glyph === "tick" || glyph === "double_tick").reduce((sum, { count }) => sum + count, 0);

const ENDED: readonly TaskState[] = ["succeeded", "failed", "cancelled", "skipped"];

/** How far a group is in a few words; what has ended without a standing result is not to go any more. */
export function farOf(tally: Tally): string {
  const done = standing(tally);
  if (done === tally.size) return "all done";
  const left = ENDED.reduce((open, state) => open - tally.in(state), tally.size);
  if (left > 0) return `${left} to go`;
  return tally
    .counts(({ glyph }) => glyph !== "tick" && glyph !== "double_tick")
    .map(({ shown, count }) => `${count} ${shown.word.toLowerCase()}`)
    .join(", ");
}

/** How the children of a group stand now. */
export function groupTally(model: StreamModel, fleet: StreamModel, group: string): Tally {
  return groupsOf(model, fleet).of(group);
}

/** The counts of a stream, made at the first call: one before its snapshot has them counted while that is read. */
export function groupsOf(model: StreamModel, fleet: StreamModel): Groups {
  const board = boardOf(model, fleet);
  let held = kept.get(board);
  if (!held) {
    held = new Groups(model, board);
    kept.set(board, held);
  }
  return held;
}
