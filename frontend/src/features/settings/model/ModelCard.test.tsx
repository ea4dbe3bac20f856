/** Settings > Model names every host that a call may go to. */
import { expect, it } from "vitest";
import { hostsOf } from "./ModelCard.tsx";

it("names the hosts of all roles, each once", () => {
  const others = [
    { role: "reviewer", model: "large", host: "critics.test" },
    { role: "fallback", model: "small", host: "models.test" },
  ];
  expect(hostsOf({ host: "models.test", others })).toBe("models.test, critics.test");
  expect(hostsOf({ host: "models.test" })).toBe("models.test");
});
