/**
 * `python.run`: a program of the request in Pyodide, in a worker without network, files or this page's things.
 * Its arguments and its value are those of the Python agents' tool, so a plan need not know where it runs.
 */
import { z } from "zod";
import { canonical } from "../protocol/values.ts";
import { PythonFault, type Ran, runProgram } from "../python/runner.ts";
import { type Call, storedFile, ToolFailed, tool } from "./interface.ts";
import { namesOf } from "./layingOut.ts";

const SHOWN_CHARS = 12 * 1024;
const RESERVED = new Set(["program.py", "input.json", "result.json", "out"]);

const file = z.looseObject({
  artifact: z.string().regex(/^[0-9a-f]{64}$/),
  below: z.string().default(""),
  device: z.string().default(""),
  name: z.string().max(200).default(""),
  path: z.string().default(""),
});
const args = z.strictObject({
  code: z
    .string()
    .min(1)
    .max(1024 * 1024),
  argv: z.array(z.string()).default([]),
  files: z.array(file).max(100).default([]),
  input: z.json().default(null),
  any_exit: z.boolean().default(false),
  timeout_s: z.number().gt(0).max(86_400).default(600),
  device_name: z.string().default(""),
});

export const pythonRun = tool({
  name: "python.run",
  title: "Run a Python program",
  capability: "python",
  args,
  gives: z.strictObject({
    exit_code: z.int(),
    stdout: z.string(),
    stderr: z.string(),
    lost_bytes: z.int(),
    value: z.unknown(),
    files: z.array(storedFile),
    device: z.string().optional(),
  }),
  effects: ["read", "write"],
  // It reaches nothing outside its worker, so running it again has no more effect than once.
  repeatability: "idempotent",
  resumes: false,
  probe: (around) => (around.hasWasm ? null : "this browser has no WebAssembly"),
  async run(call, { code, argv, files, input, any_exit, timeout_s, device_name }) {
    const inputs: { name: string; bytes: ArrayBuffer }[] = [];
    const names = namesOf(files, RESERVED);
    for (const [index, { artifact }] of files.entries()) {
      inputs.push({ name: names[index] ?? artifact, bytes: await (await call.fetch(artifact)).arrayBuffer() });
    }
    const output = { stdout: "", stderr: "" };
    let lost = 0;
    const take = (stream: "stdout" | "stderr", text: string) => {
      call.log(text, stream);
      const room = Math.max(0, SHOWN_CHARS - output[stream].length);
      output[stream] += text.slice(0, room);
      lost += Math.max(0, text.length - room);
    };
    const ran = await within(timeout_s, call, (signal) =>
      runProgram(
        { code, argv, input: canonical(input), files: inputs },
        {
          signal,
          said: take,
          note: (note) => call.progress({ note }),
        },
      ),
    );
    if (ran.exitCode !== 0 && !any_exit) {
      const last = (output.stderr.trim() || output.stdout.trim() || "it said nothing").slice(-800);
      throw new ToolFailed("exit_code", `the program ended with ${ran.exitCode}: ${last}`);
    }
    const out = [];
    for (const { name, bytes } of ran.files) {
      const media = MEDIA[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "application/octet-stream";
      out.push({ ...(await call.put({ name, media, blob: new Blob([bytes], { type: media }) })) });
    }
    return {
      exit_code: ran.exitCode,
      stdout: output.stdout,
      stderr: output.stderr,
      lost_bytes: lost,
      value: parsedResult(ran.result),
      files: out,
      ...(device_name ? { device: device_name } : {}),
    };
  },
});

const MEDIA: Record<string, string> = {
  csv: "text/csv",
  html: "text/html",
  jpg: "image/jpeg",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain",
};

async function within(s: number, call: Call, run: (signal: AbortSignal) => Promise<Ran>): Promise<Ran> {
  const limit = new AbortController();
  const stop = () => limit.abort(call.signal.reason);
  call.signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => {
    limit.abort(new ToolFailed("timed_out", `the program did not end within ${s} s and was stopped`));
  }, s * 1000);
  try {
    return await run(limit.signal);
  } catch (error) {
    if (error instanceof PythonFault) throw new ToolFailed("tool_failed", error.message);
    throw error;
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener("abort", stop);
  }
}

function parsedResult(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ToolFailed("tool_failed", `result.json is not JSON: ${String(error)}`);
  }
}
