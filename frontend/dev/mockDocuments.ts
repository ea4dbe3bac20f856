/** What the mock hub's REST answers with where it does not depend on its streams: recipes, previews, reasons. */
import type { Entity } from "../src/model/types.ts";

export interface Answered {
  status: number;
  body: unknown;
}

export const problem = (status: number, code: string, reason: string, hint = ""): Answered => ({
  status,
  body: { code, errors: [], hint, reason, status, title: reason },
});

export function why(task: string, entities: Map<string, Entity>): unknown {
  const state = String(entities.get(`task/${task}`)?.state ?? "");
  return {
    actions: state === "running" ? [] : [`starloom retry --task ${task}`],
    candidates: [
      { device: "d-phone", fits: true, name: "demo-phone", reason: "the plan names it; it is away" },
      { device: "d-server", fits: false, name: "demo-server", reason: "does not have Pictures/Hills" },
      { device: "d-desktop", fits: false, name: "desktop", reason: "does not have Pictures/Hills" },
    ],
    sentence:
      state === "running" ? `${task} waits for demo-phone, which has not answered for 2 s.` : `${task} is ${state}.`,
    task,
  };
}

/** All explanations of a constellation: here only of the work of which nobody knows whether it happened. */
export function whyAll(entities: Map<string, Entity>): unknown {
  const groups = new Map<string, string[]>();
  for (const [key, record] of entities) {
    if (!key.startsWith("task/") || record.state !== "unknown") continue;
    const task = key.slice("task/".length);
    const group = task.split(".", 1)[0] ?? task;
    groups.set(group, [...(groups.get(group) ?? []), task]);
  }
  const items = [...groups].map(([group, tasks]) => {
    const single = tasks.length === 1;
    const [task, doubted] = single ? [tasks[0], []] : [group, tasks];
    const sentence = single
      ? `${task} was started on demo-server and may have happened; it is not run twice without your word.`
      : `${tasks.length} calls of ${group} may have happened on demo-server; none is run twice without your word.`;
    return { actions: [], candidates: [], doubted, fix: null, reason: null, sentence, state: "unknown", task };
  });
  const waits = "It waits until 2026-01-02 03:04:05 UTC (night).";
  return { attention: [], items, more: 0, state: "active", waits };
}

export const SCHEDULES = [
  {
    author: "person:mara#k",
    catch_up: "one",
    cron: "30 2 * * *",
    fired: 3,
    id: "s-nightly",
    except_days: "28 March",
    in_words: "At 02:30 every day, except 28 March",
    left_out: [{ at: "2026-03-28T02:30:00+01:00", why: "28 March" }],
    last: null,
    name: "Nightly backup",
    next: ["2026-03-29T02:30:00+01:00"],
    notice: null,
    notify: "failure",
    notify_device: null,
    overlap: "skip",
    recipe: null,
    request: "how are my machines",
    running: [],
    skipped: 0,
    state: "active",
    stopped: null,
    waiting: [],
    zone: "Europe/Berlin",
  },
];

export const RECIPES = [
  {
    effects: ["read", "write"],
    name: "photo-backup",
    params: {
      folder: { default: "Pictures", type: "path" },
      sheet: { default: false, type: "boolean" },
      source: { type: "device" },
      target: { type: "device" },
    },
    phrases: ["back up the pictures of {source} to {target}"],
    title: "Back up pictures, check every copy, make a contact sheet",
  },
  {
    effects: ["read"],
    name: "fleet-health",
    params: {},
    phrases: ["how are my machines"],
    title: "One line per device, worst first, and why",
  },
  {
    effects: ["read"],
    name: "disk-space",
    params: {},
    phrases: ["what is filling my disks"],
    title: "Biggest folders per device",
  },
];

const PREVIEW_TASKS = [
  ["list", "fs.find", "demo-phone", "the source you named", "read"],
  ["space", "disk.usage", "demo-server", "412 GB free, answers in 4 ms", "read"],
  ["send", "artifact.put", "demo-phone", "only it has the pictures", "read"],
  ["copy", "fs.write", "demo-server", "the target you named", "write"],
  ["check", "fs.hash", "demo-server", "follows copy", "read"],
  ["sheet", "image.sheet", "desktop", "you said: on my desktop", "write"],
] as const;

export function preview(body: { request?: string; recipe?: string; plan?: unknown }): Answered {
  const words = (body.request ?? "").toLowerCase();
  const found = {
    missing: [],
    params: { folder: "Pictures", sheet: true, source: { name: "demo-phone" }, target: { name: "demo-server" } },
    recipe: "photo-backup",
    title: RECIPES[0]?.title,
  };
  if (body.request !== undefined && !words.includes("back up the pictures of")) {
    const near = words.includes("picture") || words.includes("back up");
    const missing = [
      { name: "source", title: "the device to copy from", type: "device" },
      { name: "target", reason: "there is no device like toaster", title: "the device to copy to", type: "device" },
    ];
    const candidates = words.includes("hello")
      ? []
      : near
        ? [{ ...found, missing, params: {} }]
        : [{ missing: [], params: {}, recipe: "fleet-health", title: RECIPES[1]?.title }];
    return {
      body: {
        plan_hash: null,
        tasks: [],
        understood: {
          by_model: words.includes("by the model"),
          candidates,
          examples: ["how are my machines", "back up the pictures of demo-phone to demo-server"],
          outcome: near ? "near" : "none",
          ...(words.includes("by a model that is not there")
            ? { model_fault: { hint: "Install them there.", reason: "the libraries for a model are not installed" } }
            : {}),
        },
      },
      status: 200,
    };
  }
  if (body.plan !== undefined && !JSON.stringify(body.plan).includes("starloom")) {
    return {
      body: {
        code: "plan_invalid",
        errors: [
          {
            code: "unknown_field",
            hint: "Did you mean `tool`?",
            place: "tasks[0].tol",
            reason: "this field does not exist here",
          },
          { code: "duplicate_id", place: "tasks[1].id", reason: "two tasks have the id a" },
        ],
        hint: "Correct each listed place and send it again.",
        reason: "the plan has 2 faults",
        status: 422,
      },
      status: 422,
    };
  }
  const tasks = PREVIEW_TASKS.map(([id, tool, device, why, effect]) => ({
    alternatives: [],
    device,
    devices: [device],
    each: id === "send" || id === "copy" || id === "check" ? "item of list/folders" : null,
    effects: [effect],
    grant: effect === "write" ? "files:write" : "files:read",
    id,
    missing:
      id === "sheet"
        ? [{ device: "desktop", grant: "files:write", line: "starloom-agent grant files:write ~/Desktop/Pictures" }]
        : [],
    optional: false,
    person: null,
    repeatability: "idempotent",
    tool,
    why,
  }));
  return {
    body: {
      name: "Photo backup",
      plan_hash: "8c1f",
      tasks,
      ...(body.request ? { understood: { candidates: [found], outcome: "exact" } } : {}),
    },
    status: 200,
  };
}

export const SECRETS = [
  {
    created_at: "2026-03-02T08:00:00Z",
    devices: [{ id: "d-server", name: "demo-server" }],
    last_used_at: null,
    name: "db-password",
    recipes: [],
    set_at: "2026-03-02T08:00:00Z",
    set_by: "person:owner",
    tools: ["shell.run"],
    version: 2,
  },
];
