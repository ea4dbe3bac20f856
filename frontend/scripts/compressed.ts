/**
 * Writes each text file of a build beside itself as `.br` and `.gz`, once, so that the hub compresses nothing while it
 * serves. What does not get smaller gets none.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const TEXTS = /\.(js|css|html|svg|json)$/;
/** Below this a header weighs more than what is saved. */
const LEAST_BYTES = 400;
/** The best level takes seconds for a megabyte, for some hundredths less. */
const LARGE_BYTES = 1_000_000;

export function compressed(): Plugin {
  let folder = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    closeBundle() {
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (TEXTS.test(name)) compress(join(folder, name));
      }
    },
  };
}

function compress(file: string): void {
  const plain = readFileSync(file);
  if (plain.length < LEAST_BYTES) return;
  const quality = plain.length < LARGE_BYTES ? 11 : 9;
  const brotli = brotliCompressSync(plain, {
    params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length },
  });
  for (const [ending, bytes] of [
    ["br", brotli],
    ["gz", gzipSync(plain, { level: 9 })],
  ] as const) {
    if (bytes.length < plain.length) writeFileSync(`${file}.${ending}`, bytes);
  }
}
