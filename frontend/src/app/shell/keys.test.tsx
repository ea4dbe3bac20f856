/** Shortcuts: what is typed as a text without a field does nothing; a press that opens a field gives it the focus. */
import { fireEvent, render } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { useKeys } from "./keys.ts";

function Page({ onNew, onHome }: { onNew: () => void; onHome: () => void }) {
  useKeys([
    { keys: "n", does: "New", run: onNew },
    { keys: "g h", does: "Home", run: onHome },
  ]);
  return null;
}

it("takes no letter of a text for a shortcut", () => {
  const [onNew, onHome] = [vi.fn(), vi.fn()];
  render(<Page onNew={onNew} onHome={onHome} />);
  for (const key of "ok von gh") fireEvent.keyDown(document.body, { key });
  expect(onNew).not.toHaveBeenCalled();
  expect(onHome).not.toHaveBeenCalled();
});

it("takes single letters and sequences", () => {
  const [onNew, onHome] = [vi.fn(), vi.fn()];
  render(<Page onNew={onNew} onHome={onHome} />);
  for (const key of "nngh") fireEvent.keyDown(document.body, { key });
  expect(onNew).toHaveBeenCalledTimes(2);
  expect(onHome).toHaveBeenCalledTimes(1);
});
