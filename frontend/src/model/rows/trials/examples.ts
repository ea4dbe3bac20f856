/**
 * What tools give that cannot be tried without an effect, as examples of their fields. The values exist nowhere; they
 * are shown as examples and never handed to a device. Tools that can be tried need none.
 */
import type { Json } from "../document.ts";

const FILE = {
  artifact: "9c41e07a".repeat(8),
  bytes: 2418,
  media: "image/png",
  name: "harbour.png",
  path: "Pictures/Harbour/harbour.png",
};
const PROGRAM = { exit_code: 0, stdout: "all is well\n", stderr: "", device: "laptop" };

export const EXAMPLES: { [tool: string]: Json } = {
  "artifact.put": { files: [FILE], bytes: 2418 },
  "fs.write": { files: [{ path: "Pictures/harbour.png", bytes: 2418, sha256: FILE.artifact }], written: 1, kept: 0 },
  "http.request": { status: 200, headers: {}, text: "..." },
  "python.run": PROGRAM,
  "shell.run": PROGRAM,
};
