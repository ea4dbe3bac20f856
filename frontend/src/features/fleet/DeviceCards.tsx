/** The devices as cards, for a narrow window. */
import { Link } from "wouter";
import type { DeviceView } from "../../model/fleet/fleet.ts";
import { rightsInShort } from "../../model/fleet/rights.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { Mark } from "./device/Mark.tsx";
import { type DevicesNow, ICONS, osOf, workWords } from "./devicesNow.tsx";
import { SmallLines, workWordsOf } from "./vitals/DeviceLines.tsx";

export function DeviceCards({ list, now }: { list: readonly DeviceView[]; now: DevicesNow }) {
  const { work, today, vitals, shownOf } = now;
  return (
    <ul className="devicecards">
      {list.map((view) => {
        const shown = shownOf(view);
        return (
          <li key={view.id}>
            <Link href={`/devices?device=${view.id}`} className="devicecard">
              <span className="row">
                <Icon name={ICONS[view.kind]} big />
                <span className="tag">{view.tag}</span>
                <b className="strong cut">{view.device.name}</b>
                <Mark view={view} />
              </span>
              <span className={`row strong word tone-${shown.tone}`}>
                <Glyph name={shown.glyph} />
                {shown.word}
              </span>
              <span className="small dim">
                {[osOf(view), workWords(work.get(view.id)), workWordsOf(today.get(view.id))].filter(Boolean).join(", ")}
              </span>
              <span className="small dim">{rightsInShort(view.device, view.offer)}</span>
              <SmallLines vitals={vitals} device={view.id} />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
