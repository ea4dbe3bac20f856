/** Proposals above the gallery and on Home: the gallery keeps its place until the person asks for them. */
import { act, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";
import type { ProposalRow } from "../../model/types.ts";

const proposal = (at: number): ProposalRow => ({
  answers: [],
  constellation: `c-${at}`,
  document: {},
  effects: [],
  id: `p${at}`,
  name: `kept-${at}`,
  phrase: "",
  proposed_at: null,
  request: `look at folder ${at}`,
  text: "",
  title: `Kept ${at}`,
  values: {},
});

async function proposed(path: string, count: number): Promise<HTMLElement> {
  const hub = openPage(path);
  hub.proposals = Array.from({ length: count }, (_, at) => proposal(at));
  act(() => hub.changed("constellations"));
  return screen.findByRole("region", { name: "Keep as recipes" });
}

const asked = (card: HTMLElement) => within(card).queryAllByText("Keep this as a recipe?").length;

describe("proposals", () => {
  it("are one row above the gallery, which opens three and then all", async () => {
    const card = await proposed("/recipes", 15);
    expect(card.textContent).toContain("15 requests that ended as planned");
    expect(asked(card)).toBe(0);
    await userEvent.click(within(card).getByRole("button", { name: "Show" }));
    expect(asked(card)).toBe(3);
    await userEvent.click(within(card).getByRole("button", { name: "Show all 15" }));
    expect(asked(card)).toBe(15);
    await userEvent.click(within(card).getByRole("button", { name: "Hide" }));
    expect(asked(card)).toBe(0);
  });

  it("are two on Home, with the way to the others", async () => {
    const card = await proposed("/", 5);
    expect(asked(card)).toBe(2);
    expect(within(card).getByRole("link", { name: "and 3 more in Recipes" }).getAttribute("href")).toBe("/recipes");
  });
});
