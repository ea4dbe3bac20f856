import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { PrioritySelect } from "./PriorityChoice.tsx";

describe("the choice of a priority", () => {
  it("says why it cannot be used", () => {
    render(<PrioritySelect value="normal" why="Only looks." onChange={() => undefined} />);
    expect(screen.getByRole("combobox", { name: "Priority" })).toHaveProperty("disabled", true);
  });
  it("gives the word, and null for none", () => {
    const chosen = vi.fn();
    render(<PrioritySelect value={null} none="As planned" onChange={chosen} />);
    const box = screen.getByRole("combobox", { name: "Priority" });
    fireEvent.change(box, { target: { value: "high" } });
    fireEvent.change(box, { target: { value: "" } });
    expect(chosen.mock.calls[0]).toEqual(["high"]);
  });
});
