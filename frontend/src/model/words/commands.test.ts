import { afterEach, expect, it } from "vitest";
import { setProgram, typed, typedOnDevice } from "./commands.ts";

afterEach(() => setProgram("starloom"));

it("writes the hub's program as the hub says", () => {
  setProgram("STARLOOM_HOME=/srv/hub /opt/venv/bin/starloom");
  expect(typed("Run `starloom open`; Starloom and starloom-agent join stay.")).toBe(
    "Run `STARLOOM_HOME=/srv/hub /opt/venv/bin/starloom open`; Starloom and starloom-agent join stay.",
  );
  setProgram(undefined);
  expect(typed("starloom up")).toBe("STARLOOM_HOME=/srv/hub /opt/venv/bin/starloom up");
});

it("takes of a device nothing but a path of the agent", () => {
  const line = "starloom-agent approve a1";
  expect(typedOnDevice(line, { program: "/h/a b/bin/starloom-agent", home: "/srv/it" })).toBe(
    "'/h/a b/bin/starloom-agent' approve --home /srv/it a1",
  );
  expect(typedOnDevice(line, undefined)).toBe(line);
  for (const program of ["/bin/rm", "/x;rm/starloom-agent", "/$(x)/starloom-agent", "starloom-agent"]) {
    expect(typedOnDevice(line, { program })).toBe(line);
  }
});
