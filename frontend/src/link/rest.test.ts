/** A creating request keeps its key until it is answered, so that a repeat after a lost answer creates nothing. */
import { afterEach, expect, it, vi } from "vitest";
import { Hub } from "./endpoints.ts";
import { Rest } from "./rest.ts";

afterEach(() => vi.useRealTimers());

type Answer = "lost" | number;

/** A hub whose answers are these in turn; the keys of its requests. */
function hubOf(...answers: Answer[]) {
  const keys: (string | null)[] = [];
  const fetch = async (_: string, init?: RequestInit) => {
    keys.push(new Headers(init?.headers).get("Idempotency-Key"));
    const next = answers[keys.length - 1] ?? 201;
    if (next === "lost") throw new TypeError("Failed to fetch");
    return new Response(next < 400 ? "{}" : '{"code": "conflict"}', { status: next });
  };
  const rest = new Rest({ fetch });
  const make = (name: string) =>
    rest.create("/schedules", { body: { name, cron: "@daily", request: "look" } as never }).catch(() => null);
  return { keys, make };
}

it("sends the same key until an answer comes", async () => {
  const { keys, make } = hubOf("lost", 503, 201, 201);
  for (let tries = 0; tries < 4; tries++) await make("a");
  expect(keys[0]).toBeTruthy();
  expect(keys.slice(1, 3)).toEqual([keys[0], keys[0]]);
  expect(keys[3]).not.toBe(keys[0]);
});

it("takes a refusal as an answer, and other content as another request", async () => {
  const { keys, make } = hubOf(422, 422, "lost", "lost");
  for (const name of ["a", "a", "a", "b", "a"]) await make(name);
  expect(new Set(keys.slice(0, 4)).size).toBe(4);
  expect(keys[4]).toBe(keys[2]);
});

it("gives two presses at once one key", async () => {
  const { keys, make } = hubOf();
  await Promise.all([make("a"), make("a")]);
  expect(keys[1]).toBe(keys[0]);
});

it("takes the same request after ten minutes as another one", async () => {
  vi.useFakeTimers({ now: 0 });
  const { keys, make } = hubOf("lost", "lost");
  await make("a");
  vi.setSystemTime(600_000);
  await make("a");
  expect(keys[1]).not.toBe(keys[0]);
});

it("leaves out a proposed recipe whose number would be kept with other digits, and no other one", async () => {
  const row = (id: string, most: string) =>
    `{"id": "${id}", "constellation": "c-${id}", "request": "do", "document": {"plan": {"args": {"most": ${most}}}}}`;
  const items = [row("a", "9007199254740993"), row("b", "3")].join(", ");
  const fetch = async () => new Response(`{"items": [${items}], "left_out": [], "next": null}`);
  const found = await new Hub(new Rest({ fetch })).proposals();
  expect(found.items.map((one) => one.id)).toEqual(["b"]);
  expect(found.left_out).toEqual([
    { because: "this page cannot keep all digits of one of its numbers", constellation: "c-a", request: "do" },
  ]);
});
