/**
 * Runs Python programs one after the other, each in a worker of its own that is ended with it.
 *
 * Pyodide's bytes come from the hub, at first need and then out of the browser's cache; no other host is asked.
 */
import type { FromWorker, Program, Runtime } from "./messages.ts";
import { RUNTIME_FILES } from "./messages.ts";
import PythonWorker from "./worker.ts?worker";

declare const __PYODIDE__: string;

export interface Ran {
  exitCode: number;
  result: string | null;
  files: { name: string; bytes: ArrayBuffer }[];
}

export interface Terms {
  signal: AbortSignal;
  said: (stream: "stdout" | "stderr", text: string) => void;
  note: (text: string) => void;
}

/** The runtime could not be had or the worker broke; the program may or may not have begun. */
export class PythonFault extends Error {}

let queue: Promise<unknown> = Promise.resolve();

/** Run a program when those before it have ended: memory is scarce on a phone. */
export function runProgram(program: Omit<Program, "base" | "runtime">, terms: Terms): Promise<Ran> {
  const turn = queue.then(() => run(program, terms));
  queue = turn.catch(() => {});
  return turn;
}

async function run(program: Omit<Program, "base" | "runtime">, terms: Terms): Promise<Ran> {
  terms.signal.throwIfAborted();
  terms.note("getting Python ready");
  // Its name carries the version, so a browser keeps each for ever.
  const base = new URL(`python/pyodide-${__PYODIDE__}/`, document.baseURI).href;
  const runtime = await fetchRuntime(base, terms.signal);
  const worker = new PythonWorker({ name: "python" });
  const stop = () => worker.terminate();
  terms.signal.addEventListener("abort", stop, { once: true });
  try {
    return await new Promise<Ran>((resolve, reject) => {
      terms.signal.addEventListener("abort", () => reject(terms.signal.reason), { once: true });
      worker.onerror = (event) => reject(new PythonFault(`the Python worker broke: ${event.message || "no reason"}`));
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if (data.m === "ready") terms.note("running");
        else if (data.m === "said") terms.said(data.stream, data.text);
        else if (data.m === "failed") reject(new PythonFault(data.why));
        else resolve(data);
      };
      const transfer = [...Object.values(runtime), ...program.files.map(({ bytes }) => bytes)];
      worker.postMessage({ ...program, base, runtime } satisfies Program, transfer);
    });
  } finally {
    terms.signal.removeEventListener("abort", stop);
    worker.terminate();
  }
}

async function fetchRuntime(base: string, signal: AbortSignal): Promise<Runtime> {
  const load = async (name: string): Promise<[string, ArrayBuffer]> => {
    const answer = await fetch(base + name, { signal, credentials: "omit" });
    if (!answer.ok) throw new PythonFault(`the hub did not give ${name}: status ${answer.status}`);
    return [name, await answer.arrayBuffer()];
  };
  return Object.fromEntries(await Promise.all(RUNTIME_FILES.map(load)));
}
