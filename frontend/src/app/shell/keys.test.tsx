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

it("leaves the keys of a dialog to the dialog, also those that act while one types", () => {
  const [launch, undo, search] = [vi.fn(), vi.fn(), vi.fn()];
  function Plan() {
    useKeys([
      { keys: "Ctrl-Enter", does: "Launch", run: launch, always: true },
      { keys: "Ctrl-Z", does: "Undo", run: undo, always: true },
      { keys: "Ctrl-K", does: "Search", run: search, always: true },
    ]);
    return (
      <dialog open>
        <input aria-label="Title" />
      </dialog>
    );
  }
  const { getByLabelText } = render(<Plan />);
  const typing = (key: string) => fireEvent.keyDown(getByLabelText("Title"), { key, ctrlKey: true });
  expect([typing("Enter"), typing("z")], "the browser does what it does in a field").toEqual([true, true]);
  expect(typing("k"), "the browser would leave the page").toBe(false);
  expect([launch, undo, search].map((run) => run.mock.calls.length)).toEqual([0, 0, 0]);
});

it("tells a key with Shift from the one without", () => {
  const [undo, redo] = [vi.fn(), vi.fn()];
  function Plan() {
    useKeys([
      { keys: "Ctrl-Z", does: "Undo", run: undo },
      { keys: "Ctrl-Shift-Z", does: "Redo", run: redo },
    ]);
    return null;
  }
  render(<Plan />);
  fireEvent.keyDown(document.body, { key: "Z", ctrlKey: true, shiftKey: true });
  expect([undo, redo].map((run) => run.mock.calls.length)).toEqual([0, 1]);
  fireEvent.keyDown(document.body, { key: "z", metaKey: true });
  expect([undo, redo].map((run) => run.mock.calls.length)).toEqual([1, 1]);
});
