/** A QR code that the hub drew: dark on white in every theme, because cameras need it so. */
import type { QrCode as Drawing } from "../model/types.ts";

export function QrCode({ shape, label }: { shape: Drawing; label: string }) {
  return (
    <svg className="qr" viewBox={`0 0 ${shape.size} ${shape.size}`} role="img" aria-label={label}>
      <title>{label}</title>
      <rect width={shape.size} height={shape.size} fill="#fff" />
      <path d={shape.path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
