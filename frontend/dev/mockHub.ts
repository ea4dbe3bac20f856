/**
 * A small hub for the page's development and tests: REST and the live stream in the real shapes, from a scenario.
 * Keeps its streams in memory; controls change them a little, so that buttons have an effect. No network of its own.
 */

import type { AskRow } from "../src/generated/api.ts";
import type { Entity, InvitationRow, ProposalRow, StreamEvent } from "../src/model/types.ts";
import { fold } from "./apply.ts";
import { stateHash } from "./canonical.ts";
import { DESKTOP, fleetLog } from "./fleetScenario.ts";
import { T0 } from "./logBuilder.ts";
import { type Answered, preview, problem, RECIPES, SCHEDULES, SECRETS, why, whyAll } from "./mockDocuments.ts";
import { MockLab } from "./mockLab.ts";
import { deedsOf, vitalsOf, workOf } from "./mockVitals.ts";
import { CONSTELLATION, photoBackup, type Stop } from "./scenario.ts";

export interface LiveClient {
  send(text: string): void;
}

const iso = (ms: number) => new Date(ms).toISOString();

export interface MockOptions {
  stop?: Stop;
  signedIn?: boolean;
  /** What the sign-in link gives; it is one for oneself without this. */
  invitation?: InvitationRow;
  /** The browser comes with a session that was ended. */
  sessionEnded?: boolean;
  question?: boolean;
  /** The answers to it after which files leave their place. */
  takesAway?: string[];
  /** How many such questions are open; one without it. */
  questions?: number;
  /** Moves all hub times, so that the scenario seems to run now. */
  empty?: boolean;
  /** The hub was started with `--lab`. */
  lab?: boolean;
  /** The schedules; those of the scenario without it. */
  schedules?: unknown[];
  /** The role of the person who looks; the owner without it. */
  role?: "owner" | "operator" | "approver" | "viewer";
  /** The parts of the role to which the sign-in is limited; all of it without any. */
  scopes?: string[];
  /** The role that this person has by now; that of the sign-in without it. */
  personRole?: string;
}

/** What a submit answers that was waited for: the test task of a new device, for one. */
const WAITED_FOR = {
  answer: { items: [], sentence: "1 task done on pop-os-laptop.", state: "final" },
  id: CONSTELLATION,
  state: "succeeded",
  version: 1,
};

/** The list that an entity belongs to, by the kind of its key (edge/live/fanout.py). */
const TOPICS: Record<string, string> = {
  attempt: "tasks",
  group: "tasks",
  head: "constellations",
  question: "approvals",
  recipe: "recipes",
  schedule: "schedules",
  task: "tasks",
};

export class MockHub {
  signedIn: boolean;
  sessionEnded: boolean;
  readonly invitation: InvitationRow | null;
  readonly calls: { method: string; path: string; body: unknown }[] = [];
  /** Beside the rest of it, the end of a request that is waited for. */
  waitedFor: object = {};
  /** The days without a firing that the preview of a schedule has read. */
  daysOff = "";
  /** Sentences on the grants that an approval's plan lacks. */
  ungranted: string[] = [];
  /** Whether the listener of the local network is open. */
  private lanOpen = false;
  private readonly logs = new Map<string, StreamEvent[]>();
  private readonly clients = new Map<LiveClient, Set<string>>();
  readonly lab: MockLab | null;
  private readonly takesAway: string[];
  /** Why no device can begin the last row of a plan; empty where each can begin. */
  unable = "";
  /** A task that may not be marked. */
  refused = "";
  /** Tasks that the person has to name before a control repeats them. */
  repeats: string[] = [];
  /** Questions of devices that were answered lately. */
  answeredAsks: AskRow[] = [];
  /** Plans that the person may keep as recipes. */
  proposals: ProposalRow[] = [];

  private readonly role: string;
  private readonly scopes: string[];
  private readonly personRole: string;
  private readonly schedules: unknown[];

  constructor(options: MockOptions = {}) {
    this.signedIn = options.signedIn ?? true;
    this.invitation = options.invitation ?? null;
    this.sessionEnded = options.sessionEnded ?? false;
    this.takesAway = options.takesAway ?? [];
    this.schedules = options.schedules ?? SCHEDULES;
    this.role = options.role ?? "owner";
    this.scopes = options.scopes ?? [];
    this.personRole = options.personRole ?? this.role;
    this.lab = options.lab ? new MockLab(this) : null;
    this.logs.set("fleet", options.empty ? [] : fleetLog());
    if (options.empty) return;
    this.logs.set(CONSTELLATION, photoBackup(options.stop ?? "killed"));
    this.logs.set("c-done", rename(photoBackup("final"), "c-done"));
    this.logs.set("c-failed", rename(photoBackup("failed"), "c-failed"));
    if (options.question) for (let at = 1; at <= (options.questions ?? 1); at += 1) this.ask(at);
  }

