import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import { UnmetChecks } from "./UnmetChecks.tsx";

it("shows the named check and the value found", () => {
  const view = {
    spec: { checks: [{ op: "empty", output: "/skipped", says: "the picture is broken" }] },
    attempt: { value: '{"skipped":["a.jpg"]}' },
  } as unknown as TaskView;
  const { container } = render(<UnmetChecks view={view} />);
  expect(container.textContent).toBe('the picture is broken: Wanted: /skipped is empty. Found: ["a.jpg"]');
});

it("takes the kept fact where the result is not here", () => {
  const view = {
    spec: { checks: [{ op: "gt", output: "/count", value: "3" }] },
    attempt: { facts: { "/count": "1" } },
  } as unknown as TaskView;
  const { container } = render(<UnmetChecks view={view} />);
  expect(container.textContent).toBe("Wanted: /count is more than 3. Found: 1");
});
