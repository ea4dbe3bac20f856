/**
 * The layers of the page: each folder imports only what it names here, no folders import each other in a circle, and no
 * folder has more children than its bound. A new arrow between folders fails until it has its place in the table.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const CHILDREN_MOST = 12;
const SOURCE = import.meta.dirname;

/** Every feature stands on these; `x/*` is x with all below it. */
const UNDER_FEATURES = ["app/*", "link", "model/*", "styles", "ui"];

/** What a folder may import beside itself. A feature names only other features here, and parts of its own. */
const NAMED: Record<string, string[]> = {
  "": ["app/*", "features/*", "link", "model/words", "styles", "ui"],
  "features/activity": ["generated"],
  "features/answer": ["features/answer/previews", "features/answer/values"],
  "features/answer/previews": ["features/answer/values"],
  "features/constellation": [
    "features/answer",
    "features/constellation/graph",
    "features/constellation/history",
    "features/constellation/inspector",
    "features/constellation/screen",
    "features/constellation/tasks",
  ],
  "features/constellation/edit": ["features/rows", "features/rows/trials"],
  "features/constellation/graph": ["features/constellation/graph/canvas", "features/constellation/graph/places"],
  "features/constellation/inspector": ["features/answer/values", "features/inbox"],
  "features/constellation/screen": [
    "features/answer",
    "features/constellation/graph",
    "features/constellation/history",
    "features/constellation/inspector",
    "features/constellation/planning",
    "features/constellation/tasks",
    "features/constellation/timeline",
    "features/constellation/view",
    "features/inbox",
    "features/inbox/questions",
    "features/lab",
    "features/recipes",
    "features/request",
    "features/schedules",
  ],
  "features/constellation/tasks": ["features/constellation/graph", "features/constellation/graph/canvas"],
  "features/constellation/timeline": ["features/constellation/graph", "features/constellation/graph/canvas"],
  "features/constellation/view": ["features/constellation/history"],
  "features/fleet": ["features/fleet/device", "features/fleet/joining", "features/fleet/vitals", "features/inbox"],
  "features/fleet/device": ["features/constellation/list", "features/fleet/vitals", "features/inbox", "features/lab"],
  "features/fleet/vitals": ["features/constellation/graph/canvas"],
  "features/home": [
    "features/constellation/list",
    "features/fleet/vitals",
    "features/inbox",
    "features/inbox/questions",
    "features/recipes",
  ],
  "features/inbox": ["features/answer/values", "features/inbox/questions", "features/recipes"],
  "features/inbox/questions": ["features/answer/values"],
  "features/lab": ["generated"],
  "features/recipes": [
    "features/recipes/trend",
    "features/request",
    "features/request/build",
    "features/request/preview",
    "features/rows",
  ],
  "features/request": [
    "features/inbox/questions",
    "features/request/build",
    "features/request/preview",
    "features/schedules",
  ],
  "features/request/build": ["features/request/preview", "features/rows", "features/rows/trials"],
  "features/request/preview": ["features/settings/secrets"],
  "features/rows": ["features/rows/form"],
  "features/schedules": ["features/recipes/trend", "features/request/preview"],
  "features/settings": [
    "features/lab",
    "features/settings/model",
    "features/settings/secrets",
    "features/settings/sessions",
  ],
  "app/actions": [
    "app/workspace",
    "generated",
    "link",
    "model",
    "model/answer",
    "model/stream",
    "model/tasks",
    "model/words",
    "ui",
  ],
  "app/shell": ["app/actions", "app/waiting", "app/workspace", "link", "model", "model/fleet", "model/words", "ui"],
  "app/waiting": ["app/workspace", "link", "model", "model/fleet", "model/stream", "model/words", "ui"],
  "app/workspace": ["link", "model", "model/stream", "model/tasks", "model/words", "styles", "ui"],
  link: ["model", "model/stream", "model/words"],
  ui: ["model", "model/words", "styles"],
  model: ["generated"],
  "model/answer": ["model", "model/words"],
  "model/fleet": ["generated", "model", "model/stream", "model/words"],
  "model/layout": ["model", "model/stream", "model/words"],
  "model/plan": ["model", "model/answer", "model/fleet", "model/stream", "model/tasks", "model/words"],
  "model/rows": ["model/words"],
  "model/rows/live": ["model", "model/rows", "model/stream", "model/words"],
  "model/rows/trials": ["model/rows"],
  "model/run": ["model", "model/stream", "model/words"],
  "model/stream": ["model"],
  "model/tasks": ["model", "model/fleet", "model/stream", "model/words"],
  "model/words": ["generated", "model"],
};

/** The pure half knows no React, no browser and no hub. */
const PACKAGES: Record<string, string[]> = {
  model: ["yaml"],
  link: [],
  ui: ["react"],
};

interface Import {
  from: string;
  to: string;
  file: string;
}

function files(folder: string): string[] {
  return readdirSync(join(SOURCE, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    return entry.isDirectory() ? files(path) : [path];
  });
}

const folderOf = (path: string) => (dirname(path) === "." ? "" : dirname(path));

