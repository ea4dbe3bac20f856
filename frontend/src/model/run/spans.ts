/**
 * The phases of a run's time: those of a report, and what has happened since, folded from the events of the stream.
 * The twin of `core/answer/spans.py`; both are held to `tests/core/answer/spans.json`. No React, no words.
 */
import type { Attempt, Head, Job, Phase, Question, RunReport, StreamEvent, TaskRecord } from "../types.ts";
import { FINAL_STATES, PHASE_OF_REASON, PHASE_OF_RUN, PHASE_OF_STATE } from "../types.ts";

export interface Span {
  /** The task; empty for the run itself. */
  task: string;
  phase: Phase;
  device: string;
  attempt: number;
  fromMs: number;
  /** 0 while it goes on. */
  toMs: number;
  hedge: boolean;
}

type State = Pick<TaskRecord, "state" | "reason">;

/** The phase of a task in this state, in a constellation in that state; null if its time counts for none. */
function phaseOf(record: TaskRecord, run: Head["state"]): Phase | null {
  if (record.state === "ready") {
    return (record.reason ? PHASE_OF_REASON[record.reason] : PHASE_OF_RUN[run]) ?? "queue";
  }
  if (record.absent_since_ms && (record.state === "leased" || record.state === "running")) return "away";
  if (record.state === "running" && record.reason === "tap") return "person";
  return PHASE_OF_STATE[record.state] ?? null;
}

export class SpanBook {
  /** In the order in which they began. */
  readonly spans: Span[] = [];
  /** The last event that is in it. */
  seq = 0;
  private readonly open = new Map<string, Span>();
  /** What goes on of the run itself and came with a report, which does not name the job or question. */
  private nameless: Span[] = [];
  private readonly ready = new Map<string, State>();
  private run: Head["state"] = "planning";

  /** The spans of a report. */
  static of(report: RunReport): SpanBook {
    const book = new SpanBook();
    const beginMs = Date.parse(report.created_at);
    const found = report.spans;
    book.seq = report.seq;
    book.run = report.state;
    if (!found) return book;
    for (let at = 0; at < found.phase.length; at += 1) {
      const to = found.to_ms[at] ?? -1;
      const span: Span = {
        task: found.tasks[found.task[at] ?? -1] ?? "",
        phase: found.phase[at] as Phase,
        device: found.devices[found.device[at] ?? -1] ?? "",
        attempt: found.attempt[at] ?? 0,
        fromMs: beginMs + (found.from_ms[at] ?? 0),
        toMs: to < 0 ? 0 : beginMs + to,
        hedge: found.hedge[at] === 1,
      };
      book.spans.push(span);
      if (span.toMs) continue;
      if (span.task) book.open.set(span.hedge ? `${span.task}/${span.attempt}` : span.task, span);
      else if (PHASE_OF_RUN[report.state] === span.phase) book.open.set("", span);
      else book.nameless.push(span);
    }
    return book;
  }

  /** Folds the events that are not in it yet. False at a gap: what is missing has to be read again. */
  add(events: readonly StreamEvent[]): boolean {
    let at = events.length;
    while (at > 0 && (events[at - 1]?.seq ?? 0) > this.seq) at -= 1;
    for (; at < events.length; at += 1) {
      const event = events[at];
      if (!event || event.seq !== this.seq + 1) return false;
      this.seq = event.seq;
      for (const [key, entity] of Object.entries(event.puts)) this.put(key, entity, event.at_ms);
    }
    return true;
  }

  private put(key: string, entity: unknown, atMs: number): void {
    const cut = key.indexOf("/");
    const [kind, name] = cut < 0 ? [key, ""] : [key.slice(0, cut), key.slice(cut + 1)];
    if (kind === "task") this.task(name, entity as TaskRecord | null, atMs);
    else if (entity === null) return;
    else if (kind === "head") this.head(entity as Head, atMs);
    else if (kind === "attempt") this.attempt(name, entity as Attempt, atMs);
    else if (kind === "job") this.beside(key, "model", (entity as Job).state === "done", atMs);
    else if (kind === "question") {
      const question = entity as Question;
      if (!question.task && question.kind !== "approval") this.beside(key, "person", !!question.answered_ms, atMs);
    }
  }

  private head(head: Head, atMs: number): void {
    if (head.state === this.run) return;
    this.run = head.state;
    this.to("", PHASE_OF_RUN[head.state] ?? null, { task: "", device: "", attempt: 0 }, atMs);
    const whole = PHASE_OF_RUN[head.state] ?? "queue";
    for (const [task, span] of [...this.open]) {
      // A task that is ready for no reason of its own waits for what the run waits for.
      const own = span.task !== "" && (span.phase === "queue" || isOfRun(span.phase));
      if (own && !this.ready.get(task)?.reason) this.to(task, whole, span, atMs);
    }
    if (FINAL_STATES.has(head.state)) for (const key of [...this.open.keys()]) this.close(key, atMs);
    if (FINAL_STATES.has(head.state)) for (const span of this.nameless.splice(0)) span.toMs = atMs;
  }

  private task(name: string, record: TaskRecord | null, atMs: number): void {
    if (record === null) {
      this.ready.delete(name);
      this.close(name, atMs);
      return;
    }
    const waits = record.state === "ready";
    if (waits) this.ready.set(name, record);
    else this.ready.delete(name);
    const place = {
      task: name,
      device: waits ? "" : (record.device ?? ""),
      attempt: waits ? 0 : (record.attempt ?? 0),
    };
    this.to(name, phaseOf(record, this.run), place, atMs);
  }

  private attempt(key: string, attempt: Attempt, atMs: number): void {
    if (attempt.end || !attempt.hedge) {
      this.close(key, atMs);
      return;
    }
    const cut = key.lastIndexOf("/");
    const place = { task: key.slice(0, cut), device: attempt.device, attempt: Number(key.slice(cut + 1)), hedge: true };
    this.to(key, attempt.started_ms ? "working" : "starting", place, atMs);
  }

  /** A job of a model or a question of the run itself. */
  private beside(key: string, phase: Phase, over: boolean, atMs: number): void {
    const at = this.open.has(key) ? -1 : this.nameless.findIndex((span) => span.phase === phase);
    const [adopted] = at < 0 ? [] : this.nameless.splice(at, 1);
    if (adopted) this.open.set(key, adopted);
    if (over) this.close(key, atMs);
    else this.to(key, phase, { task: "", device: "", attempt: 0 }, atMs);
  }

  private to(
    key: string,
    phase: Phase | null,
    place: { task: string; device: string; attempt: number; hedge?: boolean },
    atMs: number,
  ): void {
    const held = this.open.get(key);
    const { task, device, attempt, hedge = false } = place;
    if (held && held.phase === phase && held.device === device && held.attempt === attempt) return;
    this.close(key, atMs);
    if (!phase) return;
    const span = { task, phase, device, attempt, fromMs: atMs, toMs: 0, hedge };
    this.open.set(key, span);
    this.spans.push(span);
  }

  private close(key: string, atMs: number): void {
    const span = this.open.get(key);
    if (!span) return;
    span.toMs = atMs;
    this.open.delete(key);
  }
}

const isOfRun = (phase: Phase): boolean => phase === "approval" || phase === "paused";
