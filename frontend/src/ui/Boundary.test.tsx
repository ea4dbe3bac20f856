import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Boundary } from "./Boundary.tsx";

let fails = true;
function Fragile({ word }: { word: string }) {
  if (fails) throw new Error("it has no words");
  return <b>{word}</b>;
}

describe("Boundary", () => {
  const box = document.createElement("div");
  let root: ReturnType<typeof createRoot>;
  const draw = (of: string) =>
    act(() =>
      root.render(
        <>
          <nav>menu</nav>
          <Boundary part="This page" of={of}>
            <Fragile word={of} />
          </Boundary>
        </>,
      ),
    );

  beforeEach(() => {
    fails = true;
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    root = createRoot(box);
  });
  afterEach(() => {
    act(() => root.unmount());
    vi.restoreAllMocks();
  });

  it("keeps what stands beside a part that fails, and says what happened", () => {
    draw("a");
    expect(box.textContent).toContain("menu");
    expect(box.querySelector("[role=alert]")?.textContent).toContain("This page cannot be shown here.");
    expect(box.textContent).toContain("it has no words");
  });

  it("draws the part again for another thing, and by a press", () => {
    draw("a");
    fails = false;
    draw("a");
    expect(box.querySelector("b")).toBeNull();
    act(() => box.querySelector("button")?.click());
    expect(box.querySelector("b")?.textContent).toBe("a");
    fails = true;
    draw("b");
    expect(box.querySelector("[role=alert]")).not.toBeNull();
    fails = false;
    draw("c");
    expect(box.querySelector("b")?.textContent).toBe("c");
  });
});
