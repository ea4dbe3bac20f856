/** Colours and marks for drawings on a canvas: the tokens of the page, read once for each theme. */
import type { Tone } from "../../../../model/types.ts";
import type { Shown } from "../../../../model/words/presentation.ts";

export interface Paint {
  tone: Record<Tone, string>;
  tint: Record<Tone, string>;
  ink: string;
  ink2: string;
  surface: string;
  canvas: string;
  line: string;
  edge: string;
}

const TONES: readonly Tone[] = ["grey", "indigo", "violet", "amber", "blue", "teal", "vermilion"];

let kept: { look: string; paint: Paint } | null = null;

/** The tokens as the theme has them now, read once for each theme: each reading makes the browser work out its styles. */
export function readPaint(): Paint {
  const look = lookNow();
  if (kept?.look !== look) kept = { look, paint: readTokens() };
  return kept.paint;
}

const QUERIES = ["(prefers-color-scheme: dark)", "(forced-colors: active)"];

function lookNow(): string {
  return [document.documentElement.dataset.theme, ...QUERIES.map((query) => matchMedia(query).matches)].join(" ");
}

const NAMES = [...TONES, ...TONES.map((tone) => `${tone}-tint`), "ink", "ink-2", "surface", "canvas", "line-2", "edge"];

/** Probes are needed because `light-dark()` resolves only in use; all at once, so that styles are worked out once. */
function readTokens(): Paint {
  const probes = document.createElement("div");
  probes.hidden = true;
  for (const name of NAMES) {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    probes.append(probe);
  }
  document.body.append(probes);
  const found = new Map(NAMES.map((name, at) => [name, getComputedStyle(probes.children[at] as Element).color]));
  probes.remove();
  const read = (name: string): string => found.get(name) ?? "";
  return {
    tone: Object.fromEntries(TONES.map((tone) => [tone, read(tone)])) as Record<Tone, string>,
    tint: Object.fromEntries(TONES.map((tone) => [tone, read(`${tone}-tint`)])) as Record<Tone, string>,
    ink: read("ink"),
    ink2: read("ink-2"),
    surface: read("surface"),
    canvas: read("canvas"),
    line: read("line-2"),
    edge: read("edge"),
  };
}

/** One task as a tile: filled is done or failed, outlined is ahead, a bar through it is stuck. A failure is never < 6 px. */
export function paintTile(
  context: CanvasRenderingContext2D,
  paint: Paint,
  shown: Shown,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  const colour = paint.tone[shown.tone];
  if (shown.tone === "vermilion") {
    const [w, h] = [Math.max(width, 6), Math.max(height, 6)];
    context.fillStyle = colour;
    context.fillRect(x - (w - width) / 2, y - (h - height) / 2, w, h);
    if (w >= 8 && h >= 8) {
      context.strokeStyle = paint.surface;
      context.lineWidth = 1.5;
      const [cx, cy, r] = [x + width / 2, y + height / 2, Math.min(w, h) / 4];
      context.beginPath();
      context.moveTo(cx - r, cy - r);
      context.lineTo(cx + r, cy + r);
      context.moveTo(cx + r, cy - r);
      context.lineTo(cx - r, cy + r);
      context.stroke();
    }
    return;
  }
  const ahead =
    shown.glyph === "ring" || shown.glyph === "dotted_ring" || shown.glyph === "chevrons" || shown.glyph === "square";
  if (!ahead) {
    context.fillStyle = colour;
    context.fillRect(x, y, width, height);
  } else if (width >= 4 && height >= 4) {
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  } else {
    context.fillStyle = paint.line;
    context.fillRect(x, y, width, height);
  }
  if (shown.stuck && width >= 6 && height >= 6) {
    context.fillStyle = paint.surface;
    context.fillRect(x + 1, y + height / 2 - 1, width - 2, 2);
  }
}
