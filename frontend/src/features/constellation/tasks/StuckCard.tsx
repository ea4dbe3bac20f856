/** Why a constellation stands still, on its own page: which task, the devices that nearly fit, and what to do. */

import { stoppedOf } from "../../../app/waiting/waiting.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import type { Head, WhyAll } from "../../../model/types.ts";
import { ATTENTION } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { StoppedItem } from "../../inbox/WaitingCard.tsx";

const TASKS_MAX = 5;

interface Props {
  constellation: Head;
  /** What the hub says about its tasks; null until it was read. */
  stops: WhyAll | null;
  views: TaskView[];
  onSelect: (task: string) => void;
}

export function StuckCard({ constellation, stops, views, onSelect }: Props) {
  const attention = constellation.attention ?? [];
  const found = stops ? stoppedOf(constellation, stops.items, stops.attention) : [];
  const told = views.filter((view) => view.record?.reason === "owner_asked" && view.attempt?.detail);
  return (
    <>
      {found.slice(0, TASKS_MAX).map((item) => (
        <StoppedItem key={`${item.task}/${item.sentence}`} item={item} onSelect={item.task ? onSelect : undefined} />
      ))}
      {found.length > TASKS_MAX && <p className="small dim">and {found.length - TASKS_MAX} more like these.</p>}
      {found.length === 0 &&
        attention.map((reason) => (
          <p key={reason} className="item">
            <Glyph name="hand" tone="violet" />
            <b className="strong">{ATTENTION[reason]}</b>
          </p>
        ))}
      {told.slice(0, TASKS_MAX).map((view) => (
        <p key={view.id} className="small">
          {view.deviceName}: {view.attempt?.detail}
        </p>
      ))}
    </>
  );
}
