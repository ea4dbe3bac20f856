/** The calls of the REST API that the page makes. Their paths, parameters and answers are those of the contract. */

import type {
  Call,
  ModelRole,
  NamedQuestionRow,
  ProposalList,
  ProposalRow,
  Question,
  RecipeWhole,
  SetModel,
  StreamEvent,
  WhyAll,
  WhyRow,
} from "../model/types.ts";
import { parseExact, parseKept } from "../model/words/exact.ts";
import { msOf } from "../model/words/times.ts";
import { addressOf, BASE, type BodyOf, type Given, type Rest } from "./rest.ts";

/** As many events as the hub gives in one answer unless it is asked for more. */
const EVENTS_A_PAGE = 500;

/** A request as a person sends it: words, a recipe or a plan, and how it is to run. */
export type Submission = BodyOf<"post", "/constellations">;
/** What a preview was asked for. */
export type Asked = BodyOf<"post", "/constellations/preview">;
/** A recipe as its text, or as a document. */
type RecipeText = BodyOf<"post", "/recipes/check">["recipe"];
export type TaskControl = BodyOf<"post", "/constellations/{constellation}/tasks/{task}/{action}">;
export type TaskAction = Given<"post", "/constellations/{constellation}/tasks/{task}/{action}">["path"]["action"];

/** A question of the list of approvals, open or answered, with its times as the stream has them. */
export interface InboxQuestion extends Question {
  constellation: string;
  name: string;
  takes_away?: string[];
  /** The people whose answer alone counts; empty or absent: everybody who may approve answers it. */
  only?: string[];
  /** Who asked for the plan. */
  author?: string;
}

/** A question of the list of approvals as the stream has it. */
function needOf(row: NamedQuestionRow): InboxQuestion {
  return {
    ...row,
    id: row.question,
    name: row.constellation_name,
    opened_ms: msOf(row.opened_at),
    expires_ms: msOf(row.expires_at),
    answered_ms: msOf(row.answered_at),
    calls: row.calls.map((call): Call => ({ ...call, args: JSON.stringify(call.args) })),
    shown: row.shown && {
      source: row.shown.from,
      output: row.shown.output,
      value: JSON.stringify(row.shown.value),
      left_out: row.shown.left_out,
    },
  } as InboxQuestion;
}

export class Hub {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  session = (signal?: AbortSignal) => this.rest.get("/session", { signal });
  signIn = (id: string, secret: string) => this.rest.post("/sign-in", { body: { id, secret } });
  terms = (id: string, secret: string) => this.rest.post("/sign-in/terms", { body: { id, secret } });
  signOut = () => this.rest.post("/sign-out");
  ticket = async (signal?: AbortSignal) => (await this.rest.post("/live/tickets", { signal })).ticket;

  constellations = (query: Given<"get", "/constellations">["query"] = {}, signal?: AbortSignal) =>
    this.rest.get("/constellations", { query, signal });
  preview = (body: Asked, signal?: AbortSignal) => this.rest.post("/constellations/preview", { body, signal });
  /** How long a request should take on the fleet of now and on a changed one; starts nothing. */
  whatIf = (body: BodyOf<"post", "/what-if">) => this.rest.post("/what-if", { body });
  /** The exact text that the owner's model would be sent first for these words; sends nothing. */
  promptPreview = (body: BodyOf<"post", "/prompt-preview">, signal?: AbortSignal) =>
    this.rest.post("/prompt-preview", { body, signal });
  /** `able: false`: the hub takes tasks that no device can begin. The preview beside the button has named them. */
  submit = (body: Submission) => this.rest.create("/constellations", { body: { able: false, ...body } });

  /** Submits and waits for the answer, at most `waitS`. */
  submitAndWait = (body: Submission, waitS: number) =>
    this.rest.create("/constellations", { query: { wait_s: waitS }, body });

  /**
   * The log from after `after`, page by page, up to the event `through` or as far as the hub has it. A log that grows as
   * fast as it is read has no end, so a caller that hears its newest events anyway says how far.
   */
  async events(
    id: string,
    after: number,
    signal?: AbortSignal,
    through = Number.POSITIVE_INFINITY,
  ): Promise<StreamEvent[]> {
    const all: StreamEvent[] = [];
    let last = after;
    while (last < through) {
      const path = { constellation: id };
      const page = await this.rest.get("/constellations/{constellation}/events", {
        path,
        query: { after: last, limit: Math.min(EVENTS_A_PAGE, through - last) },
        signal,
      });
      const events = page.items as StreamEvent[];
      const end = events[events.length - 1];
      if (!end) break;
      all.push(...events);
      last = end.seq;
    }
    return all;
  }

