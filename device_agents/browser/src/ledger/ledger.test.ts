/** The ledger over a real IndexedDB: what was flushed is there in the next life, what was refused is tried again. */

import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import { dispatch, lease } from "../../dev/fakeHub.ts";
import { FENCES_KEPT } from "../agent/core.ts";
import { loadOrMake } from "../agent/identity.ts";
import type { LeaseRef } from "../generated/protocol.ts";
import { fromBase64, leaveRequest } from "../protocol/proof.ts";
import { Ledger } from "./ledger.ts";
import { Outbox } from "./outbox.ts";
import { Store, StoreFault, type Write } from "./store.ts";

let names = 0;
const fresh = () => `ledger-${++names}`;

describe("the ledger", () => {
  it("never gives a number twice, in no life, kept or not", async () => {
    const name = fresh();
    const used = new Set<number>();
    for (let life = 0; life < 3; life += 1) {
      const ledger = await Ledger.open(await Store.open(name));
      for (let count = 0; count < 1_500; count += 1) {
        const number = ledger.takeNumber();
        expect(used.has(number)).toBe(false);
        used.add(number);
      }
      await ledger.flush();
    }
  });

  it("keeps attempts, fences, steps and reports until they are no longer needed", async () => {
    const name = fresh();
    const first = await Ledger.open(await Store.open(name));
    first.started(dispatch("ask", {}), { effect: "none", fenceAt: 7 });
    first.started(dispatch("ask", {}, { at: lease("t", 2), secrets: { key: "s" } }), { effect: "none", fenceAt: null });
    first.touched(lease("t", 2));
    first.stepTaken(lease("t"), "answer", new Blob(["bytes"]));
    first.keep({ t: "started", at: lease("t"), report: 1 });
    await first.flush();

    const ledger = await Ledger.open(await Store.open(name));
    expect(ledger.id).toBe(first.id);
    expect(ledger.unfinished().map((row) => [row.at.attempt, row.effect, row.fenceAt])).toEqual([
      [1, "none", 7],
      [2, "maybe", null],
    ]);
    // A secret is not written down, so its attempt cannot be taken up again.
    expect(ledger.unfinished()[1]?.dispatch).toBeNull();
    expect(ledger.fences().get("c-1/t")).toEqual([1, 2]);
    const step = ledger.step(lease("t"), "answer") as { value: Blob };
    expect(await step.value.text()).toBe("bytes");
    expect(ledger.reports()).toHaveLength(1);

    ledger.finished(lease("t"), { t: "result", at: lease("t"), outcome: "ok", report: 2 });
    ledger.dropReports(1);
    await ledger.flush();
    const later = await Ledger.open(await Store.open(name));
    expect(later.step(lease("t"), "answer")).toBeUndefined();
    expect(later.reports()).toEqual([]);
    expect(later.stateOf(lease("t"))).toBe("finished");
    expect(later.resultOf(lease("t"))?.report).toBe(2);
    expect(later.fences().get("c-1/t")).toEqual([1, 2]);
  });

  it("tells what began of work that must not be repeated, the newest first", async () => {
    const name = fresh();
    let now = 0;
    const first = await Ledger.open(await Store.open(name), () => now);
    const started = (at: LeaseRef, repeatability: string) => {
      now += 1_000;
      first.started(dispatch("ask", {}, { at, repeatability }), { effect: "none", fenceAt: null });
    };
    started(lease("t", 2, 1), "never");
    started(lease("t", 1, 2), "never");
    started(lease("free"), "idempotent");
    started(lease("last"), "compensable");
    for (const task of ["last", "refused"])
      first.finished(lease(task), { t: "result", at: lease(task), outcome: "ok", report: 1 });
    await first.flush();
    const later = await Ledger.open(await Store.open(name), () => now);
    expect(later.begunLately()).toEqual([lease("last"), lease("t", 1, 2), lease("t", 2, 1)]);
    expect([...later.begun()].sort()).toEqual([
      ["c-1/last", [1, 1]],
      ["c-1/t", [1, 2]],
    ]);
  });

  it("forgets results of two months ago, and no attempt by the date", async () => {
    const name = fresh();
    let now = 0;
    const first = await Ledger.open(await Store.open(name), () => now);
    first.started(dispatch("ask", {}), { effect: "none", fenceAt: null });
    first.started(dispatch("ask", {}, { task: "old" }), { effect: "none", fenceAt: null });
    first.finished(lease("old"), { t: "result", at: lease("old"), outcome: "ok", report: 1 });
    await first.flush();
    now = 61 * 24 * 3600 * 1000;
    const later = await Ledger.open(await Store.open(name), () => now);
    expect(later.resultOf(lease("old"))).toBeNull();
    expect(later.stateOf(lease("old"))).toBe("finished");
    expect(later.stateOf(lease("t"))).toBe("started");
  });

  it("forgets the oldest attempts that have ended beyond those whose fences it has in mind", async () => {
    const store = await Store.open(fresh());
    let now = 0;
    const first = await Ledger.open(store, () => now);
    first.started(dispatch("ask", {}, { at: lease("open") }), { effect: "none", fenceAt: null });
    for (let task = 0; task <= FENCES_KEPT; task += 1) {
      now += 1;
      first.finished(lease(`t${task}`), { t: "result", at: lease(`t${task}`), outcome: "ok", report: 1 });
    }
    await first.flush();
    const later = await Ledger.open(store, () => now);
    expect(["open", "t0", "t1"].map((task) => later.stateOf(lease(task)))).toEqual(["started", "unknown", "finished"]);
    expect(await store.get("attempts", "c-1/t0/1.1")).toBeUndefined();
  });

  it("keeps what the browser refuses to write, in order, for the next flush", async () => {
    const store = await Store.open(fresh());
    const ledger = await Ledger.open(store);
    const write = store.write.bind(store);
    let full = true;
    store.write = async (writes: readonly Write[]) => {
      if (full) throw new StoreFault("the disk is full");
      await write(writes);
    };
    ledger.started(dispatch("ask", {}), { effect: "none", fenceAt: null });
    await expect(ledger.flush()).rejects.toThrow("the disk is full");
    ledger.touched(lease("t"));
    full = false;
    await ledger.flush();
    expect(await store.get("attempts", "c-1/t/1.1")).toMatchObject({ state: "started", effect: "maybe" });
  });
});

