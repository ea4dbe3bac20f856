/** Settings > Model names every host that a call may go to. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { DoingProvider } from "../../../app/actions/Actions.tsx";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import { Workspace } from "../../../app/workspace/workspace.ts";
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

it("refuses a limit that is no number at its field, and sends nothing", async () => {
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
