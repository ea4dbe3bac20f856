/** What the editor keeps in this browser: its drafts, and the last real output of each tool. Never leaves it. */
import { boundPersonal } from "../../../app/workspace/personal.ts";
import { type Draft, type Fields, isFields, type Json } from "../../../model/rows/document.ts";
import type { Sample } from "../../../model/rows/sample.ts";

const DRAFT = "starloom.rows.draft";
const LIVE = "starloom.rows.live.";
const SAMPLE = "starloom.rows.sample.";
const SAMPLE_MOST = 48 * 1024;

/** The draft of last time; null when there is none or it cannot be read. */
export function keptDraft(): Draft | null {
  return draftIn(read(DRAFT));
}

function draftIn(value: Json | undefined): Draft | null {
  if (!isFields(value) || !isFields(value.plan)) return null;
  return { head: isFields(value.head) ? value.head : null, plan: value.plan };
}

export function keepDraft(draft: Draft | null): void {
  write(DRAFT, draft === null ? null : JSON.stringify(draft));
}

/** A draft over a running plan, with the version that it was begun on. */
interface LiveDraft {
  base: { plan: Fields; version: number };
  draft: Draft;
}

/** The draft of last time over this constellation; null when there is none or it cannot be read. */
export function keptLiveDraft(constellation: string): LiveDraft | null {
  const value = read(LIVE + constellation);
  if (!isFields(value) || !isFields(value.base) || !isFields(value.base.plan)) return null;
  const draft = draftIn(value.draft);
  return draft && { base: { plan: value.base.plan, version: Number(value.base.version) || 0 }, draft };
}

export function keepLiveDraft(constellation: string, kept: LiveDraft | null): void {
  write(LIVE + constellation, kept === null ? null : JSON.stringify({ ...kept, atMs: Date.now() }));
}

/** The last real output of a tool; of another call than this one it is an example of what the tool gives. */
export function keptSample(tool: string, call: string): Sample | null {
  const value = read(SAMPLE + tool);
  if (!isFields(value) || value.value === undefined) return null;
  const sample = { value: value.value, device: String(value.device ?? ""), atMs: Number(value.atMs) || 0 };
  return value.call === call ? sample : asExample(sample);
}

export const asExample = (sample: Sample): Sample => ({ ...sample, device: "", atMs: 0 });

export function keepSample(tool: string, call: string, sample: Sample): void {
  const text = JSON.stringify({ ...sample, call });
  if (text.length <= SAMPLE_MOST) write(SAMPLE + tool, text);
}

function read(key: string): Json {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") as Json;
  } catch {
    return null;
  }
}

/** A full or forbidden store loses the memory, not the work that is on screen. */
function write(key: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(key);
    else {
      localStorage.setItem(key, text);
      boundPersonal();
    }
  } catch {
    return;
  }
}
