/** A constellation as one line of a list: name, state, sentence, how long it took and when it ended. */
import { Link } from "wouter";
import { usePart } from "../../../app/waiting/mine.ts";
import type { ConstellationRow } from "../../../model/types.ts";
import { createdMs, endedMs, tookWords, workedMs } from "../../../model/words/times.ts";
import { age, bothWords, duration, rowShown } from "../../../model/words/words.ts";
import { Glyph } from "../../../ui/Glyph.tsx";

export function RecentRow({ row, now }: { row: ConstellationRow; now: number }) {
  const part = usePart();
  const shown = rowShown(row, part);
  const end = endedMs(row);
  const both = bothWords(row, part);
  return (
    <Link className="recent" href={`/constellations/${row.id}`}>
      <Glyph name={shown.glyph} tone={shown.tone} />
      <span className="sr">{shown.word}</span>
      <span className="cut" title={row.request}>
        <b className="strong">{row.name || row.request || row.id}</b>
        {row.name && row.request && row.request !== row.name && <span className="dim asked"> {row.request}</span>}
      </span>
      <span className="dim cut sentence">
        {shown.glyph === "alarm" && <b className={`word tone-${shown.tone}`}>Alarm: </b>}
        {both && <b className={`word tone-${shown.tone}`}>{both}. </b>}
        {row.sentence || (end ? row.request : !both && shown.word)}
      </span>
      <span className="small dim num nowrap took" title={tookWords(row)}>
        {end ? duration(workedMs(row)) : ""}
      </span>
      <span className="small dim num nowrap">{age(end || createdMs(row), now)}</span>
    </Link>
  );
}
