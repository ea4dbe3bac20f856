/** The agent against the real session of a hub and a real store: what survives a cut, a reload, a full disk. */
import { describe, expect, it } from "vitest";
import { Bench, made } from "../../dev/bench.ts";
import { dispatch, HUB_KEY, lease, signedLeave } from "../../dev/fakeHub.ts";
import type { AttemptRow } from "../ledger/ledger.ts";
import { callDigest } from "../protocol/callDigest.ts";
import { signedBy } from "../protocol/channel.ts";
import { leaveRequest } from "../protocol/proof.ts";
import { ask } from "../tools/ask.ts";
import { ToolFailed } from "../tools/interface.ts";
import { loadOrMake } from "./identity.ts";

const QUESTION = { text: "Tea or coffee?", choices: ["Tea", "Coffee"] };

describe("figures", () => {
  it("reach the hub as they are said, and are lost while it is away", async () => {
    const bench = new Bench();
    const agent = await bench.life([]);
    agent.charged(84);
    const told = await bench.hub.until((hub) => hub.heard.find((frame) => frame.t === "vitals"));
    expect(told).toMatchObject({ battery_percent: 84, load_percent: -1 });
    bench.kill(agent);
    agent.charged(83);
    await bench.life([]);
    expect(bench.hub.heard.filter((frame) => frame.t === "vitals")).toHaveLength(1);
  });
});

