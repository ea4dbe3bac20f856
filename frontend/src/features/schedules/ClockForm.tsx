/** Setting a clock: rhythm, time and zone; and what happens when firings meet, are missed, or have news. */
import { useId } from "react";
import { useFleet } from "../../app/workspace/context.ts";
import type { Terms } from "../../link/schedules.ts";
import { devices } from "../../model/fleet/fleet.ts";
import type { ScheduleRow } from "../../model/types.ts";
import {
  type Clock,
  clockOf,
  cronOf,
  DAY_OF_ALL,
  firingTime,
  LAST_DAY,
  type Rhythm,
  WEEKDAYS,
} from "../../model/words/clock.ts";
import { numberIn } from "../../model/words/exact.ts";
import { Labelled, TypedField } from "../../ui/parts.tsx";

const LAST_DAYS = "on the last day of every month";
const RHYTHMS: [Rhythm, string][] = [
  ["hourly", "every hour"],
  ["daily", "every day"],
  ["weekdays", "Monday to Friday"],
  ["weekly", "every week"],
  ["monthly", "every month"],
  ["last_day", LAST_DAYS],
  ["cron", "in words, or by a cron expression"],
];
const OVERLAPS: [Terms["overlap"], string][] = [
  ["skip", "leave the new one out"],
  ["queue", "let the new one wait"],
  ["cancel_previous", "cancel the one before"],
  ["allow", "run both"],
];
const CATCH_UPS: [Terms["catch_up"], string][] = [
  ["none", "make up for none"],
  ["last", "make up for the last"],
  ["all", "make up for all, up to 24"],
];
const NOTIFIES: [Terms["notify"], string][] = [
  ["never", "never"],
  ["failure", "when it fails"],
  ["change", "when the answer changes"],
  ["always", "every time"],
];

interface WholeFieldProps {
  id: string;
  value: number;
  least: number;
  most: number;
  onValue: (value: number) => void;
}

/** A whole number within bounds. The browser keeps a form back whose number is another one. */
function WholeField({ id, value, least, most, onValue }: WholeFieldProps) {
  const read = (text: string): number => {
    const typed = numberIn(text, { whole: true, least, most });
    if (typed.value === null) throw new Error(`It ${typed.fault ?? "needs a number"}.`);
    return typed.value;
  };
  return (
    <TypedField id={id} type="number" required min={least} max={most} {...{ value, read, onValue }} write={String} />
  );
}

interface ClockFormProps {
  terms: Terms;
  clock: Clock;
  onChange: (terms: Terms, clock: Clock) => void;
  /** The text of a calendar file, whose days come to those that are written. */
  onCalendar: (text: string) => void;
}

