/** What one test keeps in the browser's storage is gone before the next: one thread runs file after file. */
import { afterEach } from "vitest";

afterEach(() => {
  // Tests without a document run in Node, which has no storage.
  if (typeof window === "undefined") return;
  localStorage.clear();
  sessionStorage.clear();
});
