import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The factor of every wait of the tests on a slow machine (docs/testing.md).
const slower = Number(process.env.TESTS_SLOWER ?? 1);

export default defineConfig({
  plugins: [react()],
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
    setupFiles: ["./dev/testSetup.ts"],
    sequence: { shuffle: true },
    testTimeout: 30_000 * slower,
    hookTimeout: 10_000 * slower,
  },
});
