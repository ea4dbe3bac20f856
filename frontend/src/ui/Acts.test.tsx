/** Which actions stand in the bar, and that the others can be reached. */
import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Acts, fitting } from "./Acts.tsx";

afterEach(() => vi.restoreAllMocks());

describe("the actions that fit", () => {
  it("are all where there is room, and leave room for More where there is not", () => {
    expect(fitting([80, 80, 80], 256, 8, 70)).toBe(3);
    expect(fitting([80, 80, 80], 255, 8, 70)).toBe(2);
    expect(fitting([80, 80, 80], 170, 8, 70)).toBe(1);
  });
  it("are at least one, and none of none", () => {
    expect(fitting([300, 80], 100, 8, 70)).toBe(1);
    expect(fitting([], 100, 8, 70)).toBe(0);
  });
});

describe("the bar", () => {
  it("puts what has no room behind More, opens it and closes it with the focus on More", async () => {
    vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue(new DOMRect(0, 0, 500, 36));
    const pressed = vi.fn();
    render(
      <div className="thumb">
        <Acts label="Actions">
          <button type="button" key="one">
            One
          </button>
          <button type="button" key="two">
            Two
          </button>
          <button type="button" key="three" onClick={pressed}>
            Three
          </button>
        </Acts>
      </div>,
    );
    const more = screen.getByRole("button", { name: "More" });
    const behind = (name: string) => screen.getByText(name).closest(".act")?.classList.contains("over");
    expect([behind("One"), behind("Two"), behind("Three")]).toEqual([false, true, true]);
    await userEvent.click(more);
    expect(more.getAttribute("aria-expanded")).toBe("true");
    act(() => screen.getByText("Two").focus());
    await userEvent.keyboard("{Escape}");
    expect(document.activeElement).toBe(more);
    expect(more.getAttribute("aria-expanded")).toBe("false");
    await userEvent.click(more);
    await userEvent.click(screen.getByText("Three"));
    expect(pressed).toHaveBeenCalledOnce();
    expect(more.getAttribute("aria-expanded")).toBe("false");
  });
});