describe("a call", () => {
  it("is on disk as started before it begins, and its result stays until it is durable at the hub", async () => {
    const bench = new Bench();
    let found: AttemptRow | undefined;
    const agent = await bench.life([
      made("look", async () => {
        found = await (await bench.store()).get<AttemptRow>("attempts", "c-1/t/1.1");
        return { seen: true };
      }),
    ]);
    bench.hub.send(dispatch("look", {}, { wants: ["/seen", "/not"] }));
    const result = await bench.hub.result();
    expect(found?.state).toBe("started");
    expect(result).toMatchObject({ outcome: "ok", value: '{"seen":true}', facts: { "/seen": "true" }, effect: "none" });

    bench.kill(agent);
    const again = await bench.life([]);
    const twice = await bench.hub.until((hub) => hub.results()[1]);
    expect(twice).toEqual(result);
    bench.hub.send({ t: "ack", received: result.report, durable: result.report });
    await until(async () => again.outbox.pending.size === 0);
    bench.kill(again);
    bench.hub.durable = result.report;
    await bench.life([]);
    expect(bench.hub.results()).toHaveLength(2);
  });

  it("is answered from the ledger when it is dispatched again, and never begun twice", async () => {
    const bench = new Bench();
    let begun = 0;
    const count = made("count", async () => {
      begun += 1;
      return begun;
    });
    const agent = await bench.life([count]);
    bench.hub.send(dispatch("count", {}));
    await bench.hub.result();
    bench.kill(agent);
    bench.hub.durable = 0;
    await bench.life([count]);
    bench.hub.send(dispatch("count", {}));
    bench.hub.send(dispatch("count", {}, { task: "other" }));
    await bench.hub.result("other");
    expect(begun).toBe(2);
    expect(bench.hub.results().filter((frame) => frame.at.task === "t")[1]?.value).toBe("1");
  });

  it("that must not be repeated never begins again for a hub that was restored, and the hub hears of it", async () => {
    const bench = new Bench();
    let begun = 0;
    const count = made("count", async () => {
      begun += 1;
      return begun;
    });
    const agent = await bench.life([count]);
    bench.hub.send(dispatch("count", {}));
    bench.hub.send(dispatch("count", {}, { task: "again", repeatability: "idempotent" }));
    await bench.hub.result();
    await bench.hub.result("again");
    const told = () => bench.hub.heard.filter((frame) => frame.t === "ledger");
    expect(told()).toEqual([]);
    bench.kill(agent);

    await bench.life([count]);
    const report = {
      t: "ledger",
      calls: [callDigest(dispatch("count", {}))],
      entries: [{ at: lease("t"), state: "begun" }],
    };
    expect(told()).toEqual([report]);
    bench.hub.send(dispatch("count", {}, { at: lease("t", 1, 2) }));
    const lost = await bench.hub.until((hub) => hub.results().find((frame) => frame.at.incarnation === 2));
    expect(lost).toMatchObject({ outcome: "interrupted", code: "interrupted", effect: "maybe" });
    expect(told()).toEqual([report, report]);
    expect(begun).toBe(2);
  });

  it("is not answered with the result of another call of its name", async () => {
    const bench = new Bench();
    const agent = await bench.life([made("now", async () => 1)]);
    bench.hub.send(dispatch("now", { to: "chat" }));
    await bench.hub.result();
    bench.kill(agent);
    bench.hub.durable = 0;
    await bench.life([made("now", async () => 2)]);
    bench.hub.send(dispatch("now", { to: "bank" }));
    const other = await bench.hub.until((hub) => hub.results().find((frame) => frame.outcome !== "ok"));
    expect(other).toMatchObject({ outcome: "interrupted", effect: "maybe" });
    bench.hub.send(dispatch("now", { to: "chat" }));
    await bench.hub.until((hub) => hub.results().filter((frame) => frame.value === "1").length >= 2);
    expect(bench.hub.results().filter((frame) => frame.value === "2")).toEqual([]);
  });

  it("below the highest fence is refused, in a later life of the tab too", async () => {
    const bench = new Bench();
    const agent = await bench.life([made("now", async () => 1)]);
    bench.hub.send(dispatch("now", {}, { at: lease("t", 2, 3) }));
    const { report } = await bench.hub.result();
    bench.kill(agent);
    bench.hub.durable = report;
    await bench.life([made("now", async () => 1)]);
    bench.hub.send(dispatch("now", {}, { at: lease("t", 7, 2) }));
    const refused = await bench.hub.until((hub) => hub.results().find((frame) => frame.at.attempt === 7));
    expect(refused).toMatchObject({ outcome: "refused", code: "fenced" });
  });

  it("says what it was given, what it lacked and what it threw", async () => {
    const bench = new Bench();
    await bench.life([
      ask,
      made("fails", async () => {
        throw new ToolFailed("no_space", "the disk of s3cret is full");
      }),
      made("throws", async () => {
        throw new Error("s3cret broke");
      }),
      made("odd", async () => ({ at: Number.NaN })),
    ]);
    const secrets = { key: "s3cret" };
    bench.hub.send(dispatch("ask", { text: "", extra: 1 }, { task: "bad" }));
    bench.hub.send(dispatch("fails", {}, { task: "fails", secrets }));
    bench.hub.send(dispatch("throws", {}, { task: "throws", secrets }));
    bench.hub.send(dispatch("odd", {}, { task: "odd" }));
    bench.hub.send(dispatch("none", {}, { task: "none" }));
    expect(await bench.hub.result("bad")).toMatchObject({ outcome: "error", code: "bad_arguments", effect: "none" });
    expect(await bench.hub.result("fails")).toMatchObject({ code: "no_space", detail: "the disk of *** is full" });
    expect(await bench.hub.result("throws")).toMatchObject({ code: "tool_failed", detail: "Error: *** broke" });
    expect(await bench.hub.result("odd")).toMatchObject({ outcome: "error", code: "tool_failed" });
    expect(await bench.hub.result("none")).toMatchObject({ outcome: "refused", code: "tool_unavailable" });
  });

  it("that sends a file shows how much of how much, and its person may stop it", async () => {
    const blob = new Blob([new Uint8Array(1000)]);
    const never: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    const bench = new Bench({ request: never });
    const agent = await bench.life([made("send", (call) => call.put({ name: "a.mov", media: "video/mp4", blob }))]);
    bench.hub.send(dispatch("send", {}));
    await until(async () => agent.view().running[0]?.told.totalBytes !== undefined);
    const [work] = agent.view().running;
    expect(work?.told).toMatchObject({ note: "a.mov", doneBytes: 0, totalBytes: 1000 });
    work?.stop();
    const stopped = await bench.hub.result();
    expect(stopped).toMatchObject({ outcome: "error", code: "declined", effect: "none" });
    expect(stopped.detail).toBe("the person at the device stopped send");
    expect(agent.view().running).toEqual([]);
  });

  it("that the owner has switched off is refused with what to tap, and the decision is kept", async () => {
    const bench = new Bench();
    const agent = await bench.life([ask]);
    agent.allow({ ...agent.view().policy, ask: false });
    bench.hub.send(dispatch("ask", QUESTION));
    const refused = await bench.hub.result();
    expect(refused).toMatchObject({ outcome: "refused", code: "missing_grant" });
    expect(refused.detail).toContain("switch it on");
    const offers = bench.hub.heard.filter((frame) => frame.t === "offer");
    expect(offers.at(-1)?.offer.grants).not.toContain("tab:ask");
    const [decision] = await (await bench.store()).last("decisions", 1);
    expect(decision).toMatchObject({ tool: "ask", allowed: false, lease: "c-1/t/1.1" });
  });
});

