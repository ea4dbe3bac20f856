/**
 * The sample constellation as a log of events, built like the real one: 11 tasks, a family of 8 by 4, versions 1 to 4,
 * one cut link. For the mock hub and the tests of the page; the hub's own golden logs are the authority on bytes.
 */
import type { Entity, StreamEvent } from "../src/model/types.ts";
import { DESKTOP, PHONE, SERVER } from "./fleetScenario.ts";
import { LogBuilder, type Puts, T0 } from "./logBuilder.ts";

export const CONSTELLATION = "c-photo-backup";
const FOLDERS = ["Harbour", "Garden", "Lake", "Hills", "Market", "Bridge", "Winter", "Lake copy"];
const spec = (id: string, more: Entity): Entity => ({ changed_in: 1, id, repeatability: "idempotent", ...more });
const dep = (source: string, target: string, gate: string, more: Entity = {}): Puts => ({
  [`dep/${source}>${target}:${(more.input as string) ?? gate}`]: { changed_in: 1, gate, source, target, ...more },
});
const MEMBERS: [string, string, string][] = [
  ["send", "artifact.put", "demo-phone"],
  ["copy", "fs.write", "demo-server"],
  ["check", "fs.hash", "demo-server"],
  ["thumb", "image.resize", "demo-server"],
];
const DEVICE: Record<string, string> = { send: PHONE, copy: SERVER, check: SERVER, thumb: DESKTOP };

function planPuts(): Puts {
  const family = (id: string, tool: string, device: string): Entity =>
    spec(id, {
      device: { name: device },
      family: "send",
      for_each: id === "send" ? { max_parallel: 2, output: "/folders", source: "list" } : { same: "send" },
      tool,
    });
  return {
    "spec/list": spec("list", {
      args: '{"group_by":"folder","kinds":["image"],"root":"Pictures"}',
      device: { name: "demo-phone" },
      tool: "fs.find",
    }),
    "spec/digest": spec("digest", {
      device: { name: "demo-phone" },
      inputs: [{ name: "folders", output: "/folders", source: "list" }],
      tool: "fs.hash",
    }),
    "spec/space": spec("space", {
      device: { name: "demo-server" },
      inputs: [{ name: "need_bytes", output: "/total_bytes", source: "list" }],
      tool: "disk.usage",
    }),
    "spec/ask-room": spec("ask-room", { person: "There is little room on the server. Copy all the same?" }),
    ...Object.fromEntries(MEMBERS.map(([id, tool, device]) => [`spec/${id}`, family(id, tool, device)])),
    "spec/sheet": spec("sheet", { device: { name: "desktop" }, tool: "image.sheet", repeatability: "pure" }),
    "spec/proof": spec("proof", {
      checks: [{ op: "eq", output: "/same", value: "true" }],
      device: { name: "demo-server" },
      tool: "fs.verify",
    }),
    "spec/tell": spec("tell", { device: { name: "demo-phone" }, optional: true, tool: "notify" }),
    ...dep("list", "digest", "data", { input: "folders" }),
    ...dep("list", "space", "data", { input: "need_bytes" }),
    ...dep("space", "ask-room", "output", { condition: { op: "eq", output: "/enough", value: "false" } }),
    ...dep("ask-room", "send", "unless_failed"),
    ...dep("list", "send", "data", { input: "for_each" }),
    ...dep("send", "copy", "data", { input: "files" }),
    ...dep("copy", "check", "data", { input: "files" }),
    ...dep("digest", "check", "data", { input: "expect" }),
    ...dep("check", "thumb", "success"),
    ...dep("send", "thumb", "data", { input: "files" }),
    ...dep("thumb", "sheet", "data", { all: true, input: "thumbs" }),
    ...dep("check", "sheet", "data", { all: true, input: "rows" }),
    ...dep("sheet", "proof", "unless_failed"),
    ...dep("check", "proof", "data", { all: true, input: "catalogue" }),
    ...dep("proof", "tell", "data", { input: "count" }),
  };
}

export type Stop = "killed" | "final" | "failed";

