/** A value of an earlier row is chosen by the pointer, also a part of each item of its list. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import type { Earlier } from "./pickers.tsx";
import { UsePicker } from "./pickers.tsx";

const find: Earlier = {
  id: "find",
  at: 0,
  title: "Find files",
  why: "",
  sample: { atMs: 0, device: "", value: { files: [{ path: "a.pdf", parts: [{ of: 1 }] }], count: 1 } },
};

function opened(each: { from: string; output: string } | null = null) {
  const onPickItem = vi.fn();
  const nothing = () => undefined;
  render(
    <UsePicker
      label="path"
      earlier={[find]}
      chosen={null}
      trying={null}
      onTry={nothing}
      onPick={nothing}
      onPickItem={onPickItem}
      each={each}
      onClose={nothing}
    />,
  );
  return onPickItem;
}

it("a part of each item is a button, and one within a list of the items is not", async () => {
  const picked = opened();
  await userEvent.click(screen.getByRole("button", { name: "each path" }));
  expect(picked).toHaveBeenCalledWith({ from: "find", list: "/files", inner: "/path" });
  expect(screen.queryByRole("button", { name: "each of" })).toBeNull();
});

it("a row that runs for another list takes no part of this one", () => {
  opened({ from: "other", output: "/rows" });
  expect(screen.queryByRole("button", { name: "each path" })).toBeNull();
});
