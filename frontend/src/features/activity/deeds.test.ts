import { describe, expect, it } from "vitest";
import type { ActivityRow } from "../../model/types.ts";
import { deedText } from "./deeds.ts";

const deed = (more: Partial<ActivityRow>): ActivityRow => ({
  pos: 1,
  stream: "c-1",
  seq: 1,
  at: "2026-11-25T10:00:00Z",
  by: "device:d-1",
  kind: "task_succeeded",
  category: "work",
  about: "tell",
  about_name: "",
  note: "",
  ...more,
});
const names = (id: string) => (id === "d-1" ? "wolke7" : id);
const said = (more: Partial<ActivityRow>) => deedText(deed(more), names).text;

describe("a deed in words", () => {
  it("names the task in its sentence", () => {
    expect(said({})).toBe("finished \u201ctell\u201d");
    expect(said({ kind: "task_retried", by: "engine" })).toBe("retried \u201ctell\u201d");
    expect(said({ kind: "task_failed" })).toBe("failed at \u201ctell\u201d");
  });
  it("puts the name of a task in quotes, and no device or person", () => {
    expect(said({ kind: "task_skipped", about: "after", by: "engine" })).toBe("skipped \u201cafter\u201d");
    expect(said({ kind: "device_drain", category: "devices", about: "d-1", by: "engine" })).not.toContain("\u201c");
  });
  it("leaves out ids that say nothing", () => {
    expect(said({ kind: "request_accepted", category: "plans", about: "c-xyz" })).toBe("asked for a constellation");
    expect(said({ kind: "schedule_fired", category: "schedules", about: "s-xyz" })).toBe("ran the schedule");
    expect(said({ kind: "recovery_asked", category: "approvals", about: "" })).toBe("asked how to go on");
  });
  it("names a device once", () => {
    expect(said({ kind: "device_online", category: "devices", about: "d-1" })).toBe("came online");
    expect(said({ kind: "device_online", category: "devices", about: "d-1", by: "engine" })).toBe(
      "came online: wolke7",
    );
    expect(said({ kind: "device_drain", category: "devices", about: "d-1", by: "person:ann" })).toBe("drained wolke7");
  });
  it("names a secret, and no other id of access", () => {
    expect(said({ kind: "secret_set", category: "access", about: "db-key", by: "person:ann" })).toBe(
      "set the secret db-key",
    );
    expect(said({ kind: "token_added", category: "access", about: "t-1", by: "person:ann" })).toBe("made a token");
    expect(
      said({ kind: "token_added", category: "access", about: "t-1", about_name: "bo (viewer)", by: "person:ann" }),
    ).toBe("made a token: bo (viewer)");
  });
});
