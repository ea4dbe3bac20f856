import { describe, expect, it } from "vitest";
import { StreamModel } from "../stream/stream.ts";
import type { Device, Enrollment } from "../types.ts";
import { ASLEEP, type DeviceView, deviceNamed, deviceReasons, deviceShown, linkWords, replacesWords } from "./fleet.ts";
import { rightsInShort } from "./rights.ts";

const shown = (more: Partial<Device>) =>
  deviceShown({ device: { id: "d1", name: "phone", ...more } as Device } as DeviceView, 0).word;

describe("where a device stands", () => {
  it("is asleep for a browser tab that is not online, also where its link is left out", () => {
    expect(shown({ os: "browser" })).toBe(ASLEEP);
    expect(shown({ os: "browser", link: "offline" })).toBe(ASLEEP);
    expect(shown({ os: "browser", link: "suspended" })).toBe(ASLEEP);
    expect(shown({ os: "browser", link: "online" })).not.toBe(ASLEEP);
  });
  it("is out of reach for every other that is not online", () => {
    expect(shown({ os: "linux" })).toBe("Out of reach");
    expect(shown({ os: "linux", link: "suspended" })).toBe("Asleep");
  });
  it("is too old for one whose agent is refused, until it is connected", () => {
    expect(shown({ os: "linux", refused: "agent_too_old" })).toBe("Agent too old");
    expect(shown({ os: "linux", refused: "hub_too_old" })).toBe("Hub too old");
    expect(shown({ os: "linux", refused: "agent_too_old", link: "online" })).toBe("Idle");
    const view = { device: { id: "d1", name: "nas", os: "linux", refused: "agent_too_old" } as Device } as DeviceView;
    expect(deviceReasons(view, 1_000)).toEqual(["The hub refuses it: its agent is too old for this hub."]);
  });
  it("is stopped for one whose agent took its slots back, until it offers some again", () => {
    const device = { id: "d1", name: "vm", os: "linux", link: "offline" } as Device;
    const word = (slots: number, link = "offline") =>
      deviceShown({ device: { ...device, link }, offer: { slots } } as DeviceView, 0).word;
    expect([word(0), word(4), word(4, "online")]).toEqual(["Agent stopped", "Out of reach", "Idle"]);
  });
  it("is not connected yet for one that was approved and never came, and is never lost", () => {
    const joined = { id: "d1", name: "vm", os: "linux", joined_ms: 1_000, link_since_ms: 1_000 } as Device;
    expect(shown(joined)).toBe("Not connected yet");
    expect(linkWords(joined, 9_000)).toBe("");
    expect(rightsInShort(joined, undefined)).toBe("its terminal asks how to start it");
    expect(shown({ ...joined, link: "online", session: 1, link_since_ms: 2_000 })).toBe("Idle");
    expect(shown({ ...joined, session: 1, link_since_ms: 2_000 })).toBe("Out of reach");
  });
  it("has one word for a phone's tab that sleeps, whoever says it", () => {
    const tab = { id: "d1", name: "phone", os: "browser", link: "offline", link_since_ms: 1_000 } as Device;
    expect(shown(tab)).toBe("Asleep");
    expect(linkWords(tab, 5_000)).toBe("asleep 4 s ago");
  });
});

it("says which device the approval of another one revokes", () => {
  const fleet = new StreamModel("fleet");
  const old = { id: "d1", name: "attic", link: "online", session: 1, joined_ms: 1, link_since_ms: 2_000 };
  const read = (more: { revoked?: boolean }) =>
    fleet.readSnapshot({ entities: { "device/d1": { ...old, ...more } }, seq: 0 });
  const words = (replaces: string) => replacesWords(fleet, { id: "e1", replaces } as Enrollment, 5_000);
  read({});
  expect(words("d1")).toBe("Approving it revokes the device that is called attic now (connected 3 s ago), for good.");
  expect(words("")).toBe("");
  read({ revoked: true });
  expect(words("d1")).toBe("");
});

it("finds a device by the name that it had before, unless another one is called so now", () => {
  const fleet = new StreamModel("fleet");
  fleet.readSnapshot({
    entities: {
      "device/d1": { id: "d1", name: "thicket", former_names: ["bramble", "hedge"], joined_ms: 1 },
      "device/d2": { id: "d2", name: "hedge", joined_ms: 2 },
    },
    seq: 0,
  });
  expect(deviceNamed(fleet, "bramble")?.id).toBe("d1");
  expect(deviceNamed(fleet, "hedge")?.id).toBe("d2");
});