  now(): number {
    return T0 + 6000;
  }

  entities(stream: string): Map<string, Entity> {
    return fold(new Map(), this.logs.get(stream) ?? []);
  }

  /** Appends an event and sends it to whoever follows its stream. */
  publish(
    stream: string,
    kind: string,
    puts: Record<string, Entity | null>,
    more: { by?: string; about?: string; note?: string } = {},
  ): void {
    const log = this.logs.get(stream) ?? [];
    const event: StreamEvent = {
      at_ms: this.now(),
      by: more.by ?? "engine",
      kind,
      puts,
      seq: log.length + 1,
      stream,
      ...more,
    };
    log.push(event);
    this.logs.set(stream, log);
    for (const [client, streams] of this.clients)
      if (streams.has(stream)) client.send(JSON.stringify({ events: [event], t: "events" }));
    const topics = new Set(Object.keys(puts).map((key) => TOPICS[key.split("/")[0] ?? ""]));
    for (const topic of [...topics, "activity", stream === "fleet" ? "devices" : undefined])
      if (topic) this.changed(topic);
  }

  /** Says that a list has changed, as the hub does beside the fleet's stream. */
  changed(topic: string): void {
    this.beside("fleet", "changed", topic, 0, null);
  }

  beside(stream: string, kind: string, about: string, attempt: number, value: unknown): void {
    for (const [client, streams] of this.clients) {
      if (streams.has(stream))
        client.send(JSON.stringify({ items: [{ about, attempt, kind, stream, value }], t: "beside" }));
    }
  }

  ask(at = 1): void {
    const text = "There is little room on the server. Copy all the same?";
    this.publish(CONSTELLATION, "question_opened", {
      [`question/q${at}`]: {
        choices: [
          { label: "Stop", value: "stop", fails: true },
          { label: "Copy", value: "go" },
        ],
        id: `q${at}`,
        kind: "person",
        opened_ms: this.now() - 4000,
        task: "ask-room",
        text,
      },
    });
  }

  open(client: LiveClient): void {
    this.clients.set(client, new Set());
  }

  close(client: LiveClient): void {
    this.clients.delete(client);
  }

  hear(client: LiveClient, text: string): void {
    const frame = JSON.parse(text) as { t: string; stream?: string; after_seq?: number; at_ms?: number };
    if (frame.t === "ticket") client.send(JSON.stringify({ now_ms: this.now(), protocol: 1, t: "ready" }));
    else if (frame.t === "ping") client.send(JSON.stringify({ at_ms: frame.at_ms, now_ms: this.now(), t: "pong" }));
    else if (frame.t === "unsubscribe" && frame.stream) this.clients.get(client)?.delete(frame.stream);
    else if (frame.t === "subscribe" && frame.stream) this.subscribe(client, frame.stream, frame.after_seq ?? -1);
  }

  private subscribe(client: LiveClient, stream: string, after: number): void {
    const log = this.logs.get(stream);
    if (!log) {
      client.send(JSON.stringify({ reason: "it is not here", stream, t: "resync", unknown: true }));
      return;
    }
    this.clients.get(client)?.add(stream);
    if (after >= 0) {
      const events = log.filter((event) => event.seq > after);
      if (events.length > 0) client.send(JSON.stringify({ events, t: "events" }));
      return;
    }
    const entities = this.entities(stream);
    client.send(
      JSON.stringify({
        entities: Object.fromEntries(entities),
        hash: stateHash(entities),
        seq: log[log.length - 1]?.seq ?? 0,
        stream,
        t: "snapshot",
      }),
    );
  }

