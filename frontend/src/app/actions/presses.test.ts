// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { guardPresses, Presses } from "./presses.ts";

const HERE = { x: 100, y: 100 };
const BESIDE = { x: 110, y: 100 };

/** What stands at every place, until it is set to another control. */
function room(control: object | null = { name: "first" }) {
  const shown = { control };
  return { shown, presses: new Presses(() => shown.control) };
}

describe("a press", () => {
  it("counts where the pointer has come to", () => {
    const { presses } = room();
    presses.move(HERE, 0);
    expect(presses.press(HERE, 1)).toBe(true);
    expect(presses.press(HERE, 180)).toBe(true);
  });

  it("does not count for the control that took the place of the pressed one", () => {
    const { shown, presses } = room();
    presses.press(HERE, 0);
    shown.control = { name: "next" };
    expect(presses.press(HERE, 180)).toBe(false);
    expect(presses.press(BESIDE, 700)).toBe(false);
    expect(presses.press(HERE, 1500)).toBe(true);
  });

  it("does not count for a control that a late answer of the hub has just brought", () => {
    const { shown, presses } = room();
    presses.press(HERE, 0);
    expect(presses.notice(4900)).toBe(true);
    shown.control = { name: "next" };
    presses.notice(5000);
    expect(presses.press(HERE, 5100)).toBe(false);
  });

  it("does not count for a control that came under a pointer at rest, pressed or not", () => {
    const { shown, presses } = room();
    presses.move(HERE, 0);
    shown.control = { name: "next" };
    presses.move(HERE, 5000);
    presses.move(BESIDE, 5050);
    expect(presses.press(BESIDE, 5100)).toBe(false);
  });

  it("counts at once for another control beside it, and elsewhere", () => {
    const deny = { name: "deny" };
    const approve = { name: "approve" };
    const presses = new Presses(({ x }) => (x > 105 ? approve : deny));
    presses.press(HERE, 0);
    expect(presses.press(BESIDE, 200)).toBe(true);
    expect(presses.press({ x: 400, y: 100 }, 300)).toBe(true);
  });

  it("counts for what was scrolled under the pointer", () => {
    const { shown, presses } = room();
    presses.press(HERE, 0);
    presses.forget();
    shown.control = { name: "next" };
    expect(presses.press(HERE, 300)).toBe(true);
  });

  it("ends its watch", () => {
    const { presses } = room();
    expect(presses.notice(0)).toBe(false);
    presses.press(HERE, 0);
    expect(presses.notice(20_000)).toBe(false);
  });
});

describe("a key", () => {
  it("presses once while it is held down", () => {
    const { presses } = room();
    const control = {};
    expect(presses.key(control, false, 0)).toBe(true);
    expect(presses.key(control, true, 500)).toBe(false);
    expect(presses.key(control, true, 5000)).toBe(false);
    expect(presses.key(control, false, 6000)).toBe(true);
  });

  it("does not press what got the focus in place of the pressed control", () => {
    const { presses } = room();
    const [first, next] = [{}, {}];
    presses.focus(first, 0);
    presses.key(first, false, 0);
    presses.focus(next, 100);
    expect(presses.key(next, false, 180)).toBe(false);
    expect(presses.key(next, false, 1000)).toBe(true);
  });

  it("presses at once what the person went to", () => {
    const { presses } = room();
    const [first, next] = [{}, {}];
    presses.key(first, false, 0);
    presses.forget();
    presses.focus(next, 100);
    expect(presses.key(next, false, 150)).toBe(true);
  });
});

describe("the page", () => {
  const pressed: string[] = [];
  let end = () => {};
  /** jsdom draws nothing: the first button stands at every place, as in a list whose first card goes. */
  const first = () => document.querySelector("button");
  const press = (control: Element | null) => {
    const at = { bubbles: true, cancelable: true, clientX: 100, clientY: 100, detail: 1 };
    control?.dispatchEvent(new MouseEvent("pointerdown", at));
    control?.dispatchEvent(new MouseEvent("click", at));
  };

  beforeEach(() => {
    vi.useFakeTimers();
    pressed.length = 0;
    document.body.innerHTML = "<button>one</button><button>two</button>";
    document.elementFromPoint = first;
    for (const button of document.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        pressed.push(button.textContent);
        button.remove();
      });
    }
    end = guardPresses(document);
  });
  afterEach(() => {
    end();
    vi.useRealTimers();
  });

  it("takes one of two presses at the place of a card that goes, and a later one", () => {
    press(first());
    press(first());
    expect(pressed).toEqual(["one"]);
    end();
    press(first());
    expect(pressed).toEqual(["one", "two"]);
  });

  it("leaves a held Enter to fields", () => {
    document.body.innerHTML = "<input>";
    const event = new KeyboardEvent("keydown", { key: "Enter", repeat: true, bubbles: true, cancelable: true });
    document.querySelector("input")?.dispatchEvent(event);
    expect(event.defaultPrevented).toBe(false);
  });

  it("holds a held Enter back from a button", () => {
    const event = new KeyboardEvent("keydown", { key: "Enter", repeat: true, bubbles: true, cancelable: true });
    first()?.dispatchEvent(event);
    expect(event.defaultPrevented).toBe(true);
  });
});