  /** One device as the hub tells it; `open` where a browser tab that is asleep is to be opened, `older_than` the hub's version. */
  device = (id: string, signal?: AbortSignal) => this.rest.get("/devices/{device}", { path: { device: id }, signal });
  /** The lines of these devices over the last hour, as the hub that answers has heard them. */
  vitals = (devices: readonly string[], signal?: AbortSignal) =>
    this.rest.get("/vitals", { query: { device: [...devices] }, signal });
  /** What was asked for since a moment and had work on these devices. */
  deviceWork = (devices: readonly string[], sinceMs: number, signal?: AbortSignal) =>
    this.rest.get("/device-work", { query: { since_ms: sinceMs, device: [...devices] }, signal });
  why = (id: string, task: string, signal?: AbortSignal) =>
    this.rest.get("/constellations/{constellation}/why", {
      path: { constellation: id },
      query: { task_id: task },
      signal,
    }) as Promise<WhyRow>;
  whyAll = (id: string, signal?: AbortSignal) =>
    this.rest.get("/constellations/{constellation}/why", { path: { constellation: id }, signal }) as Promise<WhyAll>;
  /** What the time of a run was spent on; with `spans` also the phases of every task. */
  report = (id: string, spans: boolean, signal?: AbortSignal) =>
    this.rest.get("/constellations/{constellation}/report", {
      path: { constellation: id },
      query: { spans: spans || undefined },
      signal,
    });
  /** When a run should end, and the chance of its deadline. */
  runForecast = (id: string, tasks: boolean, signal?: AbortSignal) =>
    this.rest.get("/constellations/{constellation}/what-if", {
      path: { constellation: id },
      query: { tasks },
      signal,
    });
  /** The same after a change that is only asked about. */
  runWhatIf = (id: string, body: Partial<BodyOf<"post", "/constellations/{constellation}/what-if">>) =>
    this.rest.post("/constellations/{constellation}/what-if", {
      path: { constellation: id },
      body: { without: [], with_copy_of: [], ...body },
    });
  /** Output of an attempt: its last bytes, the bytes from `offset` on, or the lines that contain `q`. */
  log = (
    id: string,
    task: string,
    attempt: number,
    query: { offset?: number; tail?: number; q?: string },
    signal?: AbortSignal,
  ) =>
    this.rest.get("/constellations/{constellation}/tasks/{task}/attempts/{attempt}/log", {
      path: { constellation: id, task, attempt },
      query,
      signal,
    });

  control = (id: string, action: "pause" | "resume" | "cancel") =>
    this.rest.post(`/constellations/{constellation}/${action}`, { path: { constellation: id } });
  taskControl = (id: string, task: string, action: TaskAction, body: TaskControl = {}) =>
    this.rest.post("/constellations/{constellation}/tasks/{task}/{action}", {
      path: { constellation: id, task, action },
      body,
    });
  /** Retries ended tasks in one round: all of them, or none. */
  retryTasks = (id: string, baseVersion: number, retry: string[], confirm: string[] = []) =>
    this.rest.create("/constellations/{constellation}/edits", {
      path: { constellation: id },
      body: { base_version: baseVersion, operations: [], retry, ...(confirm.length ? { confirm } : {}) },
    });
  /** An edit whose tasks are not `able` to begin on any device of now is refused, unless that is false. */
  edit = (id: string, baseVersion: number, operations: unknown[], reason: string, able = true) =>
    this.rest.create("/constellations/{constellation}/edits", {
      path: { constellation: id },
      body: { able, base_version: baseVersion, operations, reason },
    });

