/** Writes `shell.json`: the files that the page needs to open without its hub. The layout engine is fetched on need only. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const LEFT_OUT = /elk|\.(br|gz|map)$/;

export function shell(): Plugin {
  let folder = "";
  return {
    name: "shell",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    closeBundle() {
      const assets = readdirSync(join(folder, "assets")).filter((name) => !LEFT_OUT.test(name));
      const files = ["/", "/theme.js", "/icon.svg", ...assets.sort().map((name) => `/assets/${name}`)];
      writeFileSync(join(folder, "shell.json"), JSON.stringify({ files }));
    },
  };
}
