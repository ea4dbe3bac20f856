/** The drawing of an unfinished plan, whatever stands in it. */
import { render, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Sketch } from "../../../model/types.ts";
import { SketchDrawing } from "./SketchDrawing.tsx";

const sketch = (more: Partial<Sketch>): Sketch => ({ call: 1, job: "plan-1", since_ms: 0, worker: "w", ...more });
const MARKUP = "<img src=x onerror=alert(1)>";

describe("the drawing of a sketch", () => {
  it("has a card for each task, with its tool, place and what it comes after, and nothing to press", () => {
    const tasks = [
      { id: "find", tool: "fs.find", device: "attic" },
      { id: "count", tool: "text.count", each: true, after: ["find"] },
      { id: "ask", person: true },
    ];
    render(<SketchDrawing sketch={sketch({ tasks, left_out: 3 })} down={false} />);
    const drawing = screen.getByRole("region", { name: "Plan so far" });
    expect(
      within(drawing)
        .getAllByRole("listitem")
        .map((item) => item.textContent),
    ).toEqual(["findfs.find on attic", "counttext.count, for each item, after find", "aska person"]);
    expect(drawing.textContent).toContain("and 3 more tasks that are not drawn.");
    expect(within(drawing).queryAllByRole("button")).toEqual([]);
  });
  it("takes circles, names of an object and markup as what they are", () => {
    const tasks = [
      { id: "constructor", tool: MARKUP, after: ["b", "nowhere"] },
      { id: "b", device: MARKUP, after: ["constructor", "b"] },
    ];
    const { container } = render(<SketchDrawing sketch={sketch({ tasks })} down />);
    expect(container.querySelector("img")).toBeNull();
    expect(container.querySelectorAll("li")).toHaveLength(2);
    expect(container.querySelectorAll("path[d]").length).toBeGreaterThan(0);
  });
  it("is not there before the first task", () => {
    const { container } = render(<SketchDrawing sketch={sketch({ kind: "plan" })} down={false} />);
    expect(container.childElementCount).toBe(0);
  });
});
