import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { TaskView } from "../../../model/tasks/selectors.ts";
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
