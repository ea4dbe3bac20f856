/** The fleet of the mock hub as a log of events: the three devices of the sample and two more. */
import type { Entity, StreamEvent } from "../src/model/types.ts";
import { LogBuilder, T0 } from "./logBuilder.ts";

export const [PHONE, SERVER, DESKTOP] = ["d-phone", "d-server", "d-desktop"];

export function fleetLog(): StreamEvent[] {
  const log = new LogBuilder("fleet");
  const add = (
    id: string,
    name: string,
    os: string,
    labels: string[],
    more: Entity,
    grants: string[],
    tools: string[],
  ) =>
    log.put("device_joined", {
      [`device/${id}`]: {
        id,
        joined_ms: T0 - 86_400_000 + log.events.length,
        key: "k",
        labels,
        link: "online",
        link_since_ms: T0 - 3_600_000,
        name,
        os,
        version: "0.1.0",
        ...more,
      },
      [`offer/${id}`]: {
        digest: id,
        facts: { arch: "x86_64", disk_free_bytes: "412000000000", os, python: "3.11" },
        grants,
        slots: id === PHONE ? 3 : 4,
        tools: tools.map((tool) => ({
          effects: [tool.startsWith("fs.w") ? "write" : "read"],
          name: tool,
          repeatability: "idempotent",
        })),
      },
    });
  add(
    DESKTOP,
    "desktop",
    "linux",
    ["desktop"],
    { profile: "files" },
    ["files"],
    ["system.info", "disk.usage", "fs.write", "image.sheet", "image.resize"],
  );
  add(
    SERVER,
    "demo-server",
    "linux",
    ["server"],
    { demo: true, profile: "work" },
    ["files", "git"],
    ["system.info", "disk.usage", "fs.write", "fs.hash", "fs.verify", "image.resize"],
  );
  add(
    PHONE,
    "demo-phone",
    "android",
    ["phone"],
    { condition: { battery: "62 %" }, demo: true, link: "offline", link_since_ms: T0 + 5000, profile: "work" },
    ["files"],
    ["fs.find", "fs.hash", "artifact.put", "notify"],
  );
  add(
    "d-laptop",
    "mara-laptop",
    "macos",
    ["laptop"],
    { profile: "work" },
    ["git", "files"],
    ["system.info", "git.status", "python.run"],
  );
  add(
    "d-vps",
    "vps-frankfurt",
    "linux",
    ["server"],
    { draining: true, profile: "operate" },
    ["hosts", "service"],
    ["system.info", "package.updates", "service.restart"],
  );
  return log.events;
}