/** The specifiers of a file: imports, dynamic ones, and workers by their address. */
function specifiers(text: string): string[] {
  const workers = [...text.matchAll(/new URL\("(\.[^"]+)", import\.meta\.url\)/g)].map((found) => found[1] ?? "");
  return [...ts.preProcessFile(text).importedFiles.map((one) => one.fileName), ...workers];
}

function imports(path: string, text: string): Import[] {
  return specifiers(text)
    .filter((one) => one.startsWith("."))
    .map((one) => ({ from: folderOf(path), to: folderOf(normalize(join(dirname(path), one))), file: path }))
    .filter((one) => one.from !== one.to && !one.to.startsWith(".."));
}

const covers = (name: string, folder: string) =>
  name.endsWith("/*") ? `${folder}/`.startsWith(name.slice(0, -1)) : name === folder;

function allowed(folder: string): string[] {
  return [...(NAMED[folder] ?? []), ...(folder.startsWith("features/") ? UNDER_FEATURES : [])];
}

const wrong = (all: Import[]) =>
  all
    .filter((one) => !allowed(one.from).some((name) => covers(name, one.to)))
    .map((one) => `${one.file} imports ${one.to}`);

/** A test may look over the rooms that its scenario needs. */
const SOURCES = files("").filter(
  (path) => /\.tsx?$/.test(path) && !path.includes(".test.") && !path.startsWith("generated/"),
);
const TEXTS = new Map(SOURCES.map((path) => [path, readFileSync(join(SOURCE, path), "utf8")]));
const ALL = [...TEXTS].flatMap(([path, text]) => imports(path, text));

/** The children of each folder: a module counts once with its test, a folder once. */
function children(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of files("")) {
    const parts = path.split("/");
    parts.forEach((part, at) => {
      const folder = parts.slice(0, at).join("/");
      const module = part.replace(/\.test\.tsx?$/, ".tsx").replace(/\.tsx?$/, "");
      const name = at < parts.length - 1 ? `${part}/` : /\.tsx?$/.test(part) ? module : part;
      found.set(folder, (found.get(folder) ?? new Set()).add(name));
    });
  }
  return found;
}

/** A path of folders that leads back to its beginning, or null. */
function circle(all: Import[]): string[] | null {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of all) next.set(from, (next.get(from) ?? new Set()).add(to));
  const closed = new Set<string>();
  const walk = (folder: string, way: string[]): string[] | null => {
    if (way.includes(folder)) return [...way.slice(way.indexOf(folder)), folder];
    if (closed.has(folder)) return null;
    for (const to of next.get(folder) ?? []) {
      const found = walk(to, [...way, folder]);
      if (found) return found;
    }
    closed.add(folder);
    return null;
  };
  for (const folder of next.keys()) {
    const found = walk(folder, []);
    if (found) return found;
  }
  return null;
}

describe("the folders of the page", () => {
  it("import only what they name", () => {
    expect(ALL.length).toBeGreaterThan(1000);
    expect(wrong(ALL)).toEqual([]);
  });
  it("name nothing that they do not import", () => {
    const stale = Object.entries(NAMED).flatMap(([folder, names]) =>
      names
        .filter((name) => !ALL.some((one) => one.from === folder && covers(name, one.to)))
        .map((name) => `${folder}: ${name}`),
    );
    expect(stale).toEqual([]);
  });
  it("have no circle", () => {
    expect(circle(ALL)).toBeNull();
  });
  it("use only the packages that their layer knows", () => {
    const found = [...TEXTS].flatMap(([path, text]) => {
      const known = PACKAGES[path.split("/")[0] ?? ""];
      const used = specifiers(text).filter((one) => !one.startsWith("."));
      return known ? used.filter((one) => !known.includes(one)).map((one) => `${path} imports ${one}`) : [];
    });
    expect(found).toEqual([]);
  });
  it("hold no module that the page does not use", () => {
    const used = new Set(
      [...TEXTS].flatMap(([path, text]) => specifiers(text).map((one) => normalize(join(dirname(path), one)))),
    );
    expect(SOURCES.filter((path) => !used.has(path) && path !== "main.tsx")).toEqual([]);
  });
  it("have few children each", () => {
    const many = [...children()].filter(([, names]) => names.size > CHILDREN_MOST);
    expect(many.map(([folder, names]) => `${folder || "src"}: ${names.size}`)).toEqual([]);
  });
  it("are told when they are wrong", () => {
    const of = (path: string, text: string) => imports(path, text);
    expect(wrong(of("model/words/words.ts", 'import { Rest } from "../../link/rest.ts";'))).toHaveLength(1);
    expect(wrong(of("ui/parts.tsx", 'import type { Rest } from "../link/rest.ts";'))).toHaveLength(1);
    expect(wrong(of("features/lab/Lab.tsx", 'const Home = import("../home/Home.tsx");'))).toHaveLength(1);
    expect(wrong(of("features/new/New.tsx", 'import { HomePage } from "../home/Home.tsx";'))).toHaveLength(1);
    expect(wrong(of("features/lab/Lab.tsx", 'import { Button } from "../../ui/parts.tsx";'))).toEqual([]);
    const round = ["a", "b"].map((from) => ({ from, to: from === "a" ? "b" : "a", file: from }));
    expect(circle(round)).toEqual(["a", "b", "a"]);
  });
});
