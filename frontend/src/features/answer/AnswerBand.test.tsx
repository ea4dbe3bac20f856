import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { StreamModel } from "../../model/stream/stream.ts";
import type { Head } from "../../model/types.ts";
import { AnswerBand } from "./AnswerBand.tsx";

const head = { id: "c-1", state: "active", request: "Look at all of it" } as Head;
const fleet = new StreamModel("fleet");
const band = (sentence: string) => (
  <AnswerBand of={head} answer={undefined} sentence={sentence} label={null} fleet={fleet} />
);

let laidOut: (() => void)[] = [];
class Observer {
  constructor(private readonly tell: () => void) {}
  observe(): void {
    laidOut.push(this.tell);
  }
  unobserve(): void {}
  disconnect(): void {
    laidOut = laidOut.filter((tell) => tell !== this.tell);
  }
}

beforeEach(() => {
  laidOut = [];
  vi.stubGlobal("ResizeObserver", Observer);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it("asks for the height of its words only when the page has been laid out", () => {
  const height = vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(2000);
  const shown = render(band("1 of 5000 tasks is done."));
  for (let done = 2; done < 20; done += 1) shown.rerender(band(`${done} of 5000 tasks are done.`));
  expect(height).not.toHaveBeenCalled();
  act(() => {
    for (const tell of laidOut) tell();
  });
  expect(height).toHaveBeenCalledTimes(1);
  expect(screen.getByRole("button", { name: "All of it" })).toBeTruthy();
});
