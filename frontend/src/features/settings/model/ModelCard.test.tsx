/** Settings > Model names every host that a call may go to. */
import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { DoingProvider } from "../../../app/actions/Actions.tsx";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import { Workspace } from "../../../app/workspace/workspace.ts";
import { Problem } from "../../../link/rest.ts";
import type { ModelState } from "../../../model/types.ts";
import { RightsContext } from "../../../ui/away.tsx";
import { hostsOf } from "./ModelCard.tsx";
import { ModelForm } from "./ModelForm.tsx";

it("names the hosts of all roles, each once", () => {
  const others = [
    { role: "reviewer", model: "large", host: "critics.test" },
    { role: "fallback", model: "small", host: "models.test" },
  ];
  expect(hostsOf({ host: "models.test", others })).toBe("models.test, critics.test");
  expect(hostsOf({ host: "models.test" })).toBe("models.test");
});

/** A form of a model whose test and save are mocks, with its address and model filled in. */
async function modelForm() {
  const workspace = new Workspace(() => undefined);
  const save = vi.spyOn(workspace.hub, "setModel").mockResolvedValue({} as never);
  const tryIt = vi.spyOn(workspace.hub, "tryModel").mockResolvedValue({} as never);
  const found = { set: false, given: false, parts: [], spent_today: { calls: 0, dollars: 0, tokens: 0 } };
  render(
    <WorkspaceContext value={workspace}>
      <RightsContext value={{ role: "owner", scopes: [] }}>
        <DoingProvider>
          <ModelForm found={found as unknown as ModelState} onDone={() => undefined} />
        </DoingProvider>
      </RightsContext>
    </WorkspaceContext>,
  );
  const fill = async (label: RegExp, text: string) => {
    const field = screen.getByLabelText<HTMLInputElement>(label);
    await userEvent.clear(field);
    await userEvent.type(field, text);
    return field;
  };
  await fill(/^Address/, "http://models.test/v1");
  await fill(/^Model$/, "m");
  return { save, tryIt, fill };
}

it("shows the outcome of the newest test alone", async () => {
  const { tryIt } = await modelForm();
  tryIt.mockResolvedValueOnce({ seconds: 0.9, tokens: 120, reply: "yes" } as never);
  const told = () =>
    screen
      .getAllByRole("status")
      .map((one) => one.textContent)
      .filter(Boolean);
  const test = () => userEvent.click(screen.getByRole("button", { name: "Test before saving" }));
  await test();
  expect(told()).toEqual(["It answered in 0.9 s with 120 tokens: yes"]);
  let fail = (_error: Problem) => {};
  tryIt.mockReturnValueOnce(new Promise((_, reject) => (fail = reject)));
  await test();
  expect(told()).toEqual(["Waiting for its answer, 0 s so far"]);
  await act(async () => fail(new Problem(502, { code: "model_failed", title: "It failed", reason: "It said 500." })));
  expect(told()).toEqual([]);
  expect(screen.getAllByRole("alert").map((one) => one.textContent)).toEqual([expect.stringContaining("It said 500.")]);
});

it("refuses a limit that is no number at its field, and sends nothing", async () => {
  const { save, tryIt, fill } = await modelForm();
  const dollars = await fill(/^Dollars/, "0,50");
  const tokens = await fill(/^Tokens/, "100,000");
  const told = screen.getAllByRole("alert").map((one) => one.textContent);
  expect(told).toEqual([
    "It needs a number written like 0.5, without a comma, a space or a unit.",
    "It needs a number written like 100000, without a comma, a space or a unit.",
  ]);
  expect([dollars, tokens].map((field) => field.getAttribute("aria-invalid"))).toEqual(["true", "true"]);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await userEvent.click(screen.getByRole("button", { name: "Test before saving" }));
  await userEvent.type(tokens, "{Enter}");
  expect([save.mock.calls, tryIt.mock.calls]).toEqual([[], []]);
  await fill(/^Dollars/, "0.50");
  await fill(/^Tokens/, "100000");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(save).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ dollars_per_day: 0.5, tokens_per_day: 100000 }),
  );
});
