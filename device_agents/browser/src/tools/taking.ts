/**
 * Files that a person gave, made fit to be kept: bytes copied out of the picker's handle, which may be gone after a
 * reload, and names that mean one file only.
 */
import { type LocalFile, ToolFailed } from "./interface.ts";

const UNKNOWN_MS = 5_000;
const KEPT_BYTES_MOST = 512 * 1024 * 1024;

/** @throws ToolFailed `output_too_big` for more than this browser can be asked to keep. */
export async function takenFiles(files: readonly LocalFile[]): Promise<LocalFile[]> {
  const bytes = files.reduce((sum, file) => sum + file.blob.size, 0);
  if (bytes > KEPT_BYTES_MOST) {
    const most = KEPT_BYTES_MOST / 1024 / 1024;
    throw new ToolFailed("output_too_big", `${bytes} bytes were picked; a tab keeps at most ${most} MiB at once`);
  }
  const used = new Set<string>();
  const copies: LocalFile[] = [];
  for (const { name, media, blob, ...more } of files) {
    const copy = new Blob([await blob.arrayBuffer()], { type: media });
    const free = unused(name.normalize("NFC").replace(/[/\\\p{C}]/gu, "_") || "file", used);
    copies.push({ name: free, media, blob: copy, ...more });
  }
  return copies;
}

/** When a picked file was changed, in seconds: a browser that does not know it says the present. */
export function modifiedOf(file: { lastModified: number }, nowMs: number): { modifiedS?: number } {
  return nowMs - file.lastModified > UNKNOWN_MS ? { modifiedS: Math.floor(file.lastModified / 1000) } : {};
}

function unused(name: string, used: Set<string>): string {
  const dot = name.lastIndexOf(".");
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  let free = name;
  for (let number = 2; used.has(free); number += 1) free = `${stem}-${number}${ending}`;
  used.add(free);
  return free;
}
