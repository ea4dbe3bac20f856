/** The part of a result beside a question: text as it is, records as a table, and what is left out. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { ShownResult } from "./ShownResult.tsx";

it("shows a text with all its lines, and nothing of it as markup", () => {
  render(<ShownResult shown={{ source: "fix", output: "/diff", value: JSON.stringify("-a\n+<b>b</b>") }} />);
  expect(screen.getByRole("region", { name: "Shown: diff of fix" }).textContent).toContain("-a\n+<b>b</b>");
  expect(document.querySelector(".shown .box b")).toBeNull();
});

it("shows records as a table", () => {
  const value = JSON.stringify([{ device: "srv-a", service: "db" }]);
  render(<ShownResult shown={{ source: "plan", output: "/rows", value }} />);
  expect(screen.getByRole("cell", { name: "srv-a" })).toBeTruthy();
});

it("shows every digit of a number that a browser's own numbers cannot hold", () => {
  render(<ShownResult shown={{ source: "plan", output: "/rows", value: '[{"account": 9007199254740993}]' }} />);
  expect(screen.getByRole("cell", { name: "9007199254740993" })).toBeTruthy();
});

it("says how much of a long one is left out", () => {
  render(<ShownResult shown={{ source: "fix", value: '"x"', left_out: 12 }} />);
  expect(screen.getByText(/12 more characters are not shown/)).toBeTruthy();
  render(<ShownResult shown={{ source: "find", value: '[{"path":"a"},{"path":"b"}]', left_out: 12 }} />);
  expect(screen.getByText(/the first 2; the others are not shown/)).toBeTruthy();
});

it("shows a file by its name, size, time, device and folder, and the sixth with a press", async () => {
  const file = (name: string) => ({
    below: `old/${name}`,
    bytes: 2_000,
    device: "desk",
    media: "text/plain",
    mtime_s: 1_760_000_000,
    name,
    path: `/srv/old/${name}`,
  });
  const value = JSON.stringify([..."abcdef"].map((letter) => file(`${letter}.tmp`)));
  render(<ShownResult shown={{ source: "find", output: "/files", value }} />);
  const lines = () => screen.getAllByRole("listitem").map((line) => line.textContent);
  expect(lines()).toHaveLength(5);
  expect(lines()[0]).toMatch(/^a\.tmp2\.0 kB, 9 Oct 2025, \d\d:\d\d, desk\/srv\/old$/);
  await userEvent.click(screen.getByRole("button", { name: "and 1 more" }));
  expect(lines()).toHaveLength(6);
});

it("hides no field of a list that is of more than files", () => {
  const value = JSON.stringify([{ path: "a", bytes: 2, owner: "root" }]);
  render(<ShownResult shown={{ source: "find", output: "/files", value }} />);
  expect(screen.getByRole("cell", { name: "root" })).toBeTruthy();
});
