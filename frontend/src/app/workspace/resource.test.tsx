import { act, fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { Changes } from "./changes.ts";
import { WorkspaceContext } from "./context.ts";
import { usePages, useResource } from "./resource.ts";

const shown: string[] = [];
function Reader({ of, read }: { of: string; read: () => Promise<string> }) {
  const { value } = useResource(of, read);
  shown.push(`${of}: ${value ?? "nothing"}`);
  return <p>{value}</p>;
}

it("never shows for one key what was read for another", async () => {
  const late: ((value: string) => void)[] = [];
  const read = () => new Promise<string>((done) => late.push(done));
  const { rerender } = render(<Reader of="one" read={read} />);
  await act(async () => late[0]?.("first"));
  expect(screen.getByText("first")).toBeTruthy();
  rerender(<Reader of="two" read={read} />);
  expect(shown.filter((line) => line.startsWith("two"))).toEqual(Array(2).fill("two: nothing"));
  rerender(<Reader of="three" read={read} />);
  await act(async () => late[1]?.("late, of two"));
  await act(async () => late[2]?.("third"));
  expect(shown).not.toContain("three: late, of two");
  expect(shown.at(-1)).toBe("three: third");
});

describe("a list that changes faster than it is read", () => {
  function Busy({ read }: { read: (signal: AbortSignal) => Promise<string> }) {
    return <p>{useResource("busy", read, ["tasks"], 0).value ?? "nothing"}</p>;
  }
  const drawn = (read: (signal: AbortSignal) => Promise<string>) => {
    const changes = new Changes();
    render(
      <WorkspaceContext value={{ changes } as never}>
        <Busy read={read} />
      </WorkspaceContext>,
    );
    return async () => {
      await act(async () => {
        changes.say("tasks");
        await new Promise((done) => setTimeout(done, 1));
      });
    };
  };

  it("is read to its end, and once more for all that came meanwhile", async () => {
    const late: ((value: string) => void)[] = [];
    const signals: AbortSignal[] = [];
    const change = drawn((signal) => {
      signals.push(signal);
      return new Promise<string>((done) => late.push(done));
    });
    for (let at = 0; at < 5; at += 1) await change();
    expect(late).toHaveLength(1);
    await act(async () => late[0]?.("old"));
    expect(screen.getByText("old")).toBeTruthy();
    expect(late).toHaveLength(2);
    await act(async () => late[1]?.("new"));
    expect(screen.getByText("new")).toBeTruthy();
    expect(late).toHaveLength(2);
    expect(signals[0]?.aborted).toBe(true);
  });

  it("does not wait for a reading that hangs", async () => {
    vi.useFakeTimers();
    const read = vi.fn(() => new Promise<string>(() => {}));
    const changes = new Changes();
    render(
      <WorkspaceContext value={{ changes } as never}>
        <Busy read={read} />
      </WorkspaceContext>,
    );
    await act(async () => changes.say("tasks"));
    expect(read).toHaveBeenCalledTimes(1);
    await act(() => vi.advanceTimersByTimeAsync(60_000));
    expect(read).toHaveBeenCalledTimes(2);
    vi.useRealTimers();
  });
});

describe("the pages of a list", () => {
  type Asked = { of: string; cursor?: string; answer: (page: { items: string[]; next: string | null }) => void };
  const asked: Asked[] = [];
  function Rows({ of }: { of: string }) {
    const read = (cursor: string | undefined) =>
      new Promise<{ items: string[]; next: string | null }>((answer) => asked.push({ of, cursor, answer }));
    const { items, more, problem } = usePages(of, read, ["tasks"], 0);
    return (
      <>
        <p>{items.join(" ")}</p>
        {problem && <p>{problem.reason}</p>}
        {more && (
          <button type="button" onClick={more}>
            More
          </button>
        )}
      </>
    );
  }
  /** All rows as the hub has them now, in pages of two. */
  const answerAll = async (rows: string[]) => {
    for (let one = asked.shift(); one; one = asked.shift()) {
      const from = one.cursor ? rows.indexOf(one.cursor) + 1 : 0;
      const items = rows.slice(from, from + 2);
      await act(async () => one?.answer({ items, next: from + 2 < rows.length ? (items.at(-1) ?? null) : null }));
    }
  };
  let changes = new Changes();
  const drawn = () => {
    changes = new Changes();
    asked.length = 0;
    const of = (key: string) => (
      <WorkspaceContext value={{ changes } as never}>
        <Rows of={key} />
      </WorkspaceContext>
    );
    const { rerender } = render(of("all"));
    return (key: string) => rerender(of(key));
  };

  it("comes once, however often it is asked for", async () => {
    drawn();
    await answerAll(["f", "e", "d", "c", "b", "a"]);
    fireEvent.click(screen.getByText("More"));
    fireEvent.click(screen.getByText("More"));
    await answerAll(["f", "e", "d", "c", "b", "a"]);
    expect(screen.getByText("f e d c")).toBeTruthy();
  });

  it("loses nothing in the middle when new ones come", async () => {
    drawn();
    await answerAll(["d", "c", "b", "a"]);
    fireEvent.click(screen.getByText("More"));
    await answerAll(["d", "c", "b", "a"]);
    await act(async () => changes.say("tasks"));
    await answerAll(["f", "e", "d", "c", "b", "a"]);
    expect(screen.getByText("f e d c")).toBeTruthy();
  });

  it("is never added to another search", async () => {
    const search = drawn();
    await answerAll(["d", "c", "b", "a"]);
    fireEvent.click(screen.getByText("More"));
    const late = asked.splice(0);
    search("photos");
    await answerAll(["p"]);
    for (const one of late) await act(async () => one.answer({ items: ["b", "a"], next: null }));
    expect(screen.getByText("p")).toBeTruthy();
    expect(screen.queryByText("More")).toBeNull();
  });
});
