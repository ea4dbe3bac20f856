/** What the editor keeps in this browser: the draft, and the last real output of each tool. Never leaves it. */
import { type Draft, isFields, type Json } from "../../../model/rows/document.ts";
import type { Sample } from "../../../model/rows/sample.ts";

const DRAFT = "starloom.rows.draft";
const SAMPLE = "starloom.rows.sample.";
const SAMPLE_MOST = 48 * 1024;

/** The draft of last time; null when there is none or it cannot be read. */
export function keptDraft(): Draft | null {
  const value = read(DRAFT);
  if (!isFields(value) || !isFields(value.plan)) return null;
  return { head: isFields(value.head) ? value.head : null, plan: value.plan };
}

export function keepDraft(draft: Draft | null): void {
  write(DRAFT, draft === null ? null : JSON.stringify(draft));
}

/** The last real output of a tool, whichever row or constellation it came from. */
export function keptSample(tool: string): Sample | null {
  const value = read(SAMPLE + tool);
  if (!isFields(value) || value.value === undefined) return null;
  return { value: value.value, device: String(value.device ?? ""), atMs: Number(value.atMs) || 0 };
}

export function keepSample(tool: string, sample: Sample): void {
  const text = JSON.stringify(sample);
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
    else localStorage.setItem(key, text);
  } catch {
    return;
  }
}
