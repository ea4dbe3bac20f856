/** The lab of the mock hub: one simulated device that can be broken, and two scenarios. Tests move it by hand. */
import type { Entity } from "../src/model/types.ts";

interface Publisher {
  now(): number;
  changed(topic: string): void;
  entities(stream: string): Map<string, Entity>;
  publish(stream: string, kind: string, puts: Record<string, Entity | null>, more?: { note?: string }): void;
}

const SERVER = "d-server";
const scenario = (name: string, title: string, target: string, kind: string) => ({
  about: "What is asked for is done once.",
  devices: ["north", "south"],
  expect: { state: "succeeded", within_s: 30 },
  faults: [{ at: { after_s: 1 }, device: null, for_s: 3, kind, target }],
  latest: null as { id: string; state: string; ended_at: string | null } | null,
  name,
  seed: 1,
  title,
});

export class MockLab {
  readonly scenarios = [
    scenario("cut-link", "A cut link", "link", "cut"),
    scenario("killed-hub", "A killed hub", "hub", "kill"),
  ];
  readonly run = {
    began_at: "2026-01-01T00:00:00Z",
    effects: {} as Record<string, Record<string, number>>,
    end: null as string | null,
    ended_at: null as string | null,
    id: "r1",
    misses: [] as string[],
    said: [],
    scenario: "cut-link",
    state: "starting",
    story: [] as { at_s: number; kind: string; text: string }[],
    took_s: null as number | null,
    why: "",
  };
  /** Nobody runs the simulated devices. */
  away = false;
  refuses = "";
  private readonly hub: Publisher;

  constructor(hub: Publisher) {
    this.hub = hub;
  }

  answer(method: string, path: string, body: unknown): { status: number; body: unknown } {
    if (path === "/lab/faults" && method === "POST") return this.wound(body as { kind: string; for_s: number });
    if (path === "/lab/faults") return { body: { devices: [this.breakable()], items: [], next: null }, status: 200 };
    if (path === "/lab/faults/f1" && method === "DELETE") {
      this.change("fault_heal_asked", { healing: true });
      return { body: { id: "f1" }, status: 200 };
    }
    if (path === "/lab/faults/f1") return { body: { id: "f1", report: this.report() }, status: 200 };
    if (path === "/lab/scenarios") return { body: { items: this.scenarios, next: null }, status: 200 };
    if (path === "/lab/scenarios/cut-link/runs") {
      this.show("starting");
      return { body: this.run, status: 201 };
    }
    if (path === "/lab/scenarios/cut-link/runs/r1") {
      if (method === "DELETE") this.show("stopped");
      return { body: this.run, status: 200 };
    }
    return { body: { code: "not_found", reason: `there is nothing at ${path}` }, status: 404 };
  }

  /** The lab's program says that the fault began, or that it is over. */
  began(): void {
    this.change("fault_injected", { began_ms: this.hub.now(), note: "the agent is killed", state: "active" });
  }

  over(): void {
    this.change("fault_ended", { ended_ms: this.hub.now(), healing: false, state: "over" });
  }

  /** Moves the run on. */
  show(state: string, more: Partial<MockLab["run"]> = {}): void {
    Object.assign(this.run, more, { state });
    const first = this.scenarios[0];
    if (first) first.latest = { ended_at: null, id: "r1", state };
    this.hub.changed("scenarios");
  }

  private breakable() {
    const can = { device: ["kill", "freeze"], link: ["cut"] };
    const why = "no program of the lab runs it now";
    return { can: this.away ? {} : can, id: SERVER, name: "demo-server", why_not: this.away ? why : null };
  }

  private wound(body: { kind: string; for_s: number }) {
    if (this.refuses) return { body: { code: "fault_impossible", reason: this.refuses }, status: 409 };
    const fault = { ...body, asked_ms: this.hub.now(), by: "person:mara", for_ms: body.for_s * 1000, id: "f1" };
    this.hub.publish("fleet", "fault_asked", { "lab_fault/f1": fault });
    return { body: { id: "f1", report: [], state: "asked" }, status: 201 };
  }

  private change(kind: string, more: Entity): void {
    const held = this.hub.entities("fleet").get("lab_fault/f1") ?? {};
    this.hub.publish("fleet", kind, { "lab_fault/f1": { ...held, ...more } });
  }

  private report() {
    return [
      {
        begun: { count: { "demo-server": 2 } },
        constellation: "c-done",
        ended: false,
        name: "Count slowly",
        state: "active",
        story: [
          { at_s: 0, kind: "fault", text: "the agent is killed" },
          { at_s: 2.1, kind: "engine", text: "count: Running, attempt 2 on demo-server" },
        ],
      },
    ];
  }
}
