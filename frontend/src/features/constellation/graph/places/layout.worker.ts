/** The placement of a large drawing in a thread of its own, so that the page answers while it is worked out. */
import { layout, layoutDown } from "../../../../model/layout/layout.ts";
import { drawingOf, type Outline, packed } from "../../../../model/layout/packed.ts";

addEventListener("message", (event: MessageEvent<{ ticket: number; outline: Outline; down: boolean }>) => {
  const { ticket, outline, down } = event.data;
  const drawing = drawingOf(outline);
  const places = packed(drawing, (down ? layoutDown : layout)(drawing));
  const moved = [places.at.buffer, places.points.buffer, places.counts.buffer];
  postMessage({ ticket, places }, { transfer: moved });
});
