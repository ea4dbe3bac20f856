/** A screen reader says each change of a page's subject, of what needs the person, and of the connection, once. */
import { act, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { WorkspaceContext } from "../workspace/context.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { Spoken } from "./Spoken.tsx";

function opened(waiting: number, standing?: string) {
  let state = "live";
  const listeners = new Set<() => void>();
  const live = {
    onStatus: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    readStatus: () => statuses[state],
  };
  const statuses: Record<string, { state: string }> = Object.fromEntries(
    ["live", "catching_up", "offline"].map((one) => [one, { state: one }]),
  );
  const drawn = (count: number, words?: string) => (
    <WorkspaceContext value={{ live } as unknown as Workspace}>
      <Spoken waiting={count} standing={words} />
    </WorkspaceContext>
  );
  const { rerender } = render(drawn(waiting, standing));
  return {
    now: (count: number, words?: string) => rerender(drawn(count, words)),
    link: (next: string) =>
      act(() => {
        state = next;
        for (const listener of listeners) listener();
      }),
  };
}

const said = () => screen.getAllByRole("status").map((one) => one.textContent);

it("says how the subject stands once that changes, and nothing of what was there before", () => {
  const page = opened(1, "Photos: running");
  expect(said()).toEqual(["", ""]);
  page.now(1, "Photos: running");
  expect(said()).toEqual(["", ""]);
  page.now(1, "Photos: done");
  expect(said()).toEqual(["Photos: done", ""]);
});

it("says that something came that needs the person, also the second time", () => {
  const page = opened(0);
  page.now(1);
  expect(said()[0]).toBe("One thing needs you");
  page.now(2);
  expect(said()[0]).toBe("2 things need you");
  page.now(1);
  expect(said()[0]).toBe("");
  page.now(2);
  expect(said()[0]).toBe("2 things need you");
});

it("says that the hub is away and back, and nothing while it catches up", () => {
  const page = opened(0);
  page.link("catching_up");
  page.link("live");
  expect(said()).toEqual(["", ""]);
  page.link("offline");
  expect(said()[1]).toBe("The hub cannot be reached");
  page.link("catching_up");
  page.link("live");
  expect(said()[1]).toBe("The hub is back");
});