  answer(method: string, url: string, body: unknown): Answered {
    const { pathname, searchParams } = new URL(url, "http://hub");
    const path = pathname.replace("/api/v1", "");
    this.calls.push({ body, method, path });
    if (path === "/sign-in" || path === "/sign-in/terms") {
      const given = body as { id?: string; secret?: string };
      if (given.secret === "long")
        return problem(422, "bad_request", "`name` may have at most 128 characters", "Correct each listed place.");
      if (given.secret !== "good")
        return problem(
          401,
          "not_signed_in",
          "this sign-in link is unknown, used or too old",
          "Ask the person who invited you for a new link. On the computer of the hub, `starloom open` makes one.",
        );
      if (path === "/sign-in/terms") return { body: { invitation: this.invitation }, status: 200 };
      this.signedIn = true;
      return this.session();
    }
    if (this.sessionEnded) {
      const ended = problem(401, "not_signed_in", "the session has ended or was revoked", "Sign in by a new link.");
      return { ...ended, body: { ...(ended.body as object), session: "ended" } };
    }
    if (!this.signedIn)
      return problem(401, "not_signed_in", "you are not signed in", "Run `starloom open` for a sign-in link.");
    if (path === "/session") return this.session();
    if (path === "/live/tickets") return { body: { ticket: "ticket" }, status: 201 };
    if (path === "/constellations" && method === "GET") return this.list(searchParams);
    if (path === "/constellations" && searchParams.has("wait_s"))
      return { body: { ...WAITED_FOR, ...this.waitedFor }, status: 200 };
    if (path === "/constellations") return { body: { id: CONSTELLATION, state: "planning", version: 0 }, status: 202 };
    if (path === "/constellations/preview")
      return this.unable ? this.cannot(body) : preview(body as { request?: string; recipe?: string; plan?: unknown });
    if (path === "/what-if") {
      const change = body as { without?: string[]; within_s?: number };
      const course = { chance: change.within_s ? 0.84 : null, expected_ms: 40_000, high_ms: 50_000, low_ms: 25_000 };
      return {
        body: {
          change: `Without ${change.without?.[0]}`,
          name: "Photo backup",
          now: { ...course, plays: 200 },
          plan_hash: "8c1f",
          said: "It would take about 30 s longer.",
          // biome-ignore lint/suspicious/noThenProperty: the name is that of the contract.
          then: { ...course, chance: change.within_s ? 0.1 : null, expected_ms: 70_000, high_ms: 90_000, plays: 200 },
          within_ms: change.within_s ? change.within_s * 1000 : null,
        },
        status: 200,
      };
    }
    if (path === "/approvals") return this.approvals(searchParams.get("state") === "answered");
    if (path.startsWith("/asks/")) return { body: {}, status: 200 };
    if (path === "/asks") return { body: { items: this.answeredAsks, next: null }, status: 200 };
    if (path === "/recipe-proposals") return { body: { items: this.proposals, left_out: [], next: null }, status: 200 };
    if (path === "/recipes") return { body: { items: RECIPES, next: null }, status: 200 };
    const recipe = RECIPES.find((one) => path === `/recipes/${one.name}`);
    if (recipe) {
      const plan = { name: recipe.title, starloom: 1, tasks: [{ id: "look", tool: "fs.find" }] };
      const document = { name: recipe.name, plan, starloom_recipe: 1, title: recipe.title, version: 1 };
      return { body: { ...recipe, document, text: "starloom_recipe: 1", version: 1 }, status: 200 };
    }
    if (path === "/recipes/nope") return problem(404, "unknown_recipe", "there is no recipe nope");
    if (path === "/schedule-preview") {
      const shown = {
        in_words: "Daily",
        left_out: [],
        next: [],
        plan: null,
        runs: null,
        unseen_trash: null,
        zone: "UTC",
      };
      return { body: { ...shown, except_days: this.daysOff }, status: 200 };
    }
    if (path === "/schedules") return { body: { items: this.schedules, next: null }, status: 200 };
    if (path === "/secrets") return { body: { items: SECRETS, next: null }, status: 200 };
    if (path.startsWith("/secrets/") && method === "DELETE") return { body: null, status: 204 };
    if (path.startsWith("/secrets/") && method === "PUT")
      return { body: { ...SECRETS[0], name: path.split("/")[2] }, status: 201 };
    if (path === "/disk")
      return {
        body: { fault: "", folder: "/srv/starloom", free_bytes: 22.5e9, whole_bytes: 120e9 },
        status: 200,
      };
    if (path === "/lan/open") {
      this.lanOpen = true;
      return { body: { open: true, url: "https://192.0.2.7:8471" }, status: 200 };
    }
    if (path.startsWith("/tokens/")) return { body: { id: path.split("/")[2], revoked: true }, status: 200 };
    if (path === "/sign-in-links" && method === "POST")
      return {
        body: {
          expires_at: iso(this.now() + 864e5),
          lan_url: this.lanOpen ? "https://192.0.2.7:8471/#/sign-in/sli1.secret" : null,
          qr: { path: "M0 0h1v1h-1z", size: 29 },
          token: this.lanOpen ? "t3" : "t2",
          url: "http://127.0.0.1:8470/#/sign-in/sli1.secret",
        },
        status: 201,
      };
    if (path.startsWith("/people"))
      return {
        body: {
          items: [
            {
              id: "p2",
              kind: "person",
              last_used_at: iso(this.now()),
              name: "jonas",
              revoked_at: null,
              role: "viewer",
              sessions: 1,
              tokens: 0,
            },
          ],
          next: null,
        },
        status: 200,
      };
    if (path === "/tokens")
      return {
        body: {
          items: [
            {
              created_at: iso(this.now()),
              ends_asker: true,
              expires_at: iso(this.now() + 9e8),
              id: "t1",
              kind: "session",
              label: "Firefox on desktop",
              last_used_at: iso(this.now()),
              role: "owner",
            },
            {
              created_at: iso(this.now()),
              ends_asker: false,
              expires_at: iso(this.now() + 9e8),
              for: { kind: "person", name: "anna" },
              id: "t2",
              kind: "invitation",
              label: "invited to the page",
              link_until: null,
              role: "viewer",
            },
            {
              created_at: iso(this.now()),
              ends_asker: false,
              expires_at: iso(this.now() + 9e8),
              for: { kind: "person", name: "jonas" },
              id: "t3",
              kind: "bearer",
              label: "backup script",
              role: "operator",
              schedules: 2,
              scopes: ["read", "recipe:contact-sheet"],
            },
            ...["assistant", "program"].map((kind) => ({
              created_at: iso(this.now()),
              ends_asker: false,
              expires_at: iso(this.now() + 9e8),
              for: { kind, name: `the-${kind}` },
              id: `t-${kind}`,
              kind: "bearer",
              label: "",
              made_with: "t3",
              role: "viewer",
            })),
          ],
          next: null,
        },
        status: 200,
      };
    if (/^\/approvals\/[^/]+\/calls$/.test(path))
      return { body: { items: [], more: 0, gone: [], held: this.ungranted }, status: 200 };
    const answered = /^\/approvals\/([^/]+)\/answer$/.exec(path);
    if (answered) return this.answered(decodeURIComponent(answered[1] ?? ""), body as { value: string });
    const judged = /^\/approvals\/([^/]+)\/(approve|deny)$/.exec(path);
    if (judged) {
      const value = judged[2] === "deny" ? "deny" : (body as { always?: boolean }).always ? "always" : "allow";
      return this.answered(decodeURIComponent(judged[1] ?? ""), { value });
    }
    if (this.lab && path.startsWith("/lab/")) return this.lab.answer(method, path, body) as Answered;
    if (path === "/enrollments") return this.enroll();
    if (path === "/stop-all") return this.stopAll();
    const decided = /^\/enrollments\/([^/]+)\/(approve|deny)$/.exec(path);
    if (decided) return this.decide(decided[1] ?? "", decided[2] === "approve");
    if (path === "/vitals") return { body: vitalsOf(searchParams.getAll("device"), Date.now()), status: 200 };
    if (path === "/audit" && searchParams.get("device"))
      return { body: deedsOf(searchParams.get("device") ?? "", searchParams.get("kind"), Date.now()), status: 200 };
    if (path === "/device-work") return { body: workOf(searchParams.getAll("device")), status: 200 };
    const device = /^\/devices\/([^/]+)(?:\/(\w+))?$/.exec(path);
    if (device && method === "GET")
      return { body: this.entities("fleet").get(`device/${device[1]}`) ?? {}, status: 200 };
    if (device) return this.device(device[1] ?? "", device[2] ?? "", body as { name?: string });
    const inside = /^\/constellations\/([^/]+)\/(.+)$/.exec(path);
    if (inside) return this.inside(inside[1] ?? "", inside[2] ?? "", searchParams, body);
    return problem(404, "not_found", `there is nothing at ${path}`);
  }

