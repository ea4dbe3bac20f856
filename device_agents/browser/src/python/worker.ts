/**
 * Runs one Python program in Pyodide and ends with it: a fresh worker for each program.
 *
 * The script's own Content-Security-Policy gives it no network and no further workers. What would be left of the
 * page's origin - its stores, its channels, its locks - is taken away here before the program begins, and Python's
 * `js` module is an empty object. Code cannot be made out of text: the policy allows WebAssembly only.
 */
import { type FromWorker, type Program, RUNTIME_FILES } from "./messages.ts";

interface Pyodide {
  FS: {
    mkdirTree(path: string): void;
    writeFile(path: string, data: string | Uint8Array): void;
    readFile(path: string, options?: { encoding: "utf8" }): Uint8Array | string;
    readdir(path: string): string[];
    lstat(path: string): { mode: number; size: number };
    isFile(mode: number): boolean;
    isDir(mode: number): boolean;
    chdir(path: string): void;
  };
  runPython(code: string): unknown;
}

const HOME = "/home/program";
const RESULT_BYTES_MOST = 8 * 1024 * 1024;
const FILES_MOST = 256;
const FILES_BYTES_MOST = 256 * 1024 * 1024;
const OUTPUT_BYTES_MOST = 10 * 1024 * 1024;

/** What a worker of this origin could use to reach the page's things. */
const DOORS = [
  "indexedDB",
  "caches",
  "BroadcastChannel",
  "MessageChannel",
  "SharedWorker",
  "Worker",
  "WebSocket",
  "WebTransport",
  "EventSource",
  "XMLHttpRequest",
  "RTCPeerConnection",
  "Notification",
  "fetch",
  "importScripts",
  "navigator",
  "cookieStore",
];

function send(message: FromWorker, transfer: Transferable[] = []): void {
  globalThis.postMessage(message, { transfer });
}

self.onmessage = async ({ data }: MessageEvent<Program>) => {
  try {
    await run(data);
  } catch (error) {
    send({ m: "failed", why: String(error) });
  }
};

async function run(program: Program): Promise<void> {
  const python = await load(program);
  shutDoors();
  send({ m: "ready" });
  layOut(python, program);
  const exitCode = Number(python.runPython(RUN));
  const files = filesOut(python, `${HOME}/out`);
  send(
    { m: "ended", exitCode, result: resultOf(python), files },
    files.map(({ bytes }) => bytes),
  );
}

async function load({ base, runtime }: Program): Promise<Pyodide> {
  // Pyodide asks `fetch` for its bytes; all that it may have were given by the page.
  globalThis.fetch = (async (input: RequestInfo | URL) => {
    const name = RUNTIME_FILES.find((file) => String(input instanceof Request ? input.url : input).endsWith(file));
    const bytes = name && runtime[name];
    if (!bytes) return new Response("not there", { status: 404 });
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return new Response(bytes, { headers: { "Content-Type": type } });
  }) as typeof fetch;
  const module = (await import(/* @vite-ignore */ `${base}pyodide.mjs`)) as {
    loadPyodide(options: Record<string, unknown>): Promise<Pyodide>;
  };
  let written = 0;
  const voice = (stream: "stdout" | "stderr") => (text: string) => {
    written += text.length + 1;
    if (written <= OUTPUT_BYTES_MOST) send({ m: "said", stream, text: `${text}\n` });
  };
  return module.loadPyodide({
    indexURL: base,
    jsglobals: Object.create(null),
    stdout: voice("stdout"),
    stderr: voice("stderr"),
    checkAPIVersion: false,
  });
}

function shutDoors(): void {
  for (const name of DOORS) {
    for (let at: object | null = globalThis; at !== null; at = Object.getPrototypeOf(at)) {
      if (Object.hasOwn(at, name)) Reflect.deleteProperty(at, name);
    }
    if (name in globalThis) Object.defineProperty(globalThis, name, { value: undefined, configurable: false });
  }
}

function layOut({ FS }: Pyodide, { code, argv, input, files }: Program): void {
  FS.mkdirTree(`${HOME}/out`);
  FS.writeFile(`${HOME}/program.py`, code);
  FS.writeFile(`${HOME}/input.json`, input);
  FS.writeFile(`${HOME}/.argv.json`, JSON.stringify(["program.py", ...argv]));
  for (const { name, bytes } of files) FS.writeFile(`${HOME}/${name}`, new Uint8Array(bytes));
  FS.chdir(HOME);
}

/** A program as `python program.py` would run it: its own `__main__`, its exit code, its traceback on stderr. */
const RUN = `
def _run():
    import json, os, runpy, sys, traceback
    with open(".argv.json") as file:
        sys.argv = json.load(file)
    os.remove(".argv.json")
    sys.path.insert(0, os.getcwd())
    try:
        runpy.run_path("program.py", run_name="__main__")
        return 0
    except SystemExit as end:
        if end.code is None:
            return 0
        if isinstance(end.code, int):
            return end.code
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
_run()
`;

function resultOf({ FS }: Pyodide): string | null {
  const path = `${HOME}/result.json`;
  try {
    const { mode, size } = FS.lstat(path);
    if (!FS.isFile(mode)) return null;
    if (size > RESULT_BYTES_MOST) throw new Error(`result.json is larger than ${RESULT_BYTES_MOST} bytes; use out/`);
  } catch (error) {
    // Emscripten's own error for a file that is not there.
    if ((error as { errno?: number }).errno !== undefined) return null;
    throw error;
  }
  return FS.readFile(path, { encoding: "utf8" }) as string;
}

function filesOut({ FS }: Pyodide, root: string): { name: string; bytes: ArrayBuffer }[] {
  const files: { name: string; bytes: ArrayBuffer }[] = [];
  let total = 0;
  const walk = (folder: string, below: string): void => {
    for (const name of FS.readdir(folder).sort()) {
      if (name === "." || name === "..") continue;
      const { mode, size } = FS.lstat(`${folder}/${name}`);
      if (FS.isDir(mode)) walk(`${folder}/${name}`, `${below}${name}/`);
      else if (FS.isFile(mode)) {
        total += size;
        if (files.length >= FILES_MOST) throw new Error(`out/ has more than ${FILES_MOST} files`);
        if (total > FILES_BYTES_MOST) throw new Error(`out/ holds more than ${FILES_BYTES_MOST} bytes`);
        const bytes = FS.readFile(`${folder}/${name}`) as Uint8Array;
        files.push({ name: `${below}${name}`, bytes: new Uint8Array(bytes).buffer });
      }
    }
  };
  walk(root, "");
  return files;
}