  async approvals(state: "open" | "answered" = "open", signal?: AbortSignal): Promise<InboxQuestion[]> {
    const page = await this.rest.get("/approvals", { query: { state: state === "open" ? undefined : state }, signal });
    return page.items.map(needOf);
  }
  /** The questions of devices that were lately answered here, as the list of answered approvals has its own. */
  async answeredAsks(signal?: AbortSignal): Promise<InboxQuestion[]> {
    const page = await this.rest.get("/asks", { query: { state: "answered" }, signal });
    return page.items.map((row) => ({
      id: row.id,
      kind: "approval",
      text: `${row.device.name} asked before ${row.tool}`,
      constellation: row.constellation,
      name: row.constellation_name,
      opened_ms: msOf(row.asked_at),
      answer: row.answer ?? "",
      answered_by: row.answered_by ?? "",
      answered_ms: msOf(row.answered_at),
      reason: row.reason,
    }));
  }
  /** Sentences on the grants that the devices of an approval's plan lack: its tasks wait there after the answer. */
  async ungranted(constellation: string, question: string, signal?: AbortSignal): Promise<string[]> {
    const path = { approval: `${constellation}:${question}` };
    return (await this.rest.get("/approvals/{approval}/calls", { path, signal })).held;
  }
  /** Answers a question: what asks whether it may is allowed or denied, any other by one of its choices. */
  answer(constellation: string, question: Pick<Question, "id" | "kind">, value: string, reason = "") {
    const path = { approval: `${constellation}:${question.id}` };
    if (question.kind !== "person" && question.kind !== "planner") {
      if (value === "deny") return this.rest.post("/approvals/{approval}/deny", { path, body: { reason } });
      if (value === "allow" || value === "always")
        return this.rest.post("/approvals/{approval}/approve", { path, body: { always: value === "always", reason } });
    }
    return this.rest.post("/approvals/{approval}/answer", { path, body: { value, reason } });
  }
  /** Answers a device's question to its owner; `action` is the asking that was shown. */
  answerAsk = (device: string, ask: string, action: string, allow: boolean, reason = "") =>
    this.rest.post(`/asks/{ask}/${allow ? "approve" : "deny"}`, {
      path: { ask: `${device}:${ask}` },
      body: { action, reason },
    });
  /** For `ttl` seconds nobody else edits these tasks. */
  holdDraft = (id: string, tasks: string[], ttl: number) =>
    this.rest.put("/constellations/{constellation}/draft", {
      path: { constellation: id },
      body: { tasks, ttl_s: ttl },
    });
  closeDraft = (id: string) =>
    this.rest.delete("/constellations/{constellation}/draft", { path: { constellation: id } });
  /** Tries a model before it is set. */
  tryModel = (wanted: BodyOf<"post", "/model/test">) => this.rest.post("/model/test", { body: wanted });
  setModel = (wanted: SetModel) => this.rest.put("/model", { body: wanted });
  setRole = (role: ModelRole, body: BodyOf<"put", "/model/roles/{role}">) =>
    this.rest.put("/model/roles/{role}", { path: { role }, body });
  forgetRole = (role: ModelRole) => this.rest.delete("/model/roles/{role}", { path: { role } });
  forgetModel = () => this.rest.delete("/model");
  revokeStanding = (id: string) => this.rest.delete("/standing-approvals/{standing}", { path: { standing: id } });

  enroll = (body: BodyOf<"post", "/enrollments">) => this.rest.create("/enrollments", { body });
  decide = (enrollment: string, allow: boolean, reason = "") =>
    this.rest.post(`/enrollments/{enrollment}/${allow ? "approve" : "deny"}`, {
      path: { enrollment },
      body: allow ? {} : { reason },
    });
  enrollment = (id: string, signal?: AbortSignal) =>
    this.rest.get("/enrollments/{enrollment}", { path: { enrollment: id }, signal });
  lan = (signal?: AbortSignal) => this.rest.get("/lan", { signal });
  disk = (signal?: AbortSignal) => this.rest.get("/disk", { signal });
  openLan = () => this.rest.post("/lan/open");
  closeLan = () => this.rest.post("/lan/close");
  rename = (device: string, name: string) => this.rest.patch("/devices/{device}", { path: { device }, body: { name } });
  /** `deadlineS` belongs to a drain: when what may be repeated is moved away; 0 is at once, absent never. */
  deviceControl = (
    device: string,
    action: "drain" | "resume" | "reserve" | "share" | "revoke" | "seen",
    deadlineS?: number,
  ) =>
    this.rest.post("/devices/{device}/{action}", {
      path: { device, action },
      body: deadlineS === undefined ? {} : { deadline_s: deadlineS },
    });
  stopAll = (reason = "") => this.rest.post("/stop-all", { body: reason ? { reason } : {} });

