/** The line of an older agent is one that works on that device, by the path that it tells. */
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { OlderAgent } from "./OlderAgent.tsx";

it("names both versions and the line as it is typed there", () => {
  const facts = { program: "/home/ann/.starloom-agent/venv/bin/starloom-agent", home: "/srv/it" };
  render(<OlderAgent name="nas" version="0.1.0" hubVersion="0.2.0" facts={facts} />);
  const shown = screen.getByRole("region", { name: "An older agent" });
  expect(shown.textContent).toContain("Its agent 0.1.0 is older than this hub (0.2.0)");
  expect(shown.querySelector("code")?.textContent).toBe(
    "/home/ann/.starloom-agent/venv/bin/starloom-agent upgrade --home /srv/it",
  );
});

it("names the join line beside it where the hub refuses the agent", () => {
  render(<OlderAgent name="nas" version="" hubVersion="" facts={undefined} refused />);
  const shown = screen.getByRole("region", { name: "An older agent" });
  expect(shown.textContent).toMatch(/^To upgrade it, type on nas:/);
  expect(shown.textContent).toContain("the line of Add device");
});
