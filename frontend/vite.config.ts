import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressed } from "./scripts/compressed.ts";
import { rooted } from "./scripts/rooted.ts";
import { shell } from "./scripts/shell.ts";

// The hub serves the built page; `npm run dev` serves the sources and passes the API on to a hub at STARLOOM_URL.
const hub = process.env.STARLOOM_URL ?? "http://127.0.0.1:8470";

export default defineConfig({
  plugins: [react(), rooted(), shell(), compressed()],
  build: {
    target: "es2022",
    outDir: "dist",
    // A data URI would need a wider CSP than 'self'.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1700,
  },
  server: {
    host: "127.0.0.1",
    port: 5173,
    strictPort: true,
    proxy: { "/api": { target: hub, ws: true, changeOrigin: true } },
  },
});