/** The log up to a moment: the phone just killed, everything done, or ended by a failure. */
export function photoBackup(stop: Stop): StreamEvent[] {
  const log = new LogBuilder(CONSTELLATION);
  const head = (more: Entity): Entity => ({
    author: "person:mara",
    created_ms: T0,
    id: CONSTELLATION,
    name: "Photo backup",
    recipe: "photo-backup",
    request: "Back up the pictures of my phone to the server, check every copy, and put a contact sheet on my desktop.",
    ...more,
  });
  log.put("request_received", { head: head({ state: "planning" }) }, { by: "person:mara" });
  const tops = ["list", "digest", "space", "ask-room", "sheet", "proof", "tell"];
  log.wait(200).put(
    "plan_made",
    {
      ...planPuts(),
      ...Object.fromEntries(tops.map((id) => [`task/${id}`, { since_ms: log.now, state: "waiting" }])),
      ...Object.fromEntries(MEMBERS.map(([id]) => [`group/${id}`, { since_ms: log.now, state: "waiting" }])),
      head: head({ state: "active", version: 1 }),
      "version/1": {
        added: [...tops, ...MEMBERS.map(([id]) => id)],
        at_ms: log.now,
        author: "planner",
        number: 1,
        reason: "recipe photo-backup",
        trigger: "plan",
      },
    },
    { by: "planner" },
  );
  const folders = FOLDERS.map((path, index) => ({
    bytes: 384_000,
    files: [1, 2, 3].map((n) => `${path}/${n}.png`),
    path: `Pictures/${path}`,
    n: index,
  }));
  log.start("list", PHONE).end("list", 800, {
    folders: folders.map(({ path, bytes }) => ({ bytes, files: 3, path })),
    total_bytes: 3_072_000,
  });
  expand(log, head);
  log.start("digest", PHONE).start("space", SERVER).end("space", 200, { enough: true, free_bytes: 412_000_000_000 });
  log.task("ask-room", { cause: "not_chosen", reason: "not_chosen", state: "skipped" }, "skipped");
  log.start("send.0", PHONE).start("send.1", PHONE).end("send.0", 300, { files: 3 });
  log.end("digest", 400, { duplicates: [7] });
  drop(log, head);
  log
    .start("send.2", PHONE)
    .start("copy.0", SERVER)
    .end("send.1", 300, { files: 3 })
    .start("copy.1", SERVER)
    .end("copy.0", 200, { files: 3 });
  log
    .start("check.0", SERVER)
    .end("copy.1", 150, { files: 3 })
    .end("check.0", 100, { equal: true }, true)
    .start("thumb.0", DESKTOP)
    .start("check.1", SERVER);
  log
    .end("check.1", 200, { equal: true }, true)
    .end("send.2", 100, { files: 3 })
    .end("thumb.0", 100, { files: 3 })
    .start("copy.2", SERVER);
  log.start("thumb.1", DESKTOP).start("send.3", PHONE).end("copy.2", 200, { files: 3 }).start("check.2", SERVER);
  for (const id of ["send.4", "send.5", "send.6"]) log.task(id, { state: "ready" }, "ready");
  answer(
    log,
    "partial",
    "9 of 21 pictures are on demo-server, 6 of them read back and equal; 1 folder dropped as a duplicate.",
  );
  log
    .wait(900)
    .put(
      "fault_injected",
      { head: log.get("head") },
      { by: "lab", note: "link of demo-phone cut, its agent killed: announced, real" },
    );
  log.task("send.3", { absent_since_ms: log.now, reason: "absent" }, "task_absent");
  if (stop === "killed") return log.events;
  log.end("check.2", 300, { equal: true }, true).end("thumb.1", 200, { files: 3 });
  resumeSend(log, stop === "failed");
  if (stop === "failed") return finishFailed(log, head);
  finish(log, head);
  return log.events;
}

type MakeHead = (more: Entity) => Entity;

function expand(log: LogBuilder, head: MakeHead): void {
  const puts: Puts = { head: head({ state: "active", version: 2 }) };
  const added: string[] = [];
  FOLDERS.forEach((path, key) => {
    puts[`item/send/${key}`] = {
      key: String(key),
      value: JSON.stringify({ bytes: 384_000, path: `Pictures/${path}` }),
    };
    MEMBERS.forEach(([id, tool, device], at) => {
      const child = `${id}.${key}`;
      added.push(child);
      puts[`spec/${child}`] = {
        changed_in: 2,
        device: { name: device },
        family: "send",
        group: id,
        id: child,
        key: String(key),
        repeatability: "idempotent",
        tool,
      };
      puts[`task/${child}`] = { since_ms: log.now, state: "waiting" };
      const before = MEMBERS[at - 1]?.[0];
      if (before) Object.assign(puts, dep(`${before}.${key}`, child, "data", { changed_in: 2, input: "files" }));
    });
  });
  for (const [id] of MEMBERS) puts[`group/${id}`] = { count: 8, since_ms: log.now, state: "expanded" };
  puts["version/2"] = {
    added,
    at_ms: log.now,
    author: "engine",
    number: 2,
    reason: "8 folders found",
    trigger: "expand",
  };
  log.put("group_expanded", puts, { about: "send" });
}

function drop(log: LogBuilder, head: MakeHead): void {
  const puts: Puts = { head: head({ state: "active", version: 3 }) };
  const removed = MEMBERS.map(([id]) => `${id}.7`);
  for (const id of removed) {
    puts[`spec/${id}`] = null;
    puts[`task/${id}`] = null;
  }
  MEMBERS.forEach(([id], at) => {
    const before = MEMBERS[at - 1]?.[0];
    if (before) puts[`dep/${before}.7>${id}.7:files`] = null;
  });
  puts["version/3"] = {
    at_ms: log.now,
    author: "rule:duplicates",
    number: 3,
    reason: "the same pictures are in another folder",
    removed,
    trigger: "rule",
  };
  log.put("plan_edited", puts, { by: "rule:duplicates" });
}

