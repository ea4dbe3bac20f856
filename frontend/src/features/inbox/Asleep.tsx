/** The way to wake a sleeping browser tab: its page is opened on the device itself, by its camera or by hand. */
import type { PageAddress } from "../../model/types.ts";
import { CopyLine, QrCode } from "../../ui/parts.tsx";

export function Asleep({ names, again }: { names: readonly string[]; again: PageAddress }) {
  const who = names.join(", ") || "the device";
  return (
    <section className="stack" aria-label="Asleep - open it">
      <p>
        <b className="strong">Open its page on {who}:</b> scan this there, or use the icon on its home screen. Waiting
        work then goes on.
      </p>
      <QrCode shape={again.qr} label={`Scan this with ${who} to open its page`} />
      <CopyLine line={again.url} label="the address of its page" />
    </section>
  );
}