describe("a reload", () => {
  it("asks an open question again, and takes the same attempt to its end", async () => {
    const bench = new Bench();
    const agent = await bench.life([ask]);
    bench.hub.send(dispatch("ask", QUESTION));
    await bench.question(agent);
    bench.kill(agent);

    const later = await bench.life([ask]);
    bench.hub.send({ t: "resume_plan", entries: [{ action: "continue", at: lease("t") }] });
    const open = await bench.question(later);
    expect(open.question).toMatchObject({ kind: "choice", choices: ["Tea", "Coffee"] });
    open.answer("Tea");
    expect(await bench.hub.result()).toMatchObject({ outcome: "ok", value: '{"answer":"Tea"}' });
    expect(bench.hub.results()).toHaveLength(1);
    expect(later.view().questions).toEqual([]);
  });

  it("after the date was set back ends what it took up by its fence and its deadline as before", async () => {
    const bench = new Bench();
    const agent = await bench.life([ask]);
    bench.hub.send(dispatch("ask", QUESTION, { task: "fenced", fence_after_s: 13 }));
    bench.hub.send(dispatch("ask", QUESTION, { task: "late", start_to_close_s: 12 }));
    await until(async () => agent.view().questions.length === 2);
    bench.kill(agent);
    bench.time.now -= 3_600;
    await bench.life([ask]);
    bench.time.pass(14);
    expect(await bench.hub.result("fenced")).toMatchObject({ outcome: "interrupted", code: "fenced" });
    expect(await bench.hub.result("late")).toMatchObject({ outcome: "timeout", code: "timed_out" });
  });

  it("does not take a step again that its person has taken", async () => {
    const bench = new Bench();
    let taken = 0;
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const picture = made(
      "picture",
      async (call) => {
        const blob = await call.step("picture", async () => {
          taken += 1;
          return new Blob(["click"]);
        });
        if (taken === 1 && !again) await gate;
        return await blob.text();
      },
      { resumes: true },
    );
    let again = false;
    const agent = await bench.life([picture]);
    bench.hub.send(dispatch("picture", {}));
    await until(async () => (await (await bench.store()).all("steps")).length === 1);
    bench.kill(agent);
    again = true;
    await bench.life([picture]);
    expect(await bench.hub.result()).toMatchObject({ outcome: "ok", value: '"click"' });
    expect(taken).toBe(1);
    open();
    expect(await (await bench.store()).all("steps")).toEqual([]);
  });

  it.each([
    ["before its effect", false, "none"],
    ["after its effect may have begun", true, "maybe"],
  ] as const)("interrupts a call %s", async (_when, touches, effect) => {
    const bench = new Bench();
    let reached = () => {};
    const there = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const endless = made(
      "endless",
      async (call) => {
        if (touches) await call.touch();
        reached();
        await new Promise(() => {});
      },
      { resumes: touches },
    );
    const agent = await bench.life([endless]);
    bench.hub.send(dispatch("endless", {}));
    await there;
    bench.kill(agent);
    await bench.life([endless]);
    expect(await bench.hub.result()).toMatchObject({ outcome: "interrupted", code: "interrupted", effect });
  });

  it("with another ledger cannot vouch for an attempt that the hub saw begin", async () => {
    const bench = new Bench();
    await bench.life([]);
    bench.hub.send({ t: "resume_plan", entries: [{ action: "continue", at: lease("t") }] });
    expect(await bench.hub.result()).toMatchObject({ outcome: "interrupted", effect: "maybe" });
  });
});

describe("a tap", () => {
  it("is told to the hub while its attempt waits for it", async () => {
    const bench = new Bench();
    const agent = await bench.life([ask]);
    const taps = () => bench.hub.heard.flatMap((frame) => (frame.t === "condition" ? [frame.facts.tap] : []));
    expect(taps()).toEqual([""]);
    bench.hub.send(dispatch("ask", QUESTION));
    const open = await bench.question(agent);
    const at = lease("t");
    await bench.hub.until(() => (taps().length > 1 ? true : undefined));
    expect(taps()).toEqual(["", `${at.constellation}/t/${at.attempt}`]);
    open.answer("Tea");
    await bench.hub.result();
    expect(taps().at(-1)).toBe("");
  });
});

