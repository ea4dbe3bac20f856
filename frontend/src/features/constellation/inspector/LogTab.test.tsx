import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import { StreamModel } from "../../../model/stream/stream.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { LogTab } from "./LogTab.tsx";

/** Some seventy fill what is read at once: two thousand elements take jsdom seconds. */
const LINES = Array.from({ length: 250 }, (_, at) => `line ${at} ${".".repeat(900)}`);
const TEXT = `FIRSTWORD\n${LINES.join("\n")}\n`;

/** A log as the hub gives it: its end, a part, or the lines with some words. */
function hubOf(text: string) {
  return {
    log: vi.fn(
      async (
        _id: string,
        _task: string,
        _attempt: number,
        { offset: from, tail = text.length, q }: { offset?: number; tail?: number; q?: string },
      ) => {
        if (q) {
          const lines = [...text.matchAll(/.+/g)].map((found) => ({ text: found[0], offset: found.index }));
          return { text: "", lines: lines.filter((line) => line.text.includes(q)).slice(0, 200) };
        }
        const offset = from ?? Math.max(0, text.length - tail);
        const part = text.slice(offset, offset + tail);
        return { text: part, offset, next: offset + part.length, end: text.length, lost: [] };
      },
    ),
  };
}

const ENDED: Partial<TaskView> = { attempt: { ended_ms: 1 } as TaskView["attempt"] };

async function drawn(text: string, view = ENDED, hub = hubOf(text)) {
  const model = new StreamModel("c1");
  const task = { id: "t", record: { attempt: 1 }, ...view } as TaskView;
  render(
    <WorkspaceContext value={{ hub } as never}>
      <LogTab constellation="c1" model={model} view={task} />
    </WorkspaceContext>,
  );
  await act(() => vi.advanceTimersByTimeAsync(1));
  return { hub, model };
}

const log = () => [...(document.querySelector(".log")?.children ?? [])].map((line) => line.textContent);
const named = (at: number) => log().at(at)?.split(" .")[0];
const parts = () => document.querySelector('[aria-label="Parts of the log"]')?.textContent;
const press = async (name: string) => {
  fireEvent.click(screen.getByText(name));
  await act(() => vi.advanceTimersByTimeAsync(1));
};
const search = async (words: string) => {
  fireEvent.change(screen.getByLabelText("Search the log"), { target: { value: words } });
  await act(() => vi.advanceTimersByTimeAsync(300));
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("says which part of a long log is shown, and leads to the others", async () => {
  await drawn(TEXT);
  expect(named(-1)).toBe("line 249");
  const [first] = log().map((line) => Number(line?.split(" ")[1]));
  expect(parts()).toMatch(/^The last \d+ kB of 227 kB\./);
  await press("Earlier");
  expect(named(-1)).toBe(`line ${Number(first) - 1}`);
  await press("Beginning");
  expect([named(0), named(1)]).toEqual(["FIRSTWORD", "line 0"]);
  expect(parts()).toMatch(/^0 B to \d+ kB of 227 kB\./);
  const last = log().length - 2;
  await press("Later");
  expect(named(0)).toBe(`line ${last + 1}`);
  await press("End");
  expect(named(-1)).toBe("line 249");
});

it("says nothing of parts where all is shown", async () => {
  await drawn("one\ntwo\n");
  expect(log()).toEqual(["one", "two"]);
  expect(parts()).toBeUndefined();
});

it("finds words in the whole log, and says when it shows the first of many", async () => {
  await drawn(TEXT);
  await search("FIRSTWORD");
  expect(log()).toEqual(["FIRSTWORD"]);
  await search("line ");
  expect(screen.getByText("The first 200 lines with these words are shown.")).toBeTruthy();
  await search("nowhere");
  expect(screen.getByText("No line has these words.")).toBeTruthy();
});

it("claims nothing of a log that it could not search", async () => {
  const { hub } = await drawn(TEXT);
  hub.log.mockRejectedValue(new Error("the line is cut"));
  await search("FIRSTWORD");
  expect(screen.getByText("The part that is here has no line with these words.")).toBeTruthy();
  expect(document.querySelector('[role="alert"]')).toBeTruthy();
});

it("finds a line that came after the search once", async () => {
  const { model } = await drawn("a word\n", {});
  model.lines.take("t", 1, { offset: 0, stream: "out", text: "a word\n" });
  await search("word");
  expect(log()).toEqual(["a word"]);
  model.lines.take("t", 1, { offset: 7, stream: "out", text: "another word\n" });
  await search("word ");
  expect(log()).toEqual(["a word", "another word"]);
});

it("goes back over output that was lost", async () => {
  const hub = hubOf("");
  // 900,000 bytes are lost behind the first line.
  hub.log.mockImplementation(async (_id, _task, _attempt, { offset = 900_010 }) => {
    const part = { offset, next: 900_014, end: 900_014 };
    if (offset >= 900_006) return { ...part, text: "end\nthe end\n".slice(offset - 900_006), offset, lost: [] };
    const hole = [[Math.max(6, offset), 900_006]] as never[];
    return { ...part, text: `${"begin\n".slice(offset)}end\nthe end\n`.slice(0, 14), lost: hole };
  });
  await drawn("", ENDED, hub);
  expect(log()).toEqual(["the end"]);
  await press("Earlier");
  expect(log()).toEqual(["begin", "Here 900 kB of output are missing."]);
});
