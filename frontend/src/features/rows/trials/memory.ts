/** The last real output of each tool, which the editor keeps in this browser. Never leaves it. */
import { PREFIX, readPersonal, writePersonal } from "../../../app/workspace/personal.ts";
import { isFields, type Json } from "../../../model/rows/document.ts";
import type { Sample } from "../../../model/rows/sample.ts";

const SAMPLE = `${PREFIX}sample.`;
const SAMPLE_MOST = 48 * 1024;

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
  if (text.length <= SAMPLE_MOST) writePersonal(SAMPLE + tool, text);
}

function read(key: string): Json {
  try {
    return JSON.parse(readPersonal(key) ?? "null") as Json;
  } catch {
    return null;
  }
}
