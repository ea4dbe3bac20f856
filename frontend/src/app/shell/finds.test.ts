import { expect, it } from "vitest";
import { hasWords } from "./finds.ts";

it("finds an entry by the name of its button, with as many dots as are typed", () => {
  const entry = { id: "repeat", group: "Do", label: "Repeat", run: () => undefined };
  for (const typed of ["repeat", "Repeat.", "Repeat..", "repeat...", "repeat\u2026"])
    expect(hasWords(entry, typed), typed).toBe(true);
  expect(hasWords(entry, "repeats")).toBe(false);
  expect(hasWords({ ...entry, label: "garten.kamera.1" }, "garten.kamera"), "dots inside of a name count").toBe(true);
  expect(hasWords({ ...entry, label: "gartenkamera" }, "garten.kamera")).toBe(false);
});
