import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The factor of every wait of the tests on a slow machine (docs/testing.md).
const slower = Number(process.env.TESTS_SLOWER ?? 1);

// jsdom remembers the last element with visible focus, also after it is gone: these begin with a document of their own.
const OF_FOCUS = ["src/ui/away.test.tsx"];

const components = { environment: "jsdom", setupFiles: ["./dev/storage.ts", "./dev/testSetup.ts"] };

export default defineConfig({
  plugins: [react()],
  test: {
    // One thread runs file after file and reads each module once. A process for each file took three times the work.
    pool: "threads",
    isolate: false,
    sequence: { shuffle: true },
    testTimeout: 30_000 * slower,
    hookTimeout: 10_000 * slower,
    // A document takes two seconds to make on a busy machine: only tests of components have one, and one project runs
    // after the other, as a thread that changes between two kinds of file begins anew.
    projects: [
      {
        extends: true,
        test: {
          name: "pure",
          environment: "node",
          setupFiles: ["./dev/storage.ts"],
          include: ["src/**/*.test.ts"],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "components",
          include: ["src/**/*.test.tsx"],
          exclude: OF_FOCUS,
          sequence: { groupOrder: 1 },
          ...components,
        },
      },
      {
        extends: true,
        test: { name: "focus", isolate: true, include: OF_FOCUS, sequence: { groupOrder: 2 }, ...components },
      },
    ],
  },
});
