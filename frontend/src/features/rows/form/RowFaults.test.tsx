/** The buttons that mend a fault: they mend the plan that the hub has seen, and nothing after a change. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import type { RowFault } from "../../../model/rows/faults.ts";
import { RowFaults } from "./RowFaults.tsx";

const FAULT: RowFault = {
  row: 0,
  field: "device",
  reason: "no such device",
  hint: "",
  fixes: [{ label: "Any device that can", apply: (draft) => draft }],
  open: false,
};

it("mend what was found in this plan", async () => {
  const mended = vi.fn();
  render(<RowFaults faults={[FAULT]} onFix={mended} />);
  await userEvent.click(screen.getByRole("button", { name: "Any device that can" }));
  expect(mended).toHaveBeenCalledWith(FAULT, 0);
});

it("do nothing once the plan has changed, and say why", async () => {
  const mended = vi.fn();
  render(<RowFaults faults={[{ ...FAULT, outdated: true }]} onFix={mended} />);
  const fix = screen.getByRole("button", { name: "Any device that can" });
  await userEvent.click(fix);
  expect(mended).not.toHaveBeenCalled();
  expect(fix.getAttribute("aria-disabled")).toBe("true");
  expect(fix.getAttribute("title")).toBe("The plan has changed; it is being checked again.");
});
