/** Clocks as people set them: a rhythm and a time, or a cron expression; and a firing's time in its own zone. */

export type Rhythm = "hourly" | "daily" | "weekdays" | "weekly" | "monthly" | "last_day" | "cron";

export interface Clock {
  rhythm: Rhythm;
  /** `HH:MM`; the hour means nothing to an hourly clock. */
  time: string;
  /** 0 is Sunday. */
  weekday: number;
  /** Day of the month, 1 to 31; a month without it has no firing. */
  day: number;
  cron: string;
}

export const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;
const FIRST: Clock = { rhythm: "daily", time: "08:00", weekday: 1, day: 1, cron: "0 8 * * *" };

export function cronOf(clock: Clock): string {
  const [hour = "0", minute = "0"] = clock.time.split(":").map((part) => String(Number(part) || 0));
  switch (clock.rhythm) {
    case "hourly":
      return `${minute} * * * *`;
    case "daily":
      return `${minute} ${hour} * * *`;
    case "weekdays":
      return `${minute} ${hour} * * 1-5`;
    case "weekly":
      return `${minute} ${hour} * * ${clock.weekday}`;
    case "monthly":
      return `${minute} ${hour} ${clock.day} * *`;
    case "last_day":
      return `${minute} ${hour} L * *`;
    case "cron":
      return clock.cron.trim();
  }
}

/** The highest day that a month has. */
export const LAST_DAY = 31;
/** Every month has this day. */
export const DAY_OF_ALL = 28;
const NUMBER = /^\d{1,2}$/;

/** The same the other way round; what fits no rhythm stays an expression. */
export function clockOf(cron: string | null): Clock {
  if (cron === null) return FIRST;
  const [minute = "", hour = "", day = "", month = "", weekday = "", ...more] = cron.trim().split(/\s+/);
  const free: Clock = { ...FIRST, rhythm: "cron", cron };
  if (more.length > 0 || month !== "*" || !NUMBER.test(minute)) return free;
  const time = `${(NUMBER.test(hour) ? hour : "0").padStart(2, "0")}:${minute.padStart(2, "0")}`;
  const fixed = { ...free, time };
  if (hour === "*") return day === "*" && weekday === "*" ? { ...fixed, rhythm: "hourly" } : free;
  if (!NUMBER.test(hour)) return free;
  if (day === "*" && weekday === "*") return { ...fixed, rhythm: "daily" };
  if (day === "*" && weekday === "1-5") return { ...fixed, rhythm: "weekdays" };
  if (day === "*" && /^[0-6]$/.test(weekday)) return { ...fixed, rhythm: "weekly", weekday: Number(weekday) };
  if (weekday === "*" && day === "L") return { ...fixed, rhythm: "last_day" };
  if (weekday === "*" && NUMBER.test(day) && Number(day) >= 1 && Number(day) <= LAST_DAY)
    return { ...fixed, rhythm: "monthly", day: Number(day) };
  return free;
}

const TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2}):\d{2}(?:\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

interface FiringTime {
  /** `Sun 29 Mar 03:00` in the zone of the schedule. */
  text: string;
  /** `UTC+2` */
  offset: string;
}

/** A firing's time as its own zone has it, whatever zone the reader is in. */
export function firingTime(iso: string): FiringTime {
  const found = TIME.exec(iso);
  if (!found) return { text: iso, offset: "" };
  const [, year, month, day, time, zone = "Z"] = found;
  const weekday = WEEKDAYS[new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDay()] ?? "";
  const offset = zone === "Z" ? "+0" : zone.replace(/^([+-])0?(\d+):00$/, "$1$2");
  return {
    text: `${weekday.slice(0, 3)} ${Number(day)} ${MONTHS[Number(month) - 1]} ${time}`,
    offset: `UTC${offset}`,
  };
}

interface ReaderTime {
  /** `Sun 29 Mar 03:00` in the zone of the reader. */
  text: string;
  /** `02:30 Europe/Vienna`, with its day where that is another; empty where both clocks show the same. */
  there: string;
}

/** A firing's time as the reader's clock shows it, beside the times of runs, and as its own zone has it. */
export function readerTime(iso: string, zone: string, reader = ownZone()): ReaderTime {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return { text: iso, there: "" };
  const own = firingTime(iso).text;
  const text = timeIn(at, reader);
  if (text === own) return { text, there: "" };
  const sameDay = text.slice(0, -5) === own.slice(0, -5);
  return { text, there: `${sameDay ? own.slice(-5) : own} ${zone}` };
}

function timeIn(at: number, zone: string): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    day: "numeric",
    month: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const part = Object.fromEntries(format.formatToParts(at).map((one) => [one.type, one.value]));
  return `${part.weekday} ${Number(part.day)} ${MONTHS[Number(part.month) - 1]} ${part.hour}:${part.minute}`;
}

const HUB_TIME = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g;

/** A moment on the reader's clock: `14:16` of today, else with its day. */
export function momentWords(ms: number, nowMs = Date.now(), zone = ownZone()): string {
  const [text, today] = [timeIn(ms, zone), timeIn(nowMs, zone)];
  return text.slice(0, -5) === today.slice(0, -5) ? text.slice(-5) : text;
}

/** A sentence of the hub with its times as the reader's clock shows them. */
export const ownTimes = (sentence: string): string =>
  sentence.replace(HUB_TIME, (at) => momentWords(Date.parse(`${at.slice(0, -4).replace(" ", "T")}Z`)));

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
