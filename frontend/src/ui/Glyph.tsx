/** The shapes of states: one shape a state, so that no state is told by hue. Drawn from the vocabulary's names. */
import { memo, type ReactNode } from "react";
import type { Glyph as GlyphName, Tone } from "../model/types.ts";

const line = { fill: "none", stroke: "currentColor", strokeLinecap: "round", strokeLinejoin: "round" } as const;
const knock = { ...line, stroke: "var(--knock)" } as const;

const SHAPES: Record<GlyphName | "bolt" | "plus" | "drop" | "pen", ReactNode> = {
  ring: <circle cx="8" cy="8" r="5.75" {...line} strokeWidth="1.5" />,
  dotted_ring: <circle cx="8" cy="8" r="5.75" {...line} strokeWidth="2" strokeDasharray=".01 4.5" />,
  hand: (
    <path
      fill="currentColor"
      d="M4 7.2V3.9a.9.9 0 0 1 1.8 0V6.6h.5V2.4a.9.9 0 0 1 1.8 0v4.2h.5V2.9a.9.9 0 0 1 1.8 0v4h.5V4.6a.9.9 0 0 1 1.8 0v5.3c0 3-1.7 5.1-4.4 5.1-2 0-3-.8-3.9-2.4L2.5 9.6c-.5-.9.7-1.7 1.4-.9z"
    />
  ),
  barrier: (
    <>
      <path {...line} strokeWidth="1.5" d="M2.75 3v10M13.25 3v10" />
      <rect x="2.5" y="5.5" width="11" height="5" rx="1" fill="currentColor" />
    </>
  ),
  open_arc: <path {...line} strokeWidth="2" d="M8 2.25A5.75 5.75 0 0 1 8 13.75" />,
  turning_arc: <path className="spin" {...line} strokeWidth="2" d="M8 2.25A5.75 5.75 0 1 1 2.25 8" />,
  broken_arc: (
    <>
      <path
        {...line}
        strokeWidth="2"
        d="M3 5a5.75 5.75 0 0 1 3.6-2.6M10.6 2.9A5.75 5.75 0 0 1 13.7 7M12.6 11.5A5.75 5.75 0 0 1 8.6 13.7M5 12.9A5.75 5.75 0 0 1 2.3 9"
      />
      <circle cx="8" cy="8" r="1.25" fill="currentColor" />
    </>
  ),
  ringed_square: (
    <>
      <circle cx="8" cy="8" r="6.25" {...line} strokeWidth="1.5" />
      <rect x="5.5" y="5.5" width="5" height="5" fill="currentColor" />
    </>
  ),
  tick: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path {...knock} strokeWidth="1.75" d="M4.75 8.25l2.25 2.25 4.25-4.75" />
    </>
  ),
  double_tick: (
    <>
      <rect x="0" y="2" width="16" height="12" rx="3.5" fill="currentColor" />
      <path {...knock} strokeWidth="1.6" d="M3.5 8.15l1.9 1.9L9 5.95M8.65 9.8l.25.25 3.6-4.1" />
    </>
  ),
  cross: (
    <>
      <path fill="currentColor" d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z" />
      <path {...knock} strokeWidth="1.75" d="M5.5 5.5l5 5M10.5 5.5l-5 5" />
    </>
  ),
  alarm: (
    <>
      <path fill="currentColor" d="M8 1.2l7 12.9H1z" />
      <path {...knock} strokeWidth="1.75" d="M8 6v3.6M8 11.9v.01" />
    </>
  ),
  chevrons: <path {...line} strokeWidth="1.75" d="M3.5 4l4 4-4 4M8.5 4l4 4-4 4" />,
  square: (
    <>
      <rect x="2.75" y="2.75" width="10.5" height="10.5" rx="1.5" {...line} strokeWidth="1.5" />
      <path stroke="currentColor" strokeWidth="1.25" d="M3 9l6-6M4 13l9-9M8 13l5-5" />
    </>
  ),
  question: (
    <>
      <path {...line} strokeWidth="1.5" d="M8 .9L15.1 8 8 15.1.9 8z" />
      <path {...line} strokeWidth="1.5" d="M6.3 6.4a1.75 1.75 0 1 1 2.5 1.6c-.6.3-.8.6-.8 1.1" />
      <circle cx="8" cy="11.2" r=".9" fill="currentColor" />
    </>
  ),
  bolt: <path {...line} strokeWidth="1.4" d="M8.8 1.6L4 8.8h3.2l-.8 5.6L11.2 7H8z" />,
  plus: <path {...line} strokeWidth="1.5" d="M8 3v10M3 8h10" />,
  drop: (
    <>
      <circle cx="8" cy="8" r="5.75" {...line} strokeWidth="1.5" strokeDasharray="2.5 2" />
      <path {...line} strokeWidth="1.5" d="M5.5 8h5" />
    </>
  ),
  pen: <path {...line} strokeWidth="1.3" d="M3.2 12.8l.8-3.2 6.8-6.8 2.4 2.4-6.8 6.8zM9.2 4.4l2.4 2.4" />,
};

type ShapeName = keyof typeof SHAPES;

export const Glyph = memo(function Glyph({ name, tone }: { name: ShapeName; tone?: Tone }) {
  return (
    <svg className={tone ? `glyph tone-${tone}` : "glyph"} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
});