  private cannot(body: unknown): Answered {
    const { tasks } = (body as { plan: { tasks: { id: string }[] } }).plan;
    const faults = [{ task: tasks.at(-1)?.id ?? "", reason: this.unable, way_out: "Mend that first." }];
    return { body: { plan_hash: "8c1f", tasks: [], faults }, status: 200 };
  }

  private session(): Answered {
    const principal = { id: "p1", name: "mara" };
    return {
      body: {
        csrf: "csrf",
        lab: this.lab !== null,
        principal,
        person_role: this.personRole,
        hub_device: DESKTOP,
        role: this.role,
        scopes: this.scopes,
        token: "t1",
      },
      status: 200,
    };
  }

  private list(search: URLSearchParams): Answered {
    const items = [...this.logs.keys()]
      .filter((id) => id !== "fleet")
      .map((id) => {
        const entities = this.entities(id);
        const head = entities.get("head") as Entity & { created_ms: number; ended_ms?: number };
        return {
          attention: head.attention ?? [],
          created_at: iso(head.created_ms),
          ended_at: head.ended_ms ? iso(head.ended_ms) : null,
          id,
          name: head.name,
          recipe: head.recipe,
          request: head.request,
          sentence: (entities.get("answer") as Entity | undefined)?.sentence ?? "",
          state: head.state,
          undone_from: head.undone_from ?? null,
          version: head.version,
        };
      })
      .filter((row) => !search.get("state") || row.state === search.get("state"))
      .filter((row) => `${row.name} ${row.request}`.toLowerCase().includes((search.get("q") ?? "").toLowerCase()));
    return { body: { items, next: null }, status: 200 };
  }

