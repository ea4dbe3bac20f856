/** The golden examples of every version, the same files as Python's: frames, refusals, whole sessions, identities. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { PROTOCOL_VERSIONS, SESSION_TABLE, type Side } from "../generated/protocol.ts";
import { AGENT_SHAPES, HUB_SHAPES } from "../generated/shapes.ts";
import { answerProof, channelKeys, deviceProof, hubProof, requestProof, seal, transcript, unseal } from "./channel.ts";
import { decode, encode, type Frame } from "./codec.ts";
import { ProtocolFault } from "./faults.ts";
import { deviceId, hex, shortWords } from "./proof.ts";
import { Session } from "./session.ts";

const GOLDEN = fileURLToPath(new URL("../../../../protocol/starloom_protocol/golden/", import.meta.url));
const ROOT = `${GOLDEN}v1/`;
const VERSIONS = readdirSync(GOLDEN).filter((name) => /^v\d+$/.test(name));

function load(folder: string): [string, Record<string, unknown>][] {
  return VERSIONS.flatMap((version) => {
    const place = `${GOLDEN}${version}/${folder}`;
    const names = existsSync(place) ? readdirSync(place).filter((name) => name.endsWith(".json")) : [];
    return names.map((name): [string, Record<string, unknown>] => [
      `${version}/${name}`,
      JSON.parse(readFileSync(`${place}/${name}`, "utf8")),
    ]);
  });
}

interface Example {
  sender: Side;
  authenticated: boolean;
  message: string;
  code?: string;
}

interface Step {
  side: Side;
  send?: Frame[];
  receive?: string;
  farewell?: never;
  reason?: string;
  fix?: string;
  expect: Record<string, unknown>;
}

function caught(act: () => unknown): ProtocolFault {
  try {
    act();
  } catch (error) {
    if (error instanceof ProtocolFault) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

it("covers every version that the tab speaks", () => {
  expect(VERSIONS).toEqual(expect.arrayContaining(PROTOCOL_VERSIONS.map((version) => `v${version}`)));
});

describe("frames", () => {
  const examples = load("frames") as unknown as [string, Example][];
  it.each(examples)("%s decodes and encodes to the same text", (_name, { sender, authenticated, message }) => {
    const found = decode(message, sender, { authenticated });
    expect(encode(found.n, found.f, sender, { authenticated })).toBe(message);
  });

  it.each(["agent", "hub"] as const)("every frame of the %s has an example", (side) => {
    const tags = examples
      .filter(([, example]) => example.sender === side)
      .flatMap(([, example]) => decode(example.message, side, { authenticated: true }).f.map((frame) => frame.t));
    expect(new Set<string>(tags)).toEqual(new Set(Object.keys(side === "agent" ? AGENT_SHAPES : HUB_SHAPES)));
    expect(new Set(Object.keys(SESSION_TABLE[side]))).toEqual(new Set<string>(tags));
  });

  it.each(load("frames/rejected") as unknown as [string, Example][])("%s is refused", (_name, example) => {
    const fault = caught(() => decode(example.message, example.sender, { authenticated: example.authenticated }));
    expect(fault.code).toBe(example.code);
    expect(fault.reason).not.toBe("");
    expect(fault.fix).not.toBe("");
  });
});

describe("sessions", () => {
  it.each(load("sessions"))("%s", (_name, script) => {
    const versions = script.versions as Record<Side, number[]>;
    const sides = { agent: new Session("agent", versions.agent), hub: new Session("hub", versions.hub) };
    (script.steps as Step[]).forEach((step, number) => {
      const session = sides[step.side];
      const found: Record<string, unknown> = {};
      try {
        if (step.send) found.text = session.send(step.send);
        else if (step.receive !== undefined) found.frames = session.receive(step.receive).map((frame) => frame.t);
        else if (step.farewell)
          found.text = session.farewell(new ProtocolFault(step.farewell, step.reason ?? "", step.fix));
      } catch (error) {
        if (!(error instanceof ProtocolFault)) throw error;
        found.code = error.code;
      }
      found.state = session.state;
      expect(found, `step ${number}`).toEqual(step.expect);
    });
  });
});

describe("identity", () => {
  it("is for ever", () => {
    const golden = JSON.parse(readFileSync(`${ROOT}identity.json`, "utf8"));
    const bytes = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    const key = bytes(golden.public_key);
    expect(deviceId(key)).toBe(golden.device_id);
    expect(shortWords(bytes(golden.hub_key), key, bytes(golden.code_hash))).toBe(golden.short_words);
  });

  it("draws no word twice, as Python does", () => {
    const none = new Uint8Array();
    expect(shortWords(Uint8Array.of(0, 28), none, none)).toBe("diamond peanut golden maple drum sandal");
  });
});

describe("channel", () => {
  it("is for ever", () => {
    const golden = JSON.parse(readFileSync(`${GOLDEN}v3/channel.json`, "utf8"));
    const bytes = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    const said = transcript(golden.hello, golden.challenge);
    expect(hex(said)).toBe(golden.transcript);
    expect(hex(hubProof(said))).toBe(golden.hub_proof);
    expect(hex(deviceProof(said, golden.challenge.signature))).toBe(golden.device_proof);
    const keys = channelKeys(bytes(golden.secret), said);
    expect({ agent: hex(keys.agent), http: hex(keys.http), hub: hex(keys.hub) }).toEqual(golden.keys);
    const text = unseal(keys.hub, golden.sealed);
    expect(text === null ? "" : seal(keys.hub, text)).toBe(golden.sealed);
    expect(unseal(keys.agent, golden.sealed)).toBe(null);
    const asked = requestProof(keys.http, "PATCH", "ab".repeat(32), { offset: "5", length: "9" });
    expect(asked).toBe(golden.request_proof);
    expect(requestProof(keys.http, "GET", "ab".repeat(32), { span: "bytes=3-" })).toBe(golden.ranged_proof);
    expect(answerProof(keys.http, asked, 204, "9")).toBe(golden.answer_proof);
  });
});
