/** The reason of a blocked button is there for a finger and for the keyboard, not only for a mouse. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { type Asks, RightsContext, whyNotBy } from "./away.tsx";
import { Button } from "./parts.tsx";

const WHY = "A viewer can look, but cannot change anything. An owner can give you another role.";

function blocked(pressed = vi.fn()) {
  render(
    <RightsContext value={{ role: "viewer", scopes: [] }}>
      <Button asks onClick={pressed}>
        Launch
      </Button>
      <button type="button">Other</button>
    </RightsContext>,
  );
  return pressed;
}

describe("the reason of a blocked button", () => {
  it("is shown on a press, and goes with the next one elsewhere", async () => {
    const pressed = blocked();
    await userEvent.click(screen.getByRole("button", { name: "Launch" }));
    expect(screen.getByRole("status").textContent).toBe(WHY);
    await userEvent.click(screen.getByRole("button", { name: "Other" }));
    expect(screen.queryByRole("status")).toBeNull();
    expect(pressed).not.toHaveBeenCalled();
  });

  it("is shown while the keyboard is on it", async () => {
    blocked();
    await userEvent.tab();
    expect(screen.getByRole("status").textContent).toBe(WHY);
    await userEvent.keyboard("{Escape}");
    expect(screen.queryByRole("status")).toBeNull();
    await userEvent.tab();
    expect(screen.queryByRole("status")).toBeNull();
  });
});

it("offers what a role may do, and says why the rest is not possible", () => {
  const all: Asks[] = [true, "approver", "anyone"];
  const may = (role: string) => all.filter((asks) => whyNotBy({ role, scopes: [] }, asks) === null);
  expect(may("owner")).toEqual(all);
  expect(may("operator")).toEqual(all);
  expect(may("approver")).toEqual(["approver", "anyone"]);
  expect(may("viewer")).toEqual(["anyone"]);
  expect(whyNotBy({ role: "viewer", scopes: [] }, true)).toBe(
    "A viewer can look, but cannot change anything. An owner can give you another role.",
  );
});

it("offers what the scopes of a sign-in leave of its role", () => {
  const may = (...scopes: string[]) =>
    ([true, "approver", "anyone"] as Asks[]).filter((asks) => whyNotBy({ role: "operator", scopes }, asks) === null);
  expect(may("read", "run")).toEqual([true, "anyone"]);
  expect(may("read", "approve")).toEqual(["approver", "anyone"]);
  expect(may("read", "fleet")).toEqual([true, "anyone"]);
  expect(whyNotBy({ role: "operator", scopes: ["read", "run"] }, "files")).toContain("artifacts");
  expect(whyNotBy({ role: "viewer", scopes: ["read", "artifacts"] }, "files")).toBeNull();
  expect(may("read", "recipe:contact-sheet"), "the hub says of which work").toEqual([true, "anyone"]);
  expect(may("read")).toEqual(["anyone"]);
});

it("says of devices and of work which right of a sign-in is missing", () => {
  const why = (asks: Asks, ...scopes: string[]) => whyNotBy({ role: "operator", scopes }, asks);
  expect(why("fleet", "read", "run")).toContain("“fleet”");
  expect(why("run", "read", "fleet")).toContain("“run”");
  expect(why("fleet", "fleet")).toBeNull();
  expect(why("run", "recipe:contact-sheet"), "a recipe alone allows no schedule").toContain("“run”");
  expect([why("fleet"), why("run")], "a sign-in without scopes has all of its role").toEqual([null, null]);
  expect(whyNotBy({ role: "viewer", scopes: [] }, "fleet")).toBe(WHY);
});

it("asks for the very right of each control, as the hub does", () => {
  const all: Asks[] = ["access", "fleet", "lab", "run", "sessions", "start"];
  const may = (role: string, ...scopes: string[]) => all.filter((asks) => whyNotBy({ role, scopes }, asks) === null);
  expect(may("owner")).toEqual(all);
  expect(may("operator")).toEqual(["fleet", "run", "sessions", "start"]);
  expect(may("operator", "read", "recipe:contact-sheet")).toEqual(["start"]);
  expect(may("owner", "read", "fleet")).toEqual(["fleet"]);
  expect(may("owner", "read", "access")).toEqual(["access", "sessions"]);
  expect(whyNotBy({ role: "operator", scopes: [] }, "access")).toMatch(/^An operator can .* this is for owners/);
});

it("blocks nothing before the role is known, and nothing that asks nobody", () => {
  expect(whyNotBy({ role: "", scopes: [] }, true)).toBeNull();
  expect(whyNotBy({ role: "viewer", scopes: [] }, false)).toBeNull();
});