function resumeSend(log: LogBuilder, fails: boolean): void {
  log.wait(1700);
  const held = log.get<Entity>("attempt/send.3/1");
  log.task(
    "send.3",
    { absent_since_ms: null, not_before_ms: log.now + 400, reason: "backoff", state: "ready" },
    "task_retried",
    {
      "attempt/send.3/1": {
        ...held,
        bytes: 192_000,
        detail: "The agent was stopped in the middle",
        effect: "maybe",
        end: "interrupted",
        ended_ms: log.now,
      },
    },
  );
  log.wait(400).start("send.3", PHONE);
  if (fails) {
    log.wait(700);
    const attempt = log.get<Entity>("attempt/send.3/2");
    log.task("send.3", { code: "no_space", state: "failed" }, "task_failed", {
      "attempt/send.3/2": {
        ...attempt,
        code: "no_space",
        detail: "No space left on demo-phone for hills-02.png",
        end: "error",
        ended_ms: log.now,
        tail: "put Hills, 3 files, 384 KB\nhills-01.png 128 KB stored\nhills-02.png 64 of 131 KB\nwrite: no space left on device\nexit 1\n",
      },
    });
  } else log.end("send.3", 600, { files: 3 });
}

function finish(log: LogBuilder, head: MakeHead): void {
  log.put(
    "plan_edited",
    {
      ...dep("copy.3", "recheck-3", "data", { changed_in: 4, input: "files" }),
      ...dep("recheck-3", "proof", "success", { changed_in: 4 }),
      head: head({ state: "active", version: 4 }),
      "spec/recheck-3": {
        changed_in: 4,
        device: { name: "demo-server" },
        id: "recheck-3",
        repeatability: "pure",
        tool: "fs.hash",
      },
      "task/recheck-3": { since_ms: log.now, state: "waiting" },
      "version/4": {
        added: ["recheck-3"],
        at_ms: log.now,
        author: "rule:recheck",
        changed: ["proof"],
        number: 4,
        reason: "this copy was interrupted and made again",
        trigger: "rule",
      },
    },
    { by: "rule:recheck" },
  );
  for (const key of [4, 5, 6]) log.start(`send.${key}`, PHONE).end(`send.${key}`, 250, { files: 3 });
  for (const key of [2, 3, 4, 5, 6]) {
    for (const [id] of MEMBERS) {
      const child = `${id}.${key}`;
      if (log.get<Entity>(`task/${child}`).state === "succeeded") continue;
      log
        .start(child, DEVICE[id] ?? SERVER)
        .end(child, 60, id === "check" ? { equal: true } : { files: 3 }, id === "check");
    }
  }
  log.start("recheck-3", SERVER).end("recheck-3", 90, { equal: true }, true);
  for (const [id] of MEMBERS)
    log.put("group_succeeded", { [`group/${id}`]: { count: 7, since_ms: log.now, state: "succeeded" } }, { about: id });
  log
    .start("sheet", DESKTOP)
    .end("sheet", 500, { count: 21 })
    .start("proof", SERVER)
    .end("proof", 300, { bytes: 2_688_000, files: 21, same: true, twice: 0 }, true);
  log.start("tell", PHONE).end("tell", 80, { shown: "notification" });
  answer(
    log,
    "final",
    "21 pictures (2.7 MB) are safe on demo-server, each read back and equal; 1 folder dropped as a duplicate; nothing was copied twice.",
  );
  log.put("succeeded", { head: head({ ended_ms: log.now, state: "succeeded", version: 4 }) });
}

function finishFailed(log: LogBuilder, head: MakeHead): StreamEvent[] {
  for (const id of ["copy.3", "check.3", "thumb.3", "sheet", "proof", "tell"]) {
    log.task(id, { cause: "send.3", reason: "upstream_failed", state: "skipped" }, "skipped");
  }
  answer(
    log,
    "partial",
    "9 of 21 pictures are on demo-server. The folder Hills is missing: no space left on demo-phone.",
  );
  log.put("failed", { head: head({ ended_ms: log.now, state: "failed", version: 3 }) });
  return log.events;
}

function answer(log: LogBuilder, state: string, sentence: string): void {
  const rows = JSON.stringify([
    { bytes: 128_000, equal: true, file: "harbour-01.png", sha256: "9c41e07a" },
    { bytes: 131_000, equal: true, file: "harbour-02.png", sha256: "11be02c9" },
  ]);
  log.put("answer", {
    answer: {
      items: [
        {
          artifact: "ab".repeat(32),
          bytes: 48_200,
          media: "text/html",
          show: "file",
          task: "sheet",
          title: "Contact sheet",
        },
        { show: "table", task: "check", title: "Catalogue", value: rows },
        {
          checked: true,
          show: "value",
          task: "proof",
          title: "Proof",
          value: '{"bytes":2688000,"files":21,"same":true,"twice":0}',
        },
      ],
      sentence,
      state,
    },
  });
}