  private approvals(answered: boolean): Answered {
    const items: unknown[] = [];
    for (const stream of this.logs.keys()) {
      for (const [key, entity] of this.entities(stream)) {
        if (!key.startsWith("question/") || Boolean(entity.answered_ms) !== answered) continue;
        items.push({
          calls: [],
          ...entity,
          answered_at: entity.answered_ms ? iso(Number(entity.answered_ms)) : null,
          constellation: stream,
          constellation_name: "Photo backup",
          expires_at: null,
          id: `${stream}:${entity.id}`,
          opened_at: iso(Number(entity.opened_ms)),
          question: entity.id,
          only: this.entities(stream).get(`spec/${entity.task}`)?.ask ?? [],
          takes_away: this.takesAway,
        });
      }
    }
    return { body: { items, next: null }, status: 200 };
  }

  private answered(id: string, body: { value: string }): Answered {
    const [stream, question] = id.split(":") as [string, string];
    const held = this.entities(stream).get(`question/${question}`);
    if (!held) return problem(404, "not_found", `no open question is called ${id}`);
    this.publish(
      stream,
      "approval_answered",
      {
        [`question/${question}`]: { ...held, answer: body.value, answered_by: "person:mara", answered_ms: this.now() },
      },
      { by: "person:mara" },
    );
    return { body: { answer: body.value, id }, status: 200 };
  }

  private enroll(): Answered {
    const expires = this.now() + 600_000;
    this.publish("fleet", "enrollment_opened", {
      "enrollment/e1": { code_hash: "h", created_ms: this.now(), expires_ms: expires, id: "e1", owner: "p1" },
    });
    const line =
      "curl -fsS http://127.0.0.1:8470/agent/join.py -o join.py && python3 join.py http://127.0.0.1:8470 7KQ2-M4XA-99PD-3FHT";
    return {
      body: {
        code: "7KQ2-M4XA-99PD-3FHT",
        expires_at: iso(expires),
        id: "e1",
        line,
        state: "open",
        url: "http://127.0.0.1:8470",
      },
      status: 201,
    };
  }

  /** A device redeems the code: for tests and for looking at. */
  knock(): void {
    const held = this.entities("fleet").get("enrollment/e1") ?? {};
    this.publish("fleet", "enrollment_asked", {
      "enrollment/e1": {
        ...held,
        device: "d-new",
        name: "pop-os-laptop",
        os: "linux",
        state: "asking",
        words: "amber bridge cedar delta ember fjord",
      },
    });
  }

  private decide(id: string, allow: boolean): Answered {
    const held = this.entities("fleet").get(`enrollment/${id}`);
    if (!held) return problem(404, "not_found", `there is no enrollment ${id}`);
    const device = {
      id: "d-new",
      joined_ms: this.now(),
      key: "k",
      labels: ["laptop"],
      link: "online",
      link_since_ms: this.now(),
      name: "pop-os-laptop",
      os: "linux",
      profile: "observe",
      version: "0.1.0",
    };
    this.publish("fleet", "enrollment_decided", {
      [`enrollment/${id}`]: { ...held, state: allow ? "approved" : "denied" },
      ...(allow
        ? {
            "device/d-new": device,
            "offer/d-new": { digest: "n", slots: 2, tools: [{ effects: ["read"], name: "system.info" }] },
          }
        : {}),
    });
    return { body: { id }, status: 200 };
  }

