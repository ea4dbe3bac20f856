// @vitest-environment jsdom
/** A drop never replaces the page, and a text that is too long for a field is refused whole. */
import { afterEach, expect, it, vi } from "vitest";
import { guardDrops, guardPastes, onLostFiles } from "./transfers.ts";

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

it("refuses a pasted text that is too long for its field, and says so there until the next one", () => {
  const end = guardPastes(document);
  const area = Object.assign(document.createElement("textarea"), { maxLength: 4000, value: "abc" });
  document.body.append(area);
  const paste = (data: string) =>
    area.dispatchEvent(new InputEvent("beforeinput", { bubbles: true, cancelable: true, data }));
  area.setSelectionRange(0, 3);
  expect(paste("x".repeat(4000))).toBe(true);
  area.setSelectionRange(3, 3);
  expect(paste("x".repeat(4000))).toBe(false);
  expect(area.validationMessage).toBe("This text has 4,003 characters; at most 4,000 fit here.");
  area.dispatchEvent(new Event("input", { bubbles: true }));
  expect(area.validationMessage).toBe("");
  area.removeAttribute("maxlength");
  expect(paste("x".repeat(2 * 1024 * 1024))).toBe(false);
  end();
});
