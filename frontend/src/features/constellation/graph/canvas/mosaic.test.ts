import { expect, it } from "vitest";
import type { Shown } from "../../../../model/words/presentation.ts";
import { presentation } from "../../../../model/words/presentation.ts";
import { type Box, Mosaic } from "./mosaic.ts";
import type { Paint } from "./paint.ts";

const TONES = ["grey", "indigo", "violet", "amber", "blue", "teal", "vermilion"] as const;
const tone = Object.fromEntries(TONES.map((name) => [name, name])) as Paint["tone"];
const colours = { tone, tint: tone, line: "line", surface: "surface" } as Paint;

/** A context that knows the colours of the rectangles that were filled, in their order. */
function canvas() {
  const filled: string[] = [];
  const context = {
    fillStyle: "",
    fillRect: (x: number, y: number) => filled.push(`${context.fillStyle} ${x} ${y}`),
    strokeRect: () => {},
    clearRect: () => {},
  };
  return { filled, context: context as unknown as CanvasRenderingContext2D };
}

function many(size: number, side: number) {
  const boxes = new Map<string, Box>();
  const shown = new Map<string, Shown>();
  for (let at = 0; at < size; at += 1) {
    boxes.set(`t${at}`, [(at % 50) * (side + 1), Math.floor(at / 50) * (side + 1), side, side]);
    shown.set(`t${at}`, presentation("running", undefined));
  }
  return { mosaic: new Mosaic(boxes), shown, shownOf: (id: string) => shown.get(id) };
}

it("paints of 5,000 tasks those that have changed", () => {
  const { mosaic, shown, shownOf } = many(5_000, 3);
  const { filled, context } = canvas();
  mosaic.paint(context, colours, shownOf, null);
  expect(filled).toHaveLength(5_000);
  filled.length = 0;
  shown.set("t51", presentation("succeeded", undefined));
  const changed = new Set(["t51", "a task that is not drawn"]);
  expect(mosaic.takes(changed, shownOf)).toBe(true);
  mosaic.paint(context, colours, shownOf, changed);
  expect(filled).toEqual(["teal 4 4"]);
});

it("keeps each failure over its neighbours, and takes all of them for one that is none any more", () => {
  const { mosaic, shown, shownOf } = many(100, 3);
  const { filled, context } = canvas();
  shown.set("t1", presentation("failed", undefined));
  mosaic.paint(context, colours, shownOf, null);
  expect(filled.at(-1)).toBe("vermilion 2.5 -1.5");
  shown.set("t2", presentation("succeeded", undefined));
  filled.length = 0;
  mosaic.paint(context, colours, shownOf, new Set(["t2"]));
  expect(filled).toEqual(["teal 8 0", "vermilion 2.5 -1.5"]);
  shown.set("t1", presentation("running", undefined));
  expect(mosaic.takes(new Set(["t1"]), shownOf)).toBe(false);
});
