/**
 * What a model does while it plans, in lines: the calls and looks that the log has, and the answer that is being
 * written, which it has not. Pure. A sketch is a picture only: it is shown while its job is open and its worker has it.
 */
import { nameOfDevice } from "../fleet/fleet.ts";
import { toolsOf } from "../fleet/tools.ts";
import type { StreamModel } from "../stream/stream.ts";
import type { Attempt, Head, Job, ModelCall, Question, Sketch, TaskRecord, TaskSpec } from "../types.ts";
import { plural } from "../words/words.ts";
import { placesIn } from "./planInShort.ts";

export interface ThinkingLine {
  key: string;
  text: string;
  mark: "done" | "now" | "failed";
  /** How long it took, or has taken so far; null where that says nothing. */
  ms: number | null;
  /** Tokens or characters, in words; empty where they are not known. */
  size: string;
}

const PLACE_MAX = 60;

/** The jobs that plan, in order. */
function planJobs(model: StreamModel): Job[] {
  const jobs = [...model.kind<Job>("job").values()].filter((job) => job.kind === "plan");
  return jobs.sort((a, b) => a.opened_ms - b.opened_ms || numberOf(a) - numberOf(b));
}

const numberOf = (job: Job): number => Number(job.id.split("-")[1] ?? 0);

/** The picture of what is being written for a job; null when that is over, or its worker has it no more. */
function sketchOf(model: StreamModel, job: Job | undefined, nowMs: number): Sketch | null {
  const { sketch } = model;
  if (!sketch || !job || job.id !== sketch.job) return null;
  return isAtWork(job, nowMs) && job.claimed_by === sketch.worker ? sketch : null;
}

const isAtWork = (job: Job, nowMs: number): boolean =>
  job.state !== "done" && Boolean(job.claimed_by) && nowMs < (job.expires_ms ?? 0);

/** The picture of the plan that is being written. */
export function sketchNow(model: StreamModel, nowMs: number): Sketch | null {
  if (!model.sketch || model.one<Head>("head")?.state !== "planning") return null;
  return sketchOf(model, model.of<Job>("job", model.sketch.job), nowMs);
}

export interface Writing {
  line: string;
  /** The words of an answer so far, which nobody has checked; empty for a review. */
  words: string;
  ms: number;
  size: string;
}

const BEHIND_PLAN: { [kind: string]: string } = { answer: "Writing the answer …", review: "Reviewing what has ended" };
const REVIEWS: { [kind: string]: string } = {
  edit: "Writing a change of the plan",
  look: "Choosing where to look first",
  give_up: "Writing why it gives up",
  cannot: "Writing what a person should decide",
};
/** A cite, whose number means nothing before its source is known; and a place that the hub fills. */
const CITE = /\s?\[\d*\]?$|\s?\[\d+\]/g;
const PLACE = /\{\d*\}?$|\{\d+\}/g;

/** What a model writes behind the plan now: a review, or the answer in words; null when it writes nothing. */
export function writingNow(model: StreamModel, nowMs: number): Writing | null {
  const jobs = [...model.kind<Job>("job").values()];
  const job = jobs.find((one) => Object.hasOwn(BEHIND_PLAN, one.kind) && isAtWork(one, nowMs));
  if (!job) return null;
  const sketch = sketchOf(model, job, nowMs);
  return {
    line: (job.kind === "review" && REVIEWS[sketch?.kind ?? ""]) || (BEHIND_PLAN[job.kind] ?? ""),
    words: (sketch?.answer ?? "").replace(CITE, "").replace(PLACE, "…"),
    ms: Math.max(0, nowMs - (sketch?.since_ms ?? job.opened_ms)),
    size: sketch ? sizeWords(sketch) : "",
  };
}

export function thinkingLines(model: StreamModel, fleet: StreamModel, nowMs: number): ThinkingLine[] {
  const jobs = planJobs(model);
  const calls = [...model.kind<ModelCall>("call").values()];
  const questions = [...model.kind<Question>("question").values()].filter((one) => one.kind === "planner");
  questions.sort((a, b) => a.opened_ms - b.opened_ms);
  const lines: ThinkingLine[] = [];
  for (const job of jobs) {
    const own = calls.filter((call) => call.job === job.id).sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
    const asked = job.state === "done" && !job.look ? questions.shift() : undefined;
    own.forEach((call, at) => {
      lines.push(callLine(call, at === own.length - 1 ? job : null, asked));
    });
    for (const task of job.look?.tasks ?? []) lines.push(lookLine(model, fleet, task, nowMs));
    for (const read of job.look?.reads ?? [])
      lines.push({
        key: `${job.id} ${read.task} ${read.pointer}`,
        text: `Read more of ${read.task}`,
        mark: "done",
        ms: null,
        size: "",
      });
  }
  const head = model.one<Head>("head");
  const last = jobs.at(-1);
  if (last && last.state !== "done" && head?.state === "planning") lines.push(presentLine(model, last, calls, nowMs));
  return lines;
}

function callLine(call: ModelCall, ended: Job | null, asked: Question | undefined): ThinkingLine {
  const line = {
    key: `${call.job}/${call.number}`,
    ms: call.took_ms ?? 0,
    size: call.output_tokens ? plural(call.output_tokens, "token") : "",
  };
  if (call.fault) return { ...line, text: `Got no answer: ${call.fault}`, mark: "failed" };
  if (ended?.look)
    return { ...line, text: ended.look.why ? `Looks first: ${ended.look.why}` : "Looks first", mark: "done" };
  if (ended && asked?.answer) return { ...line, text: `Asked: ${asked.text} Answer: ${asked.answer}`, mark: "done" };
  if (ended && asked) return { ...line, text: "Asks you, and waits for your answer", mark: "done" };
  return { ...line, text: ended?.state === "done" ? "Answered" : "Answered, and is asked again", mark: "done" };
}