describe("the outbox", () => {
  it("lets nothing leave before it is on disk, and sends all again to the next connection", async () => {
    const ledger = await Ledger.open(await Store.open(fresh()));
    const outbox = new Outbox(ledger);
    const report = outbox.add((number) => ({ t: "started", at: lease("t"), report: number }), { durable: true });
    expect(outbox.unsent()).toEqual([]);
    outbox.mayLeave(outbox.newest);
    expect(outbox.unsent()).toEqual([report]);
    expect(outbox.unsent()).toEqual([]);
    outbox.sendAgain(report.report);
    expect(outbox.unsent()).toEqual([report]);
    expect(outbox.connected(0)).toBe(true);
    expect(outbox.unsent()).toEqual([report]);
    expect(outbox.connected(ledger.nextReport)).toBe(false);
    outbox.acknowledged(report.report);
    expect(outbox.connected(0)).toBe(true);
    expect(outbox.unsent()).toEqual([]);
  });

  it("weighs each sign as it is written, so that no message is too long", async () => {
    const outbox = new Outbox(await Ledger.open(await Store.open(fresh())));
    for (let count = 0; count < 60; count += 1) {
      const make = (report: number) => ({
        t: "result" as const,
        at: lease(`t${count}`),
        outcome: "ok" as const,
        report,
        tail: "\0".repeat(4_096),
      });
      outbox.add(make, { durable: false });
    }
    outbox.mayLeave(outbox.newest);
    const sizes: number[] = [];
    for (let batch = outbox.unsent(); batch.length > 0; batch = outbox.unsent())
      sizes.push(JSON.stringify(batch).length);
    expect(sizes.length).toBeGreaterThan(2);
    expect(Math.max(...sizes)).toBeLessThan(600 * 1024);
  });

  it("sends what fits one message, the rest in the next", async () => {
    const ledger = await Ledger.open(await Store.open(fresh()));
    const outbox = new Outbox(ledger);
    for (let count = 0; count < 100; count += 1) {
      const value = JSON.stringify("x".repeat(15_000));
      const make = (report: number) => ({
        t: "result" as const,
        at: lease(`t${count}`),
        outcome: "ok" as const,
        report,
        value,
      });
      outbox.add(make, { durable: false });
    }
    outbox.mayLeave(outbox.newest);
    const sizes: number[] = [];
    for (let batch = outbox.unsent(); batch.length > 0; batch = outbox.unsent()) sizes.push(batch.length);
    expect(sizes.length).toBeGreaterThan(2);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100);
  });
});

describe("the key", () => {
  it.each([
    ["the browser's, which nobody can read", crypto.subtle, true],
    ["the library's, where the browser has none", null, false],
  ])("is %s, and stays the same", async (_which, subtle, sealed) => {
    const name = fresh();
    const identity = await loadOrMake(await Store.open(name), subtle);
    expect(identity.sealed).toBe(sealed);
    const again = await loadOrMake(await Store.open(name), subtle);
    expect(again.device).toBe(identity.device);
    expect(again.instance).not.toBe(identity.instance);
    const proof = leaveRequest({ device: again.device, hub: "h", nonce: "n" });
    expect(ed25519.verify(fromBase64(await again.sign(proof)), proof, identity.raw)).toBe(true);
  });
});
