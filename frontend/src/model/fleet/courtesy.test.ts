import { describe, expect, it } from "vitest";
import type { Device } from "../types.ts";
import { courtesySentence, noWorkCause } from "./courtesy.ts";
import { type DeviceView, deviceReasons, deviceShown } from "./fleet.ts";

const device = (condition: Record<string, string>, more: Partial<Device> = {}) =>
  ({ id: "d1", name: "desk", link: "online", condition, ...more }) as Device;
const QUIET = { courtesy: "no", courtesy_why: "quiet_hours", courtesy_until: "07:00" };

describe("the courtesy of a device", () => {
  it("names the end of its quiet hours on the card and on its page", () => {
    const view = { device: device(QUIET) } as DeviceView;
    expect(deviceShown(view, 0).word).toBe("No new work, quiet hours until 07:00");
    expect(deviceReasons(view, 0)).toEqual([
      "It takes no new work, because its quiet hours last until 07:00 by its clock.",
    ]);
  });
  it("is told for each cause, and for a device that is only taken last", () => {
    expect(courtesySentence(device({ courtesy: "no", courtesy_why: "battery" }))).toContain("runs on its battery");
    expect(courtesySentence(device({ courtesy: "less", courtesy_why: "in_use" }))).toBe(
      "It takes new work only where no other device is free, because somebody sits at it.",
    );
    expect(courtesySentence(device({ owner_present: "true" }))).toContain("its owner is at it");
    expect(courtesySentence(device({ battery: "12", charging: "false" }))).toContain("12 % left");
    expect(courtesySentence(device({ courtesy: "yes", courtesy_why: "", owner_present: "true" }))).toBe("");
    expect(courtesySentence(device({}))).toBe("");
  });
  it("never repeats the words of a device", () => {
    const lies = device({ courtesy: "no", courtesy_why: "<b>ann</b>", courtesy_until: "call 0900" });
    expect(noWorkCause(lies)).toBe("its owner's rule");
    const until = device({ ...QUIET, courtesy_until: "call 0900" });
    expect(courtesySentence(until)).toBe("It takes no new work, because its quiet hours have begun.");
    expect(noWorkCause(device({ courtesy: "no", courtesy_why: "toString" }))).toBe("its owner's rule");
  });
  it("stands beside what is wrong with its clock, which is no more than a number", () => {
    const clock = (text: string, link = "online") =>
      deviceReasons({ device: device({ clock: text }, { link: link as Device["link"] }) } as DeviceView, 0);
    expect(clock("3600")[0]).toMatch(/^Its clock is 1 h 0 min ahead of the hub's: times of its files/);
    expect(clock("-95")[0]).toMatch(/^Its clock is 2 min behind the hub's/);
    for (const text of ["", "0", "Infinity", "call 0900"]) expect(clock(text)).toEqual([]);
    expect(clock("3600", "offline")).toEqual([]);
  });
  it("is not told of a device that is away", () => {
    const away = { device: device(QUIET, { link: "offline" }) } as DeviceView;
    expect(deviceReasons(away, 0)).toEqual([]);
    expect(deviceShown(away, 0).word).toBe("Out of reach");
  });
});
