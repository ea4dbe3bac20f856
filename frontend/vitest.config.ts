import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The factor of every wait of the tests on a slow machine (docs/testing.md).
const slower = Number(process.env.TESTS_SLOWER ?? 1);

export default defineConfig({
  plugins: [react()],
  test: {
    sequence: { shuffle: true },
    testTimeout: 30_000 * slower,
    hookTimeout: 10_000 * slower,
    // A document takes two seconds to make on a busy machine: only tests of components have one.
    projects: [
      { extends: true, test: { name: "pure", environment: "node", include: ["src/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "components",
          environment: "jsdom",
          include: ["src/**/*.test.tsx"],
          setupFiles: ["./dev/testSetup.ts"],
        },
      },
    ],
  },
});
