import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { Folded } from "./Folded.tsx";

const lines = (count: number) => Array.from({ length: count }, (_, at) => `  line ${at}`).join("\n");

describe("a folded text", () => {
  it("shows a sentence as it is", () => {
    const { container } = render(<Folded text="No room left." />);
    expect(container.querySelector("p.strong")?.textContent).toBe("No room left.");
    expect(screen.queryByRole("button")).toBeNull();
  });

  it("shows the first lines of many in mono, and the rest when asked for", async () => {
    const { container } = render(<Folded text={lines(200)} />);
    const shown = container.querySelector("pre.log");
    expect(shown?.textContent).toBe("line 0\n  line 1\n  line 2\n  line 3 ...");
    await userEvent.click(screen.getByRole("button", { name: "Show 196 more lines" }));
    expect(shown?.textContent?.split("\n")).toHaveLength(200);
    await userEvent.click(screen.getByRole("button", { name: "Show less" }));
    expect(shown?.textContent?.split("\n")).toHaveLength(4);
  });

  it.each([5, 6, 7])("shows all of %i lines, of which a button would hide few", (count) => {
    const { container } = render(<Folded text={lines(count)} />);
    expect(container.querySelector("pre.log")?.textContent).toBe(lines(count).trim());
    expect(screen.queryByRole("button")).toBeNull();
  });

  it("keeps the last line of a traceback in sight, which is the cause", async () => {
    const text = `Traceback (most recent call last):\n${lines(12)}\nValueError: no such column`;
    const { container } = render(<Folded text={text} />);
    const shown = container.querySelector("pre.log");
    expect(shown?.textContent).toMatch(
      /^Traceback .*\n {2}line 0\n {2}line 1\n {2}line 2\n {2}\.\.\.\nValueError: no such column$/,
    );
    await userEvent.click(screen.getByRole("button", { name: "Show 9 more lines" }));
    expect(shown?.textContent).toBe(text);
  });

  it("cuts one line that is very long", () => {
    const { container } = render(<Folded text={"x".repeat(5000)} />);
    expect(container.querySelector("pre.said")?.textContent?.length).toBeLessThan(410);
    expect(screen.getByRole("button", { name: "Show all of it" })).toBeTruthy();
  });
});