  /** The server confirms at once, the phone is asked and stays away. */
  private stopAll(): Answered {
    const row = { asked: 1, at_ms: this.now(), by: "person:ann" };
    this.publish("fleet", "stop_all", {
      "stopping/d-phone": { ...row, attempts: [`${CONSTELLATION}/send.3/1`], device: "d-phone" },
      "stopping/d-server": { ...row, attempts: [], confirmed_ms: this.now(), device: "d-server" },
    });
    return { body: { constellations: [CONSTELLATION], devices: [{ name: "demo-phone" }] }, status: 202 };
  }

  private device(id: string, action: string, body: { name?: string }): Answered {
    const held = this.entities("fleet").get(`device/${id}`);
    if (!held) return problem(404, "not_found", `there is no device ${id}`);
    const changes: Record<string, Entity> = {
      drain: { draining: true },
      reserve: { reserved: true },
      resume: { draining: false },
      revoke: { revoked: true },
      share: { reserved: false },
    };
    const change = changes[action] ?? { name: body.name };
    this.publish("fleet", `device_${action || "renamed"}`, { [`device/${id}`]: { ...held, ...change } });
    return { body: {}, status: 200 };
  }

  private inside(id: string, rest: string, search: URLSearchParams, body: unknown): Answered {
    const log = this.logs.get(id);
    if (!log) return problem(404, "not_found", `there is no constellation ${id}`);
    if (rest === "events")
      return {
        body: { items: log.filter((event) => event.seq > Number(search.get("after") ?? 0)).slice(0, 500), next: null },
        status: 200,
      };
    if (rest === "why" && !search.get("task_id")) return { body: whyAll(this.entities(id)), status: 200 };
    if (rest === "why") return { body: why(search.get("task_id") ?? "", this.entities(id)), status: 200 };
    if (/\/log$/.test(rest)) {
      const text =
        "put Hills, 3 files, 384 KB\nhills-01.png 128 KB stored\nhills-02.png 64 of 131 KB\nlink closed by peer, no bye\n";
      return { body: { end: text.length, lost: [], next: text.length, offset: 0, text }, status: 200 };
    }
    const head = this.entities(id).get("head") ?? {};
    if (rest === "pause" || rest === "resume" || rest === "cancel") {
      const state = rest === "pause" ? "paused" : rest === "resume" ? "active" : "cancelling";
      this.publish(id, state, { head: { ...head, state } }, { by: "person:mara", note: `${rest} by mara` });
      return { body: { id, state }, status: 200 };
    }
    const control = /^tasks\/([^/]+)\/([\w-]+)$/.exec(rest);
    const task = control?.[1] ?? "";
    const held = this.entities(id);
    const named = held.has(`task/${task}`) ? [task] : [];
    // A mark of a group is of all its calls that may have happened.
    const inDoubt = [...held]
      .filter(([key, one]) => key.startsWith(`task/${task}.`) && one.state === "unknown")
      .map(([key]) => key.slice("task/".length));
    const tasks = named.length === 0 && control?.[2] === "mark" ? inDoubt : named;
    if (tasks.length === 0) return problem(404, "unknown_task", `there is no task ${task}`);
    if (control?.[2] === "mark" && task === this.refused)
      return problem(409, "conflict", `${task} was marked by another person`);
    if (this.repeats.length > 0 && !(body as { confirm?: string[] } | undefined)?.confirm)
      return { body: { code: "needs_confirm", reason: "begun before", repeats: this.repeats }, status: 409 };
    const change: Entity =
      control?.[2] === "mark"
        ? { state: (body as { state: string }).state }
        : control?.[2] === "skip"
          ? { reason: "skipped_by_person", state: "skipped" }
          : control?.[2] === "hold"
            ? { held: true, reason: "held" }
            : { code: null, reason: null, state: "ready" };
    this.publish(
      id,
      `task_${control?.[2]}`,
      Object.fromEntries(
        tasks.map((one) => [`task/${one}`, { ...held.get(`task/${one}`), ...change, since_ms: this.now() }]),
      ),
      { about: task, by: "person:mara", note: `${control?.[2]} by mara` },
    );
    return { body: { id, seq: log.length }, status: 200 };
  }
}

function rename(events: StreamEvent[], id: string): StreamEvent[] {
  return events.map((event) => ({
    ...event,
    puts: event.puts.head ? { ...event.puts, head: { ...event.puts.head, id } } : event.puts,
    stream: id,
  }));
}
