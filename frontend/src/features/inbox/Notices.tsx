/** What schedules have to tell, on Home and in the inbox, until it is seen. Live from the fleet's stream. */
import { Link } from "wouter";
import { useDoing } from "../../app/actions/Actions.tsx";
import { useFleet, useNow, useWorkspace } from "../../app/workspace/context.ts";
import { Schedules } from "../../link/schedules.ts";
import type { Schedule } from "../../model/types.ts";
import { age } from "../../model/words/words.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Button } from "../../ui/parts.tsx";

function useNotices(): Schedule[] {
  const fleet = useFleet();
  const told = [...fleet.kind<Schedule>("schedule").values()].filter((schedule) => schedule.notice);
  return told.sort((one, other) => (other.notice?.at_ms ?? 0) - (one.notice?.at_ms ?? 0));
}

export function Notices() {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const now = useNow(10_000);
  const told = useNotices();
  if (told.length === 0) return null;
  return (
    <section className="card" aria-label="From your schedules">
      <header>
        <h2>From your schedules</h2>
        <span className="dim">{told.length}</span>
      </header>
      {told.map((schedule) => {
        const notice = schedule.notice;
        if (!notice) return null;
        const target = notice.constellation ? `/constellations/${notice.constellation}` : "/schedules";
        return (
          <div key={schedule.id} className="item">
            <Glyph name="hand" tone="violet" />
            <span className="row">
              <Link className="link strong cut" href={target}>
                {schedule.name}
              </Link>
              <span className="small dim nowrap">
                {age(notice.at_ms, now)}
                {(notice.count ?? 1) > 1 && `, ${notice.count} times`}
              </span>
            </span>
            <Button
              asks
              onClick={async () => {
                try {
                  await new Schedules(hub.rest).control(schedule.id, "seen");
                } catch (error) {
                  report(error);
                }
              }}
            >
              Seen
            </Button>
            <span className="sub">{notice.text}</span>
          </div>
        );
      })}
    </section>
  );
}
