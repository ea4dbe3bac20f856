/** Builds a log of events as the hub would write it: numbers, times and the state so far. Knows no scenario. */
import type { Entity, StreamEvent } from "../src/model/types.ts";

export const T0 = Date.UTC(2026, 10, 21, 11, 3, 9);

export type Puts = Record<string, Entity | null>;

export class LogBuilder {
  readonly events: StreamEvent[] = [];
  private readonly state = new Map<string, Entity>();
  private at = 0;
  private readonly stream: string;

  constructor(stream: string) {
    this.stream = stream;
  }

  wait(ms: number): this {
    this.at += ms;
    return this;
  }

  get now(): number {
    return T0 + this.at;
  }

  get<T extends Entity>(key: string): T {
    return this.state.get(key) as T;
  }

  has(key: string): boolean {
    return this.state.has(key);
  }

  put(kind: string, puts: Puts, more: { by?: string; about?: string; note?: string } = {}): this {
    for (const [key, entity] of Object.entries(puts)) {
      if (entity === null) this.state.delete(key);
      else this.state.set(key, entity);
    }
    this.events.push({
      at_ms: this.now,
      by: more.by ?? "engine",
      kind,
      puts,
      seq: this.events.length + 1,
      stream: this.stream,
      ...(more.about ? { about: more.about } : {}),
      ...(more.note ? { note: more.note } : {}),
    });
    return this;
  }

  task(id: string, change: Entity, kind: string, also: Puts = {}, note = ""): this {
    const record = {
      ...(this.state.get(`task/${id}`) ?? { state: "waiting" }),
      ...change,
      since_ms: this.now,
    } as Record<string, unknown>;
    for (const [name, value] of Object.entries(record))
      if (value === undefined || value === null || value === false) delete record[name];
    return this.put(kind, { [`task/${id}`]: record, ...also }, { about: id, note });
  }

  start(id: string, device: string): this {
    const number = Number(this.state.get(`task/${id}`)?.attempt ?? 0) + 1;
    const attempt = {
      device,
      incarnation: 1,
      leased_ms: this.now,
      repeatability: "idempotent",
      why: "the plan names it",
    };
    this.task(id, { state: "leased", attempt: number, device, started: number, reason: null }, "leased", {
      [`attempt/${id}/${number}`]: attempt,
    });
    this.wait(20);
    return this.task(id, { state: "running" }, "started", {
      [`attempt/${id}/${number}`]: { ...attempt, started_ms: this.now },
    });
  }

  end(id: string, ms: number, value: unknown, checked = false): this {
    const number = Number(this.state.get(`task/${id}`)?.attempt ?? 1);
    const attempt = this.state.get(`attempt/${id}/${number}`) ?? {};
    this.wait(ms);
    return this.task(id, { state: "succeeded", checked }, "succeeded", {
      [`attempt/${id}/${number}`]: {
        ...attempt,
        end: "ok",
        ended_ms: this.now,
        value: JSON.stringify(value),
        tail: `${id} done\n`,
      },
    });
  }
}