export function ClockForm({ terms, clock, onChange, onCalendar }: ClockFormProps) {
  const zones = useId();
  const wind = (change: Partial<Clock>) => {
    const next = { ...clock, ...change };
    // What was set is what the expression begins with.
    const held = change.rhythm === "cron" ? { ...next, cron: cronOf(clock) } : next;
    onChange({ ...terms, cron: cronOf(held) }, held);
  };
  return (
    <div className="clockform">
      <Labelled label="How often">
        {(id) => (
          <select id={id} value={clock.rhythm} onChange={(event) => wind({ rhythm: event.target.value as Rhythm })}>
            {RHYTHMS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {clock.rhythm === "weekly" && (
        <Labelled label="On">
          {(id) => (
            <select id={id} value={clock.weekday} onChange={(event) => wind({ weekday: Number(event.target.value) })}>
              {WEEKDAYS.map((name, number) => (
                <option key={name} value={number}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      )}
      {clock.rhythm === "monthly" && (
        <Labelled label="On day">
          {(id) => (
            <>
              <WholeField id={id} value={clock.day} least={1} most={LAST_DAY} onValue={(day) => wind({ day })} />
              {clock.day > DAY_OF_ALL && (
                <span className="small dim" role="status">
                  A month without a day {clock.day} is left out. <i>How often</i> has <i>{LAST_DAYS}</i>, too.
                </span>
              )}
            </>
          )}
        </Labelled>
      )}
      {clock.rhythm === "cron" ? (
        <Labelled label="every weekday at 7, or minute hour day month weekday">
          {(id) => (
            <input
              id={id}
              className="mono"
              spellCheck={false}
              value={clock.cron}
              onChange={(event) => wind({ cron: event.target.value })}
            />
          )}
        </Labelled>
      ) : (
        <Labelled label={clock.rhythm === "hourly" ? "At minute" : "At"}>
          {(id) =>
            clock.rhythm === "hourly" ? (
              <WholeField
                id={id}
                value={Number(clock.time.slice(3))}
                least={0}
                most={59}
                onValue={(minute) => wind({ time: `00:${String(minute).padStart(2, "0")}` })}
              />
            ) : (
              <input
                id={id}
                type="time"
                value={clock.time}
                onChange={(event) => event.target.value && wind({ time: event.target.value })}
              />
            )
          }
        </Labelled>
      )}
      <Labelled label="Time zone">
        {(id) => (
          <>
            <input
              id={id}
              list={zones}
              spellCheck={false}
              value={terms.zone}
              onChange={(event) => onChange({ ...terms, zone: event.target.value }, clock)}
            />
            <datalist id={zones}>
              {Intl.supportedValuesOf("timeZone").map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
          </>
        )}
      </Labelled>
      <DaysOff
        days={terms.except_days}
        onChange={(except_days) => onChange({ ...terms, except_days }, clock)}
        onCalendar={onCalendar}
      />
    </div>
  );
}

/** What happens when firings meet, when some were missed, and who is told of what. */
export function TermsForm({ terms, onChange }: { terms: Terms; onChange: (terms: Terms) => void }) {
  const fleet = useFleet();
  const names = [...devices(fleet).values()].map((view) => view.device.name);
  const set = (change: Partial<Terms>) => onChange({ ...terms, ...change });
  return (
    <div className="clockform">
      <Choice
        label="While the one before goes on"
        value={terms.overlap}
        choices={OVERLAPS}
        onChange={(overlap) => set({ overlap })}
      />
      <Choice
        label="Missed while the hub was off"
        value={terms.catch_up}
        choices={CATCH_UPS}
        onChange={(catch_up) => set({ catch_up })}
      />
      <Choice label="Tell me" value={terms.notify} choices={NOTIFIES} onChange={(notify) => set({ notify })} />
      <Choice
        label="Tell me also on"
        value={terms.notify_device ?? ""}
        choices={[["", "this page only"], ...names.map((name): [string, string] => [name, name])]}
        onChange={(name) => set({ notify_device: name || null })}
      />
    </div>
  );
}

function Choice<T extends string>(props: {
  label: string;
  value: T;
  choices: [T, string][];
  onChange: (value: T) => void;
}) {
  return (
    <Labelled label={props.label}>
      {(id) => (
        <select id={id} value={props.value} onChange={(event) => props.onChange(event.target.value as T)}>
          {props.choices.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

type Firings = Pick<ScheduleRow, "next" | "left_out" | "zone">;

/** The next firings and those left out between them, in the zone of the schedule; the offset shows a change of clock. */
export function NextFirings({ clock: { next, left_out, zone } }: { clock: Firings }) {
  const whys = new Map(left_out.map(({ at, why }) => [at, why]));
  const times = [...next, ...whys.keys()].sort((one, other) => Date.parse(one) - Date.parse(other));
  return (
    <ol className="firings num">
      {times.map((time) => {
        const shown = firingTime(time);
        const why = whys.get(time);
        return (
          <li key={time}>
            <time dateTime={time} className={why === undefined ? undefined : "dim"}>
              {shown.text}
            </time>{" "}
            <span className="small dim" title={zone}>
              {why === undefined ? shown.offset : `left out: ${why}`}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

interface DaysOffProps {
  days: string;
  onChange: (days: string) => void;
  onCalendar: (text: string) => void;
}

/** The days without a firing, in words; those of a calendar file, whose text the hub reads, come to them. */
function DaysOff({ days, onChange, onCalendar }: DaysOffProps) {
  return (
    <>
      <Labelled label="Not on these days">
        {(id) => (
          <input
            id={id}
            placeholder="25 December, 24 December to 2 January"
            spellCheck={false}
            value={days}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Labelled>
      <Labelled label="Add the days of a calendar file">
        {(id) => (
          <input
            id={id}
            type="file"
            accept=".ics,text/calendar"
            onChange={({ target }) => {
              void target.files?.[0]?.text().then(onCalendar);
              // Its days are kept, not the file: a name that stays would say that they are those of the file.
              target.value = "";
            }}
          />
        )}
      </Labelled>
    </>
  );
}

export const clockOfTerms = (terms: Terms): Clock => clockOf(terms.cron || null);
