/** The digest of a call, by the examples that `tests/protocol/wire/test_call_digests.py` reads too. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { Dispatch } from "../generated/protocol.ts";
import { callDigest } from "./callDigest.ts";

const EXAMPLES = fileURLToPath(new URL("../../../../tests/protocol/wire/call_digests.json", import.meta.url));
type Example = Pick<Dispatch, "tool" | "args" | "inputs" | "secrets"> & { about: string; digest: string };

it.each(JSON.parse(readFileSync(EXAMPLES, "utf8")) as Example[])("is that of the hub: $about", (example) => {
  expect(callDigest(example)).toBe(example.digest);
});
