/**
 * What a tool of the tab is, and all that one call may touch: the person, its own steps, artifacts, its log.
 *
 * A call that was begun in an earlier life of the tab runs again from its top; `step` gives what was taken already, so
 * nothing is asked twice and nothing has its effect twice. `touch` comes before the first effect.
 */
import { z } from "zod";
import type { Code, Effect, Repeatability } from "../generated/protocol.ts";

/** An expected failure; `detail` is a sentence for people: what, where, what was tried, the way out. */
export class ToolFailed extends Error {
  readonly code: Code;
  readonly detail: string;

  constructor(code: Code, detail: string) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.detail = detail;
  }
}

/** A file at the hub, named by the hash of its bytes. */
export interface FileRef {
  artifact: string;
  bytes: number;
  name: string;
  media: string;
}

/** A file at the hub, as it stands in a result. */
export const storedFile = z.strictObject({
  artifact: z.string(),
  bytes: z.int(),
  media: z.string(),
  name: z.string(),
});

/** A file that a person gave or a program made, before it is at the hub. */
export interface LocalFile {
  name: string;
  media: string;
  blob: Blob;
  /** When it was last changed, in seconds since 1970; left out where the browser does not know it. */
  modifiedS?: number;
}

/** The place of a file among those that one call sends, in bytes: those before it, and those of all. */
export interface Share {
  before: number;
  total: number;
  /** Its place in words, `107 of 300`; without it the file is the only one. */
  place?: string;
}

/** How far a call has come. */
export interface Told {
  doneBytes?: number;
  totalBytes?: number;
  fraction?: number;
  note?: string;
}

interface Asked {
  /** What it is for, in the words of the request. */
  text: string;
  /** How long it stays open; without it for as long as its call. */
  withinS?: number;
}

/** What a person is shown; each kind has its own way to be answered. */
export type Question =
  | (Asked & { kind: "choice"; choices: readonly string[] })
  | (Asked & { kind: "line" })
  | (Asked & { kind: "files"; accept: string; many: boolean })
  | (Asked & { kind: "picture"; facing: "user" | "environment" })
  /** One tap that carries `act` out inside the person's gesture, which the browser asks for. */
  | (Asked & { kind: "tap"; button: string; shown?: string; act: () => Promise<unknown> });

export interface Call {
  /** Aborted when the call is cancelled, fenced or out of time. */
  readonly signal: AbortSignal;
  /** What `take` came to, kept before this returns; a later life of the tab is given the same without taking it. */
  step<T>(name: string, take: () => Promise<T>): Promise<T>;
  /** From here on the call may have had its effect; on disk before this returns. */
  touch(): Promise<void>;
  /** @throws ToolFailed `declined` if the person says no. */
  ask(question: Question): Promise<unknown>;
  /** @throws ToolFailed `network` when the hub was out of reach for too long, `no_space`, `output_too_big`. */
  put(file: LocalFile, share?: Share): Promise<FileRef>;
  /** The bytes of an artifact, checked against their hash. @throws ToolFailed as `put`, and `artifact_corrupt`. */
  fetch(sha256: string): Promise<Blob>;
  /** Put a notice on the page, where it stays until its person takes it away. */
  show(title: string, text: string): void;
  log(text: string, stream?: "log" | "stdout" | "stderr"): void;
  progress(terms: Told): void;
}

/** What of a browser decides whether a tool can work; a test makes its own. */
export interface Surroundings {
  secure: boolean;
  navigator: Partial<Pick<Navigator, "clipboard" | "geolocation" | "mediaDevices" | "share" | "userAgent">>;
  notifications: NotificationPermission | "absent";
  hasWasm: boolean;
}

/** One switch of the tab's owner. */
export type Capability = "ask" | "notify" | "files" | "camera" | "location" | "clipboard" | "share" | "python";

export interface Tool<Args extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly title: string;
  readonly capability: Capability;
  readonly args: Args;
  /** What it returns: the hub judges plans by it, so a field that is not in it does not exist. */
  readonly gives: z.ZodType;
  readonly effects: readonly Effect[];
  /** What waits for a person is `never`: such an attempt is waited for while the phone sleeps, not given away. */
  readonly repeatability: Repeatability;
  /** Whether a later life of the tab may run the call again from its top, because its steps were kept. */
  readonly resumes: boolean;
  /** Why it cannot work in this browser now, without any effect; null if it can. */
  probe(around: Surroundings): string | null;
  /** What it returns must be JSON; the agent refuses anything else. */
  run(call: Call, args: z.output<Args>): Promise<unknown>;
}

/** Keep a tool's own types while it is written, and let it stand in a list with others. */
export function tool<Args extends z.ZodType>(made: Tool<Args>): Tool {
  return made as unknown as Tool;
}

/** Said wherever the browser wants HTTPS for something. */
export function needsSecure(around: Surroundings, what: string): string | null {
  return around.secure ? null : `${what} works over HTTPS only; this page came over plain HTTP (see docs/reach.md)`;
}
