/**
 * Tiles of thousands of tasks on one canvas. While work goes on only those are painted that have changed: all of them
 * five times a second would hold up the page.
 */
import type { Shown } from "../../../../model/words/presentation.ts";
import { type Paint, paintTile } from "./paint.ts";

export type Box = readonly [x: number, y: number, width: number, height: number];

/** Below it a tile is filled in each state, and may lie on its neighbours. */
const OUTLINED_FROM = 4;

export class Mosaic {
  private readonly boxes: ReadonlyMap<string, Box>;
  /** Tasks that are painted as failures, which stand over their neighbours. */
  private readonly failed = new Set<string>();

  constructor(boxes: ReadonlyMap<string, Box>) {
    this.boxes = boxes;
  }

  /** Whether these tasks can be painted over what is there; a failure that is none any more leaves its neighbours bare. */
  takes(changed: ReadonlySet<string>, shownOf: (id: string) => Shown | undefined): boolean {
    for (const id of changed) if (this.failed.has(id) && shownOf(id)?.tone !== "vermilion") return false;
    return true;
  }

  /** Paints these tasks, or all of them on a clean canvas. Failures come last, so that no neighbour covers one. */
  paint(
    context: CanvasRenderingContext2D,
    paint: Paint,
    shownOf: (id: string) => Shown | undefined,
    changed: ReadonlySet<string> | null,
  ): void {
    if (!changed) this.failed.clear();
    for (const id of changed ?? this.boxes.keys()) {
      const box = this.boxes.get(id);
      const shown = box && shownOf(id);
      if (!box || !shown) continue;
      if (shown.tone === "vermilion") {
        this.failed.add(id);
        continue;
      }
      if (changed && box[2] >= OUTLINED_FROM && box[3] >= OUTLINED_FROM) context.clearRect(...box);
      paintTile(context, paint, shown, ...box);
    }
    for (const id of this.failed) {
      const box = this.boxes.get(id);
      const shown = shownOf(id);
      if (box && shown) paintTile(context, paint, shown, ...box);
    }
  }
}
