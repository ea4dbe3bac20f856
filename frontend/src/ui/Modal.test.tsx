import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
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

it("asks before Escape closes it over what was typed, and goes on in the field that was left", async () => {
  const onClose = vi.fn();
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  render(
    <Modal label="Save" onClose={onClose}>
      <input aria-label="Title" />
    </Modal>,
  );
  const title = screen.getByRole("textbox", { name: "Title" });
  await userEvent.type(title, "My careful title{Escape}");
  expect(onClose).not.toHaveBeenCalled();
  expect(document.activeElement).toBe(screen.getByRole("button", { name: "Go on typing" }));
  await userEvent.keyboard("{Escape}");
  expect(screen.queryByRole("alert")).toBeNull();
  expect(document.activeElement).toBe(title);
  fireEvent(screen.getByRole("dialog"), new Event("cancel", { cancelable: true }));
  expect(onClose).not.toHaveBeenCalled();
  await userEvent.click(screen.getByRole("button", { name: "Close without it" }));
  expect(onClose).toHaveBeenCalledOnce();
});

it("closes by Escape at once where nothing was typed", async () => {
  const onClose = vi.fn();
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  render(
    <Modal label="Save" onClose={onClose}>
      <input aria-label="Title" />
    </Modal>,
  );
  await userEvent.keyboard("{Escape}");
  expect(onClose).toHaveBeenCalledOnce();
});

it("closes by a press beside it, and only where the press began there and nothing was typed", () => {
  const onClose = vi.fn();
  const frame = { left: 100, right: 300, top: 100, bottom: 300 } as DOMRect;
  const measured = vi.spyOn(HTMLDialogElement.prototype, "getBoundingClientRect").mockReturnValue(frame);
  render(
    <Modal label="Save" onClose={onClose}>
      <input role="combobox" aria-label="Find" aria-expanded="false" aria-controls="found" />
      <input aria-label="Title" />
    </Modal>,
  );
  const dialog = screen.getByRole("dialog");
  const title = screen.getByRole("textbox", { name: "Title" });
  const beside = { clientX: 20, clientY: 150 };
  const press = (from: Element, at: { clientX: number; clientY: number }) => {
    fireEvent.pointerDown(from, at);
    fireEvent.click(dialog, beside);
  };
  press(title, { clientX: 150, clientY: 150 });
  fireEvent.pointerDown(dialog, beside);
  fireEvent.click(dialog, { clientX: 105, clientY: 105 });
  expect(onClose, "a text that is marked, and the padding").not.toHaveBeenCalled();
  fireEvent.input(screen.getByRole("combobox"), { target: { value: "fin" } });
  press(dialog, beside);
  expect(onClose).toHaveBeenCalledTimes(1);
  fireEvent.input(title, { target: { value: "My careful title" } });
  press(dialog, beside);
  expect(onClose).toHaveBeenCalledTimes(1);
  measured.mockRestore();
});

it("closes by the browser's Back instead of the page, and asks there and before a reload once something is typed", async () => {
  const onClose = vi.fn();
  const navigation = new EventTarget();
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  vi.stubGlobal("navigation", navigation);
  render(
    <Modal label="Save" onClose={onClose}>
      <input aria-label="Title" />
    </Modal>,
  );
  const back = () => {
    const event = Object.assign(new Event("navigate", { cancelable: true }), { navigationType: "traverse" });
    fireEvent(navigation as unknown as Window, event);
    return event.defaultPrevented;
  };
  const reload = () => window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  expect(back()).toBe(true);
  expect(onClose).toHaveBeenCalledOnce();
  expect(reload(), "nothing is lost").toBe(true);
  await userEvent.type(screen.getByRole("textbox", { name: "Title" }), "Mine");
  expect(back()).toBe(true);
  expect(onClose).toHaveBeenCalledOnce();
  expect(screen.getByRole("alert")).toBeTruthy();
  expect(reload()).toBe(false);
  cleanup();
  expect(back()).toBe(false);
});
