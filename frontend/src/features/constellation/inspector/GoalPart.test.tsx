/** The steps of a goal: what came back is one line, and its whole opens for one call or for all. */
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import { StreamModel } from "../../../model/stream/stream.ts";
import type { StreamEvent } from "../../../model/types.ts";
import { GoalPart } from "./GoalPart.tsx";

afterEach(cleanup);

const ENDED = { state: "succeeded", attempt: 1, round: 1, since_ms: 3 };
const step = (number: number) => ({ kind: "step", note: `look ${number}`, tasks: [`why.${number}`], at_ms: number });
const call = (number: number) => ({
  [`spec/why.${number}`]: { id: `why.${number}`, changed_in: 1, group: "why", tool: "fs.read" },
  [`task/why.${number}`]: ENDED,
  [`attempt/why.${number}/1`]: { device: "d", end: "ok", value: `{"lines":${number}00,"note":"x"}`, ended_ms: 3 },
});

function shown() {
  const model = new StreamModel("c1");
  model.readSnapshot({ entities: {}, seq: 0 });
  const puts = {
    head: { id: "c1", author: "person:ann", created_ms: 1, name: "Why", state: "succeeded", version: 2 },
    "spec/why": { id: "why", changed_in: 1, goal: { aim: "Find out why.", steps: 4 } },
    "group/why": { state: "succeeded", since_ms: 1 },
    "job/goal-1": {
      id: "goal-1",
      kind: "goal",
      opened_ms: 1,
      state: "done",
      tasks: ["why/1"],
      goal: { due_ms: 9, turns: [step(1), step(2)] },
    },
    ...call(1),
    ...call(2),
  };
  model.readEvents([{ seq: 1, puts, kind: "k", stream: "c1" }] as unknown as StreamEvent[]);
  const fleet = new StreamModel("fleet");
  fleet.readSnapshot({ entities: {}, seq: 0 });
  return render(
    <WorkspaceContext value={{ hub: {} } as unknown as Workspace}>
      <GoalPart model={model} fleet={fleet} constellation="c1" task="why" onSelect={() => {}} />
    </WorkspaceContext>,
  );
}

const openResults = (container: HTMLElement) => container.querySelectorAll("dl.fields").length;

it("opens what one call gave, and closes it again", async () => {
  const { container } = shown();
  expect(openResults(container)).toBe(0);
  const card = screen.getByRole("button", { name: '{"lines":200,"note":"x"}' });
  await userEvent.click(card);
  expect([openResults(container), card.getAttribute("aria-expanded")]).toEqual([1, "true"]);
  expect(container.querySelector("dd")?.textContent).toBe("200");
  await userEvent.click(card);
  expect(openResults(container)).toBe(0);
});

it("opens and closes what all calls gave, whichever were open before", async () => {
  const { container } = shown();
  await userEvent.click(screen.getByRole("button", { name: '{"lines":100,"note":"x"}' }));
  await userEvent.click(screen.getByRole("button", { name: "Open all results" }));
  expect(openResults(container)).toBe(2);
  await userEvent.click(screen.getByRole("button", { name: '{"lines":100,"note":"x"}' }));
  expect(openResults(container)).toBe(1);
  await userEvent.click(screen.getByRole("button", { name: "Open all results" }));
  await userEvent.click(screen.getByRole("button", { name: "Close all results" }));
  expect(openResults(container)).toBe(0);
});
