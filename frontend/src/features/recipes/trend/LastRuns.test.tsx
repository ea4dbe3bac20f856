import { render, screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { Router } from "wouter";
import type { RecipeTrend, TrendRun } from "../../../model/types.ts";
import { LastRuns } from "./LastRuns.tsx";

const RUN: TrendRun = {
  attempts: 2,
  checks_passed: 0,
  constellation: "c-1",
  created_at: "2026-11-27T10:00:00Z",
  makespan_ms: 5_000,
  mended: 1,
  micros: 0,
  state: "succeeded",
  tasks: 2,
  wait: "queue",
  wait_ms: 3_000,
  width_mean: 1,
  work_ms: 4_000,
};

const shown = (trend: Partial<RecipeTrend>) =>
  render(
    <Router>
      <LastRuns trend={{ more: false, recipe: "r", runs: [], sentence: "It has not run yet.", ...trend }} />
    </Router>,
  );

it("says that a recipe has not run", () => {
  shown({});
  expect(screen.getByText("It has not run yet.")).toBeTruthy();
  expect(screen.queryByRole("table")).toBeNull();
});

it("shows one run without a line", () => {
  shown({ runs: [RUN], sentence: "1 run so far." });
  const [, row] = screen.getAllByRole("row");
  expect(
    within(row as HTMLElement)
      .getAllByRole("cell")
      .map((cell) => cell.textContent),
  ).toEqual(["Done", "5.0 s", "4.0 s", "2", "3.0 s for a free device", "1"]);
  expect(screen.queryByRole("img")).toBeNull();
});

it("shows the times of several as a line, and that there are earlier ones", () => {
  const slow = { ...RUN, constellation: "c-2", makespan_ms: 65_000, state: "failed" as const, wait: null, wait_ms: 0 };
  shown({ runs: [slow, RUN], more: true });
  expect(screen.getByRole("img").getAttribute("aria-label")).toBe("Times of the last 2 runs, from 5.0 s to 1 min 05 s");
  expect(screen.getByText("There are earlier ones.")).toBeTruthy();
  expect(screen.getAllByRole("link").map((link) => link.getAttribute("href"))).toEqual([
    "/constellations/c-2",
    "/constellations/c-1",
  ]);
});
