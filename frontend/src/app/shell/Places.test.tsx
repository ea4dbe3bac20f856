/** *More* on a phone: the places that the bar has no room for. */
import { render, screen, within } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { Places } from "./Places.tsx";

it("names the other places, with what waits beside Inbox", () => {
  const places = [
    { path: "/inbox", label: "Inbox", icon: "inbox" as const },
    { path: "/settings", label: "Settings", icon: "settings" as const },
  ];
  render(<Places places={places} waiting={2} onSearch={vi.fn()} onClose={vi.fn()} />);
  const links = within(screen.getByRole("navigation", { name: "More places" })).getAllByRole("link");
  expect(links.map((link) => link.textContent)).toEqual(["Inbox2", "Settings"]);
});
