/** What jsdom lacks and the page uses, and patience: a busy machine draws slowly. */
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

configure({ asyncUtilTimeout: 5000 * Number(process.env.TESTS_SLOWER ?? 1) });

HTMLDialogElement.prototype.showModal ??= function showModal(this: HTMLDialogElement) {
  this.open = true;
};
HTMLDialogElement.prototype.close ??= function close(this: HTMLDialogElement) {
  this.open = false;
};
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};
window.matchMedia ??= ((query: string) => ({
  addEventListener: () => {},
  matches: false,
  media: query,
  removeEventListener: () => {},
})) as unknown as typeof window.matchMedia;

// jsdom measures nothing; the virtual list needs a height to know what is in view.
Object.defineProperty(Element.prototype, "clientHeight", { configurable: true, get: () => 900 });
Object.defineProperty(Element.prototype, "clientWidth", { configurable: true, get: () => 1200 });

afterEach(() => cleanup());
