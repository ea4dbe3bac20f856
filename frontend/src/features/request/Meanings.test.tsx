/** Words that no recipe carries out: the page tells what helps, as the terminal does. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { WorkspaceContext } from "../../app/workspace/context.ts";
import type { Workspace } from "../../app/workspace/workspace.ts";
import { StreamModel } from "../../model/stream/stream.ts";
import { Meanings } from "./Meanings.tsx";

const shown = (gap: string) => {
  const onSay = vi.fn();
  render(
    <Meanings
      outcome="none"
      candidates={[]}
      examples={[]}
      gap={gap}
      onSay={onSay}
      onAdopt={vi.fn()}
      onBuild={vi.fn()}
    />,
  );
  return onSay;
};

it("tells why no recipe does it, and takes a request that helps", async () => {
  const onSay = shown("no recipe deletes files. *largest files on nas* shows what takes room");
  expect(document.body.textContent).toContain("No recipe deletes files. largest files on nas shows what takes room.");
  expect(screen.queryByText("Nothing near it was found.")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "largest files on nas" }));
  expect(onSay).toHaveBeenCalledWith("largest files on nas");
});

it("answers a question about Starloom with the pages that do", () => {
  render(
    <Meanings
      outcome="none"
      candidates={[]}
      examples={[]}
      gap="a device joins by a code: `starloom enroll` prints it"
      places={[{ title: "Fleet, Add device", path: "/devices?add=1" }]}
      onSay={vi.fn()}
      onAdopt={vi.fn()}
      onBuild={vi.fn()}
    />,
  );
  expect(document.body.textContent).toContain("A device joins by a code: starloom enroll prints it.");
  expect(screen.getByRole("link", { name: "Fleet, Add device" }).getAttribute("href")).toBe("/devices?add=1");
  expect(screen.queryByText("No recipe does this.")).toBeNull();
});

it("says that nothing is near where no reason is known", () => {
  shown("");
  expect(screen.getByText("Nothing near it was found.")).toBeTruthy();
});

it("names the words that a recipe has no place for, and the way by hand", async () => {
  const onBuild = vi.fn();
  const hub = { recipes: async () => ({ items: [] }) };
  const candidate = { recipe: "photo-backup", title: "Back up", score: 900, params: {}, missing: [], trial: null };
  render(
    <WorkspaceContext value={{ hub } as unknown as Workspace}>
      <Meanings
        outcome="near"
        candidates={[{ ...candidate, unused: ["June"] }]}
        examples={[]}
        gap=""
        onSay={vi.fn()}
        onAdopt={vi.fn()}
        onBuild={onBuild}
      />
    </WorkspaceContext>,
  );
  expect(await screen.findByText("It does not use: June")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Build" }));
  expect(onBuild).toHaveBeenCalledOnce();
});

it("takes the device that a misspelt name is nearest to by one press", async () => {
  const onAdopt = vi.fn();
  const hub = { recipes: async () => ({ items: [] }) };
  const fleet = new StreamModel("fleet");
  const slot = {
    name: "where",
    type: "device",
    title: "Which",
    reason: "there is no device latpop; the nearest is laptop",
  };
  const candidate = { recipe: "fleet-health", title: "How", score: 900, params: {}, trial: null, unused: [] };
  render(
    <WorkspaceContext value={{ hub, fleet } as unknown as Workspace}>
      <Meanings
        outcome="near"
        candidates={[{ ...candidate, missing: [{ ...slot, choices: ["laptop", "nas"] }] }]}
        examples={[]}
        gap=""
        onSay={vi.fn()}
        onAdopt={onAdopt}
        onBuild={vi.fn()}
      />
    </WorkspaceContext>,
  );
  await userEvent.click(await screen.findByRole("button", { name: "laptop" }));
  expect(onAdopt.mock.calls[0]?.[1]).toEqual({ where: { name: "laptop" } });
});
