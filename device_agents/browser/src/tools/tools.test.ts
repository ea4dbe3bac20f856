/** Every tool of the tab: its schema, its switch, why it is not offered where it cannot work, what it makes of files. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { Bench } from "../../dev/bench.ts";
import { dispatch } from "../../dev/fakeHub.ts";
import { makeOffer } from "../agent/offer.ts";
import { CAPABILITIES, decide, FIRST_POLICY, missingIn, policyOf } from "../agent/policy.ts";
import { AGENT_SHAPES } from "../generated/shapes.ts";
import { decode, encode } from "../protocol/codec.ts";
import type { Call, Surroundings } from "./interface.ts";
import { TOOLS } from "./registry.ts";
import { modifiedOf, takenFiles } from "./taking.ts";

const PLAIN_HTTP: Surroundings = { secure: false, navigator: {}, notifications: "absent", hasWasm: false };

describe("the offer", () => {
  it("is a frame that the hub's strict decoder takes, whatever the browser can do", () => {
    for (const around of [PLAIN_HTTP, { ...PLAIN_HTTP, secure: true, hasWasm: true }]) {
      const text = encode(1, [makeOffer(TOOLS, FIRST_POLICY, around, { browser: "x" })], "agent");
      const [frame] = decode(text, "agent", { authenticated: true }).f;
      if (frame?.t !== "offer") throw new Error("no offer");
      expect(frame.offer.tools?.map((tool) => tool.name)).toEqual(TOOLS.map((tool) => tool.name));
      for (const tool of frame.offer.tools ?? []) {
        expect(JSON.parse(tool.args ?? "")).toMatchObject({ type: "object", additionalProperties: false });
        expect(JSON.parse(tool.returns ?? "")).toMatchObject({ type: "object", additionalProperties: false });
      }
    }
    expect(Object.keys(AGENT_SHAPES)).toContain("offer");
  });

  it("says over plain HTTP what is missing and why, and offers the rest", () => {
    const { offer } = makeOffer(TOOLS, { ...FIRST_POLICY, python: true }, PLAIN_HTTP, {});
    const missing = offer.tools?.filter((tool) => tool.unavailable).map((tool) => tool.name);
    expect(missing).toEqual(["geolocation", "clipboard", "share", "python.run"]);
    const place = offer.tools?.find((tool) => tool.name === "geolocation");
    expect(place?.unavailable).toContain("HTTPS");
  });

  it("changes its digests with the policy alone", () => {
    const one = makeOffer(TOOLS, FIRST_POLICY, PLAIN_HTTP, {});
    expect(makeOffer(TOOLS, FIRST_POLICY, PLAIN_HTTP, {})).toEqual(one);
    expect(makeOffer(TOOLS, { ...FIRST_POLICY, ask: false }, PLAIN_HTTP, {}).policy_digest).not.toBe(one.policy_digest);
  });
});

describe("the policy", () => {
  it("has a switch for each tool; what would run by itself without a trace on the page is off at first", () => {
    for (const tool of TOOLS) {
      expect(CAPABILITIES[tool.capability].label).not.toBe("");
      expect(decide(FIRST_POLICY, tool).allowed).toBe(tool.name !== "python.run");
    }
    const missing = missingIn(TOOLS, PLAIN_HTTP);
    expect([...missing.keys()].sort()).toEqual(["clipboard", "location", "python", "share"]);
    expect(missing.get("share")).toContain("HTTPS");
    expect(policyOf({ ask: false })).toMatchObject({ ask: false, notify: true, python: false });
  });
});

describe("files that a person gave", () => {
  const file = (name: string) => ({ name, media: "text/plain", blob: new Blob([name]) });

  it("get names that mean one file and cannot lead elsewhere", async () => {
    const given = [file("a.txt"), file("a.txt"), file("../x"), file("\u0000\u202e"), file("a.txt")];
    const names = (await takenFiles(given)).map(({ name }) => name);
    expect(names).toEqual(["a.txt", "a-2.txt", ".._x", "__", "a-3.txt"]);
  });

  it("tell when they were changed, unless the browser says the present for want of a time", async () => {
    const told = (lastModified: number) => modifiedOf({ lastModified }, 1_700_000_000_000);
    expect([told(1_600_000_000_900), told(1_699_999_999_000)]).toEqual([{ modifiedS: 1_600_000_000 }, {}]);
    const [taken] = await takenFiles([{ ...file("a.txt"), modifiedS: 7 }]);
    expect(taken?.modifiedS).toBe(7);
  });
});

describe("the result of a tool", () => {
  const stored = { artifact: "0".repeat(64), bytes: 1, media: "text/plain", name: "a.txt" };
  const picture = [{ name: "a.png", media: "image/png", blob: new Blob(["x"]) }];
  /** What a person and the hub give to one call; a tap is taken as done, its act is not carried out. */
  const call = (answer: unknown): Call => ({
    signal: new AbortController().signal,
    step: (_name, take) => take(),
    touch: async () => {},
    ask: async () => answer,
    put: async () => stored,
    fetch: async () => new Blob(["x"]),
    show: () => {},
    log: () => {},
    progress: () => {},
  });
  const place = { latitude: 1.5, longitude: 2.5, accuracy_m: 3, at: "2026-01-01T00:00:00Z" };
  const calls: Record<string, [unknown, unknown][]> = {
    ask: [
      ["yes", { text: "Go on?" }],
      ["yes", { text: "Go on?", choices: ["yes"], within_s: 60 }],
    ],
    notify: [
      [null, { text: "Done" }],
      [null, { text: "Done", unshown: "log" }],
    ],
    "file.pick": [
      [picture, {}],
      [picture.map((one) => ({ ...one, modifiedS: 1_600_000_000 })), {}],
    ],
    "file.save": [[true, { files: [stored] }]],
    "camera.capture": [[picture, {}]],
    geolocation: [[place, {}]],
    clipboard: [
      ["text", {}],
      [true, { copy: "text" }],
    ],
    share: [[true, { text: "Look", files: [stored] }]],
  };

  it.each(Object.keys(calls))("is what it declares: %s", async (name) => {
    const tool = TOOLS.find((one) => one.name === name);
    vi.stubGlobal("navigator", {});
    for (const [answer, args] of calls[name] ?? []) {
      const value = await tool?.run(call(answer), tool.args.parse(args));
      expect(tool?.gives.parse(value)).toEqual(value);
      expect(tool?.gives.safeParse({ ...(value as object), surely_not_there: 1 }).success).toBe(false);
    }
  });

  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it("is declared and shown here for every tool but programs, which need their worker", () => {
    expect(TOOLS.map((tool) => tool.name).sort()).toEqual([...Object.keys(calls), "python.run"].sort());
  });
});

describe("notify", () => {
  it("says where it was shown when the browser has no notices", async () => {
    const bench = new Bench();
    const agent = await bench.life([...TOOLS]);
    bench.hub.send(dispatch("notify", { text: "Done", count: 3 }));
    const { value } = await bench.hub.result();
    expect(JSON.parse(value ?? "")).toMatchObject({ text: "Done (3)", shown: "page" });
    const [notice] = agent.view().notices;
    expect(notice).toMatchObject({ title: "Starloom", text: "Done (3)" });
    agent.dismiss(notice?.id ?? 0);
    expect(agent.view().notices).toEqual([]);
  });
});
