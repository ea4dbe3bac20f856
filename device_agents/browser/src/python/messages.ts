/** What the page and the worker of one Python program say to each other. */

/** The bytes that Pyodide would fetch: its worker has no network, so the page gives them. */
export type Runtime = Record<string, ArrayBuffer>;

/** `base` is where the worker imports Pyodide's two modules from: a folder of its own origin. */
export interface Program {
  base: string;
  runtime: Runtime;
  code: string;
  argv: string[];
  /** Canonical JSON for `input.json`. */
  input: string;
  files: { name: string; bytes: ArrayBuffer }[];
}

export type FromWorker =
  | { m: "ready" }
  | { m: "said"; stream: "stdout" | "stderr"; text: string }
  | {
      m: "ended";
      exitCode: number;
      /** The text of `result.json`, null if the program left none. */
      result: string | null;
      files: { name: string; bytes: ArrayBuffer }[];
    }
  | { m: "failed"; why: string };

export const RUNTIME_FILES = ["pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"] as const;
