// @vitest-environment jsdom
/** A drop never replaces the page, and a field of the browser's own keeps what it takes. */
import { afterEach, expect, it, vi } from "vitest";
import { guardDrops, onLostFiles } from "./drops.ts";

afterEach(() => document.body.replaceChildren());

/** Drops on an element, and returns whether the browser does what it does by itself. */
function drop(target: Element, type: string): boolean {
  document.body.append(target);
  const event = new Event("drop", { bubbles: true, cancelable: true });
  Object.defineProperty(event, "dataTransfer", { value: { types: [type] } });
  return target.dispatchEvent(event);
}

function field(type: string): Element {
  return Object.assign(document.createElement("input"), { type });
}

it("leaves to the browser what one of its fields takes, and nothing else", () => {
  const lost = vi.fn();
  const ends = [guardDrops(window), onLostFiles(document, lost)];
  expect(drop(document.createElement("p"), "Files")).toBe(false);
  expect(drop(document.createElement("textarea"), "Files")).toBe(false);
  expect(lost).toHaveBeenCalledTimes(2);
  expect(drop(field("file"), "Files")).toBe(true);
  expect(drop(document.createElement("p"), "text/uri-list")).toBe(false);
  expect(drop(document.createElement("textarea"), "text/plain")).toBe(true);
  expect(lost).toHaveBeenCalledTimes(2);
  for (const end of ends) end();
});
