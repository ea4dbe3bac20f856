import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import pyodide from "pyodide/package.json" with { type: "json" };
import { defineConfig, type Plugin } from "vite";

// The hub serves the built page under /tab/; `npm run dev` serves the sources and passes the rest on to STARLOOM_URL.
const hub = process.env.STARLOOM_URL ?? "http://127.0.0.1:8470";
const PYTHON = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];

/** Python for the worker, as it is in the package: 13.5 MB, loaded by a tab at its first program only. */
function python(): Plugin {
  return {
    name: "starloom-python",
    apply: "build",
    writeBundle({ dir }) {
      const target = `${dir}/python/pyodide-${pyodide.version}`;
      mkdirSync(target, { recursive: true });
      for (const name of PYTHON) {
        copyFileSync(fileURLToPath(new URL(`./node_modules/pyodide/${name}`, import.meta.url)), `${target}/${name}`);
      }
    },
  };
}

export default defineConfig({
  base: "/tab/",
  plugins: [react(), python()],
  define: { __PYODIDE__: JSON.stringify(pyodide.version) },
  build: {
    target: "es2022",
    outDir: "dist",
    // A data URI would need a wider CSP than 'self'.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: "index.html", serviceWorker: "src/workers/serviceWorker.ts" },
      output: {
        // A service worker is known by its address, so its name must stay.
        entryFileNames: ({ name }) => (name === "serviceWorker" ? "sw.js" : "assets/[name]-[hash].js"),
      },
    },
  },
  // The hub gives everything under python/ a policy of its own: WebAssembly, and no network.
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "python/worker-[hash].js" } } },
  server: {
    host: "127.0.0.1",
    port: 5174,
    strictPort: true,
    proxy: { "/agent": { target: hub }, "/aip": { target: hub, ws: true }, "/api": { target: hub } },
  },
});
