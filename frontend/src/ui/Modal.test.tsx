import { render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { Modal } from "./Modal.tsx";

afterEach(() => vi.unstubAllGlobals());

function open(pointer: "fine" | "coarse"): void {
  vi.stubGlobal("matchMedia", (query: string) => ({ matches: query === `(pointer: ${pointer})` }));
  render(
    <Modal label="Set a secret" onClose={() => undefined}>
      <button type="button">Close</button>
      <input type="hidden" />
      <input aria-label="Name" />
    </Modal>,
  );
}

it("begins in the first field where a pointer is fine", () => {
  open("fine");
  expect(document.activeElement).toBe(screen.getByRole("textbox", { name: "Name" }));
});

it("opens no keyboard on a screen that is touched", () => {
  open("coarse");
  expect(document.activeElement).not.toBe(screen.getByRole("textbox", { name: "Name" }));
});

it("stays at its top where the first field is below it", () => {
  const below = vi.spyOn(HTMLInputElement.prototype, "getBoundingClientRect");
  below.mockReturnValue({ bottom: 900 } as DOMRect);
  open("fine");
  expect(document.activeElement).not.toBe(screen.getByRole("textbox", { name: "Name" }));
  below.mockRestore();
});