describe("being stopped", () => {
  it("gives a receipt for a cancel and takes the question away", async () => {
    const bench = new Bench();
    const agent = await bench.life([ask]);
    bench.hub.send(dispatch("ask", QUESTION));
    await bench.question(agent);
    bench.hub.send({ t: "cancel", at: lease("t"), reason: "not needed" });
    const receipt = await bench.hub.until((hub) => hub.heard.find((frame) => frame.t === "receipt"));
    expect(receipt).toMatchObject({ known: true, effect: "none" });
    expect(agent.view().questions).toEqual([]);
  });

  it("ends work at its fence when the hub is out of reach, and moves the fence with each renewal", async () => {
    const bench = new Bench();
    const agent = await bench.life([ask]);
    bench.hub.send(dispatch("ask", QUESTION, { fence_after_s: 13 }));
    await bench.question(agent);
    bench.time.pass(6);
    const alive = await bench.hub.until((hub) => hub.heard.findLast((f) => f.t === "alive" && f.running.length > 0));
    if (alive.t !== "alive") throw new Error("not an alive");
    bench.hub.send({ t: "renew", granted: alive.running, sent_ms: alive.sent_ms });
    bench.hub.send({ t: "ping", at_ms: 1 });
    await bench.hub.until((hub) => hub.heard.find((frame) => frame.t === "pong"));
    bench.time.pass(9);
    expect(agent.view().questions).toHaveLength(1);
    bench.time.pass(8);
    expect(await bench.hub.result()).toMatchObject({ outcome: "interrupted", code: "fenced", effect: "none" });
  });

  it("times out by its own clock", async () => {
    const bench = new Bench();
    const agent = await bench.life([ask]);
    bench.hub.send(dispatch("ask", QUESTION, { start_to_close_s: 6 }));
    await bench.question(agent);
    bench.time.pass(7);
    expect(await bench.hub.result()).toMatchObject({ outcome: "timeout", code: "timed_out", effect: "none" });
  });

  it("gives everything back when the owner forgets the hub, and has the hub let it go", async () => {
    const asked: [string, unknown][] = [];
    const request: typeof fetch = async (path, init) => {
      asked.push([String(path), init?.body]);
      const answer = { left: true, name: "phone" };
      return Response.json({ answer, signature: signedLeave(JSON.parse(String(init?.body)), answer) });
    };
    const bench = new Bench({ request });
    const agent = await bench.life([ask]);
    bench.hub.send(dispatch("ask", QUESTION));
    await bench.question(agent);
    await agent.leave();
    expect(await bench.hub.result()).toMatchObject({ outcome: "interrupted", effect: "none" });
    await bench.hub.until((hub) => hub.heard.find((frame) => frame.t === "bye"));
    const [path, body] = asked[0] ?? [];
    const said = JSON.parse(String(body));
    expect([path, asked.length]).toEqual(["/agent/leave", 1]);
    const identity = await loadOrMake(await bench.store());
    expect(said.device).toBe(identity.device);
    const signed = leaveRequest({ device: identity.device, hub: HUB_KEY, nonce: said.nonce });
    expect(said.nonce).toMatch(/^[0-9a-f]{64}$/);
    expect(signedBy(identity.key, said.signature, signed)).toBe(true);
  });

  it("believes no answer that its hub has not signed for this request", async () => {
    const left = { left: true, name: "phone" };
    const other = new Uint8Array(32).fill(7);
    const lies: ((asked: { device: string; nonce: string }) => unknown)[] = [
      () => ({}),
      () => ({ answer: left }),
      () => ({ answer: left, signature: "" }),
      (asked) => ({ answer: left, signature: signedLeave(asked, left, other) }),
      (asked) => ({ answer: left, signature: signedLeave({ ...asked, nonce: "0" }, left) }),
      (asked) => ({ answer: left, signature: signedLeave(asked, { ...left, left: false }) }),
    ];
    for (const lie of lies) {
      const bench = new Bench({ request: async (_, init) => Response.json(lie(JSON.parse(String(init?.body)))) });
      const agent = await bench.life([]);
      await expect(agent.leave()).rejects.toThrow("is not the hub that this tab has joined");
    }
  });

  it("says that the hub has not heard of it", async () => {
    const bench = new Bench();
    const agent = await bench.life([]);
    await expect(agent.leave()).rejects.toThrow("the hub does not answer");
  });
});

