/**
 * What schedules have to tell, on Home and in the inbox, until this person has seen it. Live from the fleet's stream.
 * Notices that nobody could see for one cause are one row.
 */
import { useState } from "react";
import { Link } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { byCause, type Cause, unseenTogether } from "../../app/waiting/causes.ts";
import { useNotices } from "../../app/waiting/waiting.ts";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { Schedules } from "../../link/schedules.ts";
import { nameOfDevice } from "../../model/fleet/fleet.ts";
import type { Schedule } from "../../model/types.ts";
import { age, plural } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button } from "../../ui/parts.tsx";

/** The newest words of a cause that stand in its row; more of them are counted. */
const TEXTS_MOST = 3;

export function Notices() {
  const told = useNotices();
  const causes = byCause(told);
  if (causes.length === 0) return null;
  return (
    <section className="card" aria-label="From your schedules">
      <header>
        <h2>From your schedules</h2>
        <span className="dim">{causes.length}</span>
      </header>
      {causes.map((group) =>
        group.length === 1 ? (
          <NoticeItem key={group[0].id} schedule={group[0]} />
        ) : (
          <UnseenItem key={group[0].id} schedules={group} />
        ),
      )}
    </section>
  );
}

/** Marks notices as seen by this person, all in one request. */
function SeenButton({ schedules, label }: { schedules: readonly Schedule[]; label: string }) {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const [busy, setBusy] = useState(false);
  const seen = async () => {
    setBusy(true);
    try {
      await new Schedules(hub.rest).seen(schedules.map(({ id }) => id));
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button asks="anyone" disabled={busy} onClick={() => void seen()}>
      {label}
    </Button>
  );
}

const targetOf = ({ notice }: Schedule): string =>
  notice?.constellation ? `/constellations/${notice.constellation}` : "/schedules";

function NoticeItem({ schedule }: { schedule: Schedule }) {
  const now = useNow(10_000);
  const { notice } = schedule;
  if (!notice) return null;
  return (
    <div className="item">
      <Glyph name="hand" tone="violet" />
      <span className="row">
        <Link className="link strong cut" href={targetOf(schedule)}>
          {schedule.name}
        </Link>
        <span className="small dim nowrap">
          {age(notice.at_ms, now)}
          {(notice.count ?? 1) > 1 && `, ${notice.count} times`}
        </span>
      </span>
      <SeenButton schedules={[schedule]} label="Seen" />
      <span className="sub">{notice.text}</span>
    </div>
  );
}

/** Notices of several schedules that nobody could see, for one cause, the newest first. */
function UnseenItem({ schedules }: { schedules: Cause }) {
  const fleet = useFleet();
  const now = useNow(10_000);
  const { count, first, last, device } = unseenTogether(schedules);
  const head = `${plural(count, "notice")} could not be shown on ${nameOfDevice(fleet, device)}`;
  const more = schedules.length - TEXTS_MOST;
  return (
    <div className="item" role="group" aria-label={head}>
      <Glyph name="hand" tone="violet" />
      <span className="row">
        <b className="strong cut">{head}</b>
        <span className="small dim nowrap">
          first {age(first, now)}, last {age(last, now)}
        </span>
      </span>
      <SeenButton schedules={schedules} label={`Seen, all ${schedules.length}`} />
      {schedules.slice(0, TEXTS_MOST).map((schedule) => (
        <span key={schedule.id} className="sub">
          <Link className="link" href={targetOf(schedule)}>
            {schedule.name}
          </Link>
          : {schedule.notice?.text}
        </span>
      ))}
      {more > 0 && <span className="sub dim">and {plural(more, "other schedule")}</span>}
    </div>
  );
}
