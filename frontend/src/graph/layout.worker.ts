/** The placement of a large drawing in a thread of its own, so that the page answers while it is worked out. */
import type { Drawing } from "./blocks.ts";
import { layout } from "./layout.ts";

addEventListener("message", (event: MessageEvent<{ ticket: number; drawing: Drawing }>) => {
  const { ticket, drawing } = event.data;
  postMessage({ ticket, placed: layout(drawing) });
});