  recipes = (signal?: AbortSignal) => this.rest.get("/recipes", { signal });
  recipe = (name: string, signal?: AbortSignal, version?: number) =>
    this.rest.get("/recipes/{name}", { path: { name }, query: { version }, signal });
  /** A recipe to be changed and sent back: one with a number that would lose digits on the way is refused. */
  recipeKept = async (name: string, signal?: AbortSignal) =>
    parseKept(await this.rest.text("/recipes/{name}", { path: { name }, signal })) as RecipeWhole;
  recipeVersions = (name: string, signal?: AbortSignal) =>
    this.rest.get("/recipes/{name}/versions", { path: { name }, signal });
  /** The last runs of a recipe beside each other, and what has changed over them. */
  recipeRuns = (name: string, signal?: AbortSignal) =>
    this.rest.get("/recipes/{name}/runs", { path: { name }, signal });
  /** Says every fault of a recipe, and what it would be; keeps and runs nothing. */
  checkRecipe = (recipe: RecipeText, signal?: AbortSignal) =>
    this.rest.post("/recipes/check", { body: { recipe }, signal });
  /** Keeps a recipe (a document or its text); over one of that name only as the version after `baseVersion`. */
  saveRecipe = (recipe: RecipeText, baseVersion?: number, proposal?: string) =>
    this.rest.create("/recipes", {
      body: { recipe, base_version: baseVersion, ...(proposal === undefined ? {} : { proposal }) },
    });
  /**
   * This person's own plans that ended clean, as the recipes that they would become. One with a number that would be
   * kept with other digits is left out.
   */
  proposals = async (signal?: AbortSignal): Promise<ProposalList> => {
    const text = await this.rest.text("/recipe-proposals", { signal });
    const list = JSON.parse(text) as ProposalList;
    const exact = parseExact(text) as ProposalList;
    const holds = (one: ProposalRow, at: number) => JSON.stringify(one) === JSON.stringify(exact.items[at]);
    const lost = list.items.filter((one, at) => !holds(one, at));
    const because = "this page cannot keep all digits of one of its numbers";
    const left = lost.map(({ constellation, request }) => ({ because, constellation, request }));
    return { ...list, items: list.items.filter(holds), left_out: [...list.left_out, ...left] };
  };
  dismissProposal = (proposal: string) => this.rest.delete("/recipe-proposals/{proposal}", { path: { proposal } });
  recipeSeen = (name: string) => this.rest.post("/recipes/{name}/seen", { path: { name } });
  /** Removes a saved recipe; one that schedules run is refused without `anyway`. */
  removeRecipe = (name: string, anyway: boolean) =>
    this.rest.delete("/recipes/{name}", { path: { name }, query: { anyway } });
  model = (signal?: AbortSignal) => this.rest.get("/model", { signal });
  /** Calls the owner's model once; says nothing about the fleet. */
  testModel = () => this.rest.post("/model/test");
  tokens = () => this.rest.get("/tokens");
  /** A link that opens the page once for somebody, with the rights of the role, or only these parts of it. */
  invite = (name: string, role: BodyOf<"post", "/tokens">["role"], scopes: readonly string[]) =>
    this.rest.create("/sign-in-links", { body: { for: name, role, scopes: [...scopes] } });
  people = (signal?: AbortSignal) => this.rest.get("/people", { signal });
  giveRole = (name: string, role: BodyOf<"patch", "/people/{name}">["role"]) =>
    this.rest.patch("/people/{name}", { path: { name }, body: { role } });
  revokeToken = (id: string) => this.rest.delete("/tokens/{token}", { path: { token: id } });

  /** The text of an artifact. */
  artifactText = (sha256: string, signal?: AbortSignal) =>
    this.rest.text("/artifacts/{sha256}", { path: { sha256 }, signal });
  /** The first bytes of an artifact as text, and whether that is all of it. */
  artifactStart = (sha256: string, most: number, signal?: AbortSignal) =>
    this.rest.start("/artifacts/{sha256}", most, { path: { sha256 }, signal });
  /** Where an artifact's bytes are; `name` saves them under it, `show` lets the page show them. */
  artifactUrl = (sha256: string, name?: string, media?: string | null, show?: boolean) =>
    `${BASE}${addressOf("/artifacts/{sha256}", { path: { sha256 }, query: { name, media, show: show ? "1" : "" } })}`;
}
