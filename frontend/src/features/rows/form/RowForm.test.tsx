/** The answers of a question in a row: each with its label and whether it stops what follows. */
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

it("are written one by one, keep their commas and values, and any of them may stop what follows", async () => {
  openPage("/new?way=build");
  await userEvent.click(await screen.findByRole("tab", { name: "Text" }, { timeout: 8000 }));
  const box = () => screen.getByRole("textbox", { name: "Plan, as YAML or JSON" }) as HTMLTextAreaElement;
  await userEvent.clear(box());
  await userEvent.click(box());
  await userEvent.paste(
    "tasks: [{id: ask, person: Go on?, choices: [{value: go, label: Yes}, {value: stop, label: No, fails: true}]}]",
  );
  await userEvent.click(screen.getByRole("tab", { name: "Rows" }));
  await userEvent.click(screen.getByRole("button", { name: /^Row 1, / }));
  const answers = await screen.findByRole("group", { name: "answers" });
  const label = within(answers).getByLabelText("Answer 1");
  await userEvent.clear(label);
  await userEvent.type(label, "Yes, all of it");
  await userEvent.click(within(answers).getByRole("button", { name: "Add an answer" }));
  const third = within(answers).getByLabelText("Answer 3");
  await userEvent.clear(third);
  await userEvent.type(third, "Later");
  const [, second, last] = within(answers).getAllByRole("checkbox", { name: "stops what follows" });
  expect((second as HTMLInputElement).checked).toBe(true);
  await userEvent.click(second as HTMLElement);
  await userEvent.click(last as HTMLElement);
  await userEvent.click(screen.getByRole("tab", { name: "Text" }));
  const written = box().value.replace(/\s+/g, " ");
  expect(written).toContain("value: go label: Yes, all of it");
  expect(written).toContain("value: stop label: No -");
  expect(written).toContain("value: later label: Later fails: true");
});