describe("a device that is revoked", () => {
  it("gives nothing more of what it was handed, nor after a reload", async () => {
    const saved: string[] = [];
    const bench = new Bench();
    const save = made("save", (call) => {
      call.show("Lock", "the code is 4711");
      const act = async () => {
        await call.touch();
        saved.push("oma.jpg");
      };
      return call.step("saved", () => call.ask({ kind: "tap", text: "Save oma.jpg", button: "Save", act }));
    });
    const agent = await bench.life([{ ...save, resumes: true }]);
    bench.hub.send(dispatch("save", {}));
    const { question } = await bench.question(agent);
    const store = await bench.store();
    await store.write([{ table: "steps", key: "c-1/t/1.1 picked", value: { value: "oma.jpg" } }]);
    expect(agent.view().notices).toHaveLength(1);

    bench.hub.send({ t: "error", code: "device_revoked", reason: "phone was revoked on this hub" });
    await until(async () => agent.view().link.state === "stopped" && (await store.all("attempts")).length === 0);
    expect(agent.view()).toMatchObject({ questions: [], notices: [], running: [], recent: [], trouble: "" });
    if (question.kind !== "tap") throw new Error("not a tap");
    await expect(question.act()).rejects.toThrow("removed");
    expect(saved).toEqual([]);
    for (const table of ["steps", "reports", "decisions"] as const) expect(await store.all(table)).toEqual([]);

    bench.kill(agent);
    const later = await bench.life([{ ...save, resumes: true }]);
    expect(later.view()).toMatchObject({ questions: [], recent: [] });
  });
});

describe("the hub", () => {
  it("hears of a clock that is off, and of no other", async () => {
    const bench = new Bench();
    const clocks = () =>
      bench.hub.heard.filter((frame) => frame.t === "condition").map((frame) => frame.facts.clock ?? "");
    bench.hub.timeMs = Math.round((bench.time.now - 3600) * 1000);
    const agent = await bench.life([]);
    await until(async () => clocks().length > 0);
    bench.kill(agent);
    bench.hub.timeMs = Math.round((bench.time.now - 30) * 1000);
    await bench.life([]);
    await until(async () => clocks().length > 1);
    expect(clocks()).toEqual(["3600", ""]);
  });

  it("tells a new name of the device, which the page shows", async () => {
    const bench = new Bench();
    const agent = await bench.life([]);
    expect(agent.view().name).toBe("phone");
    bench.hub.send({ t: "name", name: "pocket" });
    await until(async () => agent.view().name === "pocket");
  });

  it("that has another key is not spoken to", async () => {
    const bench = new Bench({ hub: { key: "b3RoZXI", name: "phone" } });
    const life = bench.life([]);
    const agent = await Promise.race([life, left(bench)]);
    expect(agent).toBe("left");
  });

  it("that names the right key and signs with another is left before the tab proves its own", async () => {
    const bench = new Bench();
    bench.hub.secret = new Uint8Array(32).fill(1);
    const agent = await Promise.race([bench.life([]), left(bench)]);
    expect(agent).toBe("left");
    expect(bench.hub.proved).toBe(0);
  });

  it("asks later for facts, for states, and is answered", async () => {
    const bench = new Bench();
    await bench.life([made("now", async () => ({ deep: [1, 2] }))]);
    bench.hub.send(dispatch("now", {}));
    await bench.hub.result();
    bench.hub.send({ t: "fetch_facts", at: lease("t"), wants: ["/deep"] });
    bench.hub.send({ t: "fetch_facts", at: lease("never"), wants: ["/deep"] });
    bench.hub.send({ t: "query", attempts: [lease("t"), lease("never")] });
    const ledger = await bench.hub.until((hub) => hub.heard.find((frame) => frame.t === "ledger"));
    expect(ledger).toMatchObject({ entries: [{ state: "finished" }, { state: "unknown" }] });
    const facts = bench.hub.heard.filter((frame) => frame.t === "facts");
    expect(facts).toMatchObject([{ facts: { "/deep": "[1,2]" }, kept: true }, { kept: false }]);
  });
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function until(question: () => Promise<boolean>): Promise<void> {
  while (!(await question())) await turn();
}

async function left(bench: Bench): Promise<"left"> {
  while (bench.hub.connections === 0) await turn();
  for (let count = 0; count < 200; count += 1) await turn();
  expect(bench.hub.heard).toEqual([]);
  return "left";
}
