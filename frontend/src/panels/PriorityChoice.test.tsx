import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { PrioritySelect, whyNot } from "./PriorityChoice.tsx";

describe("the choice of a priority", () => {
  it("is for people who may run work", () => {
    expect(["owner", "operator"].map(whyNot)).toEqual([null, null]);
    expect(["approver", "viewer"].map(whyNot)).toEqual(Array(2).fill("Your sign-in may look, and change nothing."));
  });
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