function lookLine(model: StreamModel, fleet: StreamModel, task: string, nowMs: number): ThinkingLine {
  const spec = model.of<TaskSpec>("spec", task);
  const record = model.of<TaskRecord>("task", task);
  const attempt = model.of<Attempt>("attempt", `${task}/${record?.attempt ?? 0}`);
  const over = ["succeeded", "failed", "cancelled", "skipped"].includes(record?.state ?? "");
  const began = attempt ? attempt.started_ms || attempt.leased_ms : 0;
  const mark = record?.state === "succeeded" ? "done" : over ? "failed" : "now";
  const end = attempt?.ended_ms || (over ? 0 : nowMs);
  return {
    key: task,
    text: spec ? lookWords(spec, fleet) + (mark === "failed" ? `: ${record?.state}` : "") : task,
    mark,
    ms: began && end ? Math.max(0, end - began) : null,
    size: "",
  };
}

const LOOKS: { [tool: string]: (place: string) => string } = {
  "disk.usage": (place) => `Looks at the size of ${place || "the disk"}`,
  "fs.find": (place) => `Searches for files${place && ` in ${place}`}`,
  "fs.list": (place) => `Lists ${place || "the folder"}`,
  "fs.read": (place) => `Reads ${place || "a file"}`,
  "fs.stat": (place) => `Looks at size and time of ${place || "files"}`,
  "git.log": (place) => `Looks at the last versions${place && ` of ${place}`}`,
  "git.status": (place) => `Looks at the working copy ${place}`.trim(),
  "log.search": () => "Searches the system's log",
  "process.list": () => "Looks at the running processes",
  "service.status": () => "Looks at the services",
  "sqlite.query": (place) => `Asks the database ${place}`.trim(),
  "system.info": () => "Looks at the machine",
};

/** One look in plain words: `Looks at the size of Photos on attic`. */
export function lookWords(spec: TaskSpec, fleet: StreamModel): string {
  const tool = spec.tool ?? "";
  const place = cut(placesIn(spec.args ?? "{}")[0] ?? "");
  const words = Object.hasOwn(LOOKS, tool) ? LOOKS[tool] : undefined;
  const title = toolsOf(fleet).get(tool)?.title ?? tool;
  const told = words ? words(place) : `Looks: ${title}${place && `, ${place}`}`;
  const device = spec.device?.id ? nameOfDevice(fleet, spec.device.id) : (spec.device?.name ?? "");
  return device ? `${told} on ${device}` : told;
}

const cut = (text: string): string => (text.length > PLACE_MAX ? `${text.slice(0, PLACE_MAX)}…` : text);

/** The line of what goes on now. */
function presentLine(model: StreamModel, job: Job, calls: readonly ModelCall[], nowMs: number): ThinkingLine {
  const key = `${job.id} now`;
  if (!job.claimed_by || nowMs >= (job.expires_ms ?? 0)) {
    return { key, text: "Waits for a worker", mark: "now", ms: Math.max(0, nowMs - job.opened_ms), size: "" };
  }
  const sketch = sketchNow(model, nowMs);
  // A call that the log has is over; the picture of it stands until the next one begins.
  const over = sketch && calls.some((call) => call.job === job.id && (call.number ?? 0) >= sketch.call);
  if (!sketch) return { key, text: "Reads the request", mark: "now", ms: Math.max(0, nowMs - job.opened_ms), size: "" };
  if (over) return { key, text: "Checks the answer", mark: "now", ms: null, size: "" };
  return {
    key,
    text: sketchWords(sketch),
    mark: "now",
    ms: Math.max(0, nowMs - sketch.since_ms),
    size: sizeWords(sketch),
  };
}

/** What a model writes, in plain words: `Writes the plan: 6 tasks so far`. */
export function sketchWords(sketch: Sketch): string {
  const { kind = "", words = "" } = sketch;
  const tasks = (sketch.tasks?.length ?? 0) + (sketch.left_out ?? 0);
  if (kind === "plan") return tasks ? `Writes the plan: ${plural(tasks, "task")} so far` : "Begins to write the plan";
  if (kind === "look") {
    const looks = sketch.looks?.length ?? 0;
    return looks ? `Chooses where to look first: ${plural(looks, "look")} so far` : "Chooses where to look first";
  }
  if (kind === "answer") return "Writes the answer";
  if (kind === "recipe") return words ? `Takes the recipe ${words}` : "Takes a recipe";
  if (kind === "more_tools") return words ? `Asks for more tools: ${words}` : "Asks for more tools";
  if (kind === "question") return "Writes a question to you";
  if (kind === "cannot") return "Writes why it cannot do this";
  if (sketch.thought_chars) return "Thinks about the request";
  return sketch.chars ? "Begins to write" : "Reads the request";
}

function sizeWords(sketch: Sketch): string {
  if (sketch.tokens) return plural(sketch.tokens, "token");
  const chars = (sketch.chars ?? 0) + (sketch.thought_chars ?? 0);
  return chars ? `${chars.toLocaleString("en")} characters` : "";
}
