import { act, render, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../../dev/scenario.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { momentWords } from "../../../model/words/clock.ts";
import { FailedParts, tookWords } from "./Band.tsx";

const views = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `run.${at}`, name: `run.${at}` }) as TaskView);

it("names the tasks that failed, each a link, and counts the rest", () => {
  render(<FailedParts id="c-1" failed={views(5)} onKey={() => {}} />);
  const links = screen.getAllByRole("link").map((link) => [link.textContent, link.getAttribute("href")]);
  expect(links).toEqual([
    ["run.0", "/constellations/c-1/t/run.0"],
    ["run.1", "/constellations/c-1/t/run.1"],
    ["run.2", "/constellations/c-1/t/run.2"],
    ["and 2 more", "/constellations/c-1?lens=list&q=state:failed"],
  ]);
});

it("says nothing where no task failed", () => {
  const { container } = render(<FailedParts id="c-1" failed={[]} onKey={() => {}} />);
  expect(container.textContent).toBe("");
});

it("says that a time is that of the last round alone", () => {
  const head = (reopened_ms?: number) => ({ reopened_ms }) as Parameters<typeof tookWords>[0]["head"];
  expect(tookWords({ head: head(), tookMs: 540_000 })).toBe("in 9 min 00 s");
  expect(tookWords({ head: head(1), tookMs: 200 })).toBe("last round 0.2 s");
});

it("says until when it waits, as the hub says it, while none of its tasks is at work", async () => {
  const hub = openPage(`/constellations/${CONSTELLATION}`);
  const answer = await screen.findByRole("region", { name: "Answer" });
  expect(answer.textContent).not.toContain("It waits");
  const at = Date.parse("2026-01-02T03:04:05Z");
  const tasks = [...hub.entities(CONSTELLATION)].filter(([key]) => key.startsWith("task/"));
  const still = Object.fromEntries(
    tasks.map(([key, task], place) => [
      key,
      place === 0 ? { ...task, not_before_ms: at, reason: "moment", state: "ready" } : { ...task, state: "waiting" },
    ]),
  );
  act(() => hub.publish(CONSTELLATION, "moment", still));
  await waitFor(() => expect(answer.textContent).toContain(`It waits until ${momentWords(at)} (night).`));
  expect(screen.getAllByText(/^Waiting, begins at/).length).toBeGreaterThan(0);
});
