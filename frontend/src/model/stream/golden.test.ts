/** The fold and the hash against the logs that the core recorded: the same bytes on both sides. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fold } from "../../../dev/apply.ts";
import { recordText, stateHash } from "../../../dev/canonical.ts";
import type { Entity, StreamEvent, TaskRecord } from "../types.ts";
import { presentation } from "../words/presentation.ts";
import { StreamModel } from "./stream.ts";

const FOLDER = join(process.cwd(), "../protocol/starloom_protocol/golden/v1/logs");
const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));

interface Golden {
  stream: string;
  hash: string;
  events: StreamEvent[];
}
const read = (name: string): Golden => JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Golden;

describe("golden logs", () => {
  it("are there", () => expect(names.length).toBeGreaterThan(0));

  it.each(names)("%s folds to the recorded hash", (name) => {
    const golden = read(name);
    expect(stateHash(fold(new Map<string, Entity>(), golden.events))).toBe(golden.hash);
  });

  it.each(names)("%s gives the same state in pieces as at once", (name) => {
    const golden = read(name);
    const model = new StreamModel(golden.stream);
    model.readSnapshot({ entities: {}, seq: (golden.events[0]?.seq ?? 1) - 1 });
    for (const event of golden.events) expect(model.readEvents([event])).toBe(true);
    expect(stateHash(new Map(model.entities()))).toBe(golden.hash);
  });

  it.each(names)("%s holds only states that the vocabulary can show", (name) => {
    for (const event of read(name).events) {
      for (const [key, entity] of Object.entries(event.puts)) {
        if (!key.startsWith("task/") || entity === null) continue;
        const record = entity as unknown as TaskRecord;
        expect(presentation(record.state, record.reason, record).word).not.toBe("");
      }
    }
  });
});

describe("recordText", () => {
  it("orders keys by code point, not by UTF-16 unit", () => {
    expect(recordText({ "\u{1F600}": 1, "\uffee": 2, a: [true, null], B: 3 })).toBe(
      '{"B":3,"a":[true,null],"\uffee":2,"\u{1F600}":1}',
    );
  });
  it("escapes as msgspec does", () => {
    expect(recordText("\u0000\b\f\n\u001f\u007f\u2028/")).toBe('"\\u0000\\b\\f\\n\\u001f\u007f\u2028/"');
  });
});
