import { describe, expect, it } from "vitest";
import { type Steps, whole } from "../model/stream/steps.ts";
import { StreamModel } from "../model/stream/stream.ts";
import { LiveLink, type Sink, type Socket } from "./live.ts";

interface Rig {
  link: LiveLink;
  /** The times at which the page was to start over. */
  others: number[];
  sent: unknown[];
  sockets: Socket[];
  say: (frame: unknown) => void;
  cut: (reason?: string) => void;
  /** Runs the timers that are due within `ms`. */
  pass: (ms: number) => Promise<void>;
}

interface RigOptions {
  ticket?: (signal: AbortSignal) => Promise<string>;
  slices?: (steps: Steps, then: () => void) => void;
  nextFrame?: (run: () => void) => void;
  timersMs?: number;
}

const atOnce = (steps: Steps, then: () => void) => {
  whole(steps);
  then();
};

function rig(options: RigOptions = {}): Rig {
  const { ticket = async () => "t1", slices = atOnce, nextFrame = (run) => run(), timersMs = 1 } = options;
  let now = 1000;
  let timers: { at: number; run: () => void }[] = [];
  const sent: unknown[] = [];
  const sockets: Socket[] = [];
  const others: number[] = [];
  const link = new LiveLink({
    onOtherHistory: () => others.push(now),
    clearTimer: (timer) => {
      timers = timers.filter((one) => one !== timer);
    },
    nextFrame,
    now: () => now,
    open: () => {
      const socket: Socket = {
        close: () => {},
        onclose: null,
        onmessage: null,
        onopen: null,
        send: (text) => sent.push(JSON.parse(String(text))),
      };
      sockets.push(socket);
      return socket;
    },
    random: () => 0.5,
    slices,
    setTimer: (run, ms) => {
      const timer = { at: Math.ceil((now + ms) / timersMs) * timersMs, run };
      timers.push(timer);
      return timer;
    },
    ticket,
  });
  const last = () => sockets[sockets.length - 1];
  return {
    cut: (reason = "") => last()?.onclose?.({ code: 1006, reason } as CloseEvent),
    link,
    others,
    pass: async (ms) => {
      const until = now + ms;
      for (;;) {
        const due = timers.filter((one) => one.at <= until).sort((a, b) => a.at - b.at)[0];
        if (!due) break;
        timers = timers.filter((one) => one !== due);
        now = due.at;
        due.run();
        await Promise.resolve();
        await Promise.resolve();
      }
      now = until;
    },
    say: (frame) => last()?.onmessage?.({ data: JSON.stringify(frame) } as MessageEvent),
    sent,
    sockets,
  };
}

function sinkOf(model: StreamModel): Sink {
  return {
    afterSeq: () => (model.ready ? model.seq : -1),
    beside: (items) => model.readBeside(items),
    events: (events) => model.readEvents(events),
    missing: (reason, unknown) => model.readMissing(reason, unknown),
    snapshot: (frame) => model.snapshotSteps(frame),
  };
}

const event = (seq: number) => ({ at_ms: 1, by: "engine", kind: "k", puts: { head: { seq } }, seq, stream: "c1" });
const snapshot = (seq: number) => ({ entities: { head: { seq } }, hash: "", seq, stream: "c1", t: "snapshot" });

async function live(held: Rig, model: StreamModel): Promise<void> {
  held.link.subscribe("c1", sinkOf(model));
  held.link.start();
  await held.pass(0);
  await Promise.resolve();
  held.sockets[held.sockets.length - 1]?.onopen?.({} as Event);
  held.say({ now_ms: 5000, protocol: 1, t: "ready" });
}

/** A line that is live, with the stream of one constellation. */
async function shown(timersMs?: number): Promise<{ held: Rig; model: StreamModel }> {
  const [held, model] = [rig({ timersMs }), new StreamModel("c1")];
  await live(held, model);
  return { held, model };
}

describe("LiveLink", () => {
  it("sends the ticket first, then asks for a snapshot, and is live when it came", async () => {
    const { held, model } = await shown();
    expect(held.sent).toEqual([
      { t: "ticket", ticket: "t1" },
      { after_seq: -1, parts: true, stream: "c1", t: "subscribe" },
    ]);
    expect(held.link.status.state).toBe("catching_up");
    held.say(snapshot(7));
    expect(held.link.status.state).toBe("live");
    expect(held.link.offsetMs).toBe(4000);
    expect(model.seq).toBe(7);
  });

  it("starts over when the hub comes back with another history, and not when it was only restarted", async () => {
    const held = rig();
    const model = new StreamModel("c1");
    held.link.subscribe("c1", sinkOf(model));
    held.link.start();
    const ready = async (history: string) => {
      await held.pass(5000);
      held.sockets[held.sockets.length - 1]?.onopen?.({} as Event);
      held.say({ history, now_ms: 5000, protocol: 1, t: "ready" });
    };
    await ready("h-1");
    held.say(snapshot(7));
    held.cut();
    await ready("h-1");
    expect(held.sent.at(-1)).toEqual({ after_seq: 7, parts: true, stream: "c1", t: "subscribe" });
    expect(held.others).toHaveLength(0);
    held.cut();
    const asked = held.sent.length;
    await ready("h-2");
    expect(held.others).toHaveLength(1);
    expect(held.sent.slice(asked)).toEqual([{ t: "ticket", ticket: "t1" }]);
  });

  it("starts over from what a tab last knew of another history", async () => {
    const held = rig();
    held.link.beginOffline(0, 0, "h-1");
    held.link.start();
    await held.pass(0);
    await Promise.resolve();
    held.say({ history: "h-2", now_ms: 5000, protocol: 1, t: "ready" });
    expect(held.others).toHaveLength(1);
  });

  it("tells a stream once of a burst, however many messages it came in, and of nothing that is not its own", async () => {
    let draw = () => {};
    const held = rig({
      nextFrame: (run) => {
        draw = run;
      },
    });
    const model = new StreamModel("c1");
    await live(held, model);
    draw();
    held.say(snapshot(7));
    draw();
    let told = 0;
    model.subscribe(() => {
      told += 1;
    });
    for (let seq = 8; seq < 40; seq += 1) {
      held.say({ events: [event(seq)], t: "events" });
      held.say({ items: [{ about: "tasks", kind: "changed", stream: "c1", value: null }], t: "beside" });
    }
    draw();
    expect([model.seq, told]).toEqual([39, 1]);
  });

  it("is live when the last part of a snapshot is here, and shows none of them before", async () => {
    const { held, model } = await shown();
    held.say({ ...snapshot(7), entities: { "task/a": { at: 1 } }, part: 0, parts: 2 });
    expect([held.link.status.state, model.ready, model.one("task/a")]).toEqual(["catching_up", false, undefined]);
    held.say({ ...snapshot(7), part: 1, parts: 2 });
    expect([held.link.status.state, model.seq]).toEqual(["live", 7]);
    expect([...model.entities()].map(([key]) => key)).toEqual(["task/a", "head"]);
  });

  it("takes what came while a snapshot is read after it, and keeps what was there until then", async () => {
    const paused: (() => void)[] = [];
    const held = rig({ slices: (steps, then) => void paused.push(() => atOnce(steps, then)) });
    const model = new StreamModel("c1");
    model.readSnapshot({ entities: { head: { seq: 1 } }, seq: 1 });
    await live(held, model);
    held.say(snapshot(7));
    held.say({ events: [event(8)], t: "events" });
    expect(model.one("head")).toEqual({ seq: 1 });
    paused.shift()?.();
    expect(model.one("head")).toEqual({ seq: 8 });
    expect(paused).toEqual([]);
    held.say({ events: [event(9)], t: "events" });
    expect(model.seq).toBe(9);
  });

  it("comes back by itself and resumes by number, without clearing anything", async () => {
    const { held, model } = await shown();
    held.say(snapshot(7));
    held.say({ events: [event(8)], t: "events" });
    held.cut("the hub stops");
    expect(held.link.status).toMatchObject({ reason: "the hub stops", state: "offline" });
    expect(model.one("head")).toEqual({ seq: 8 });
    await held.pass(1000);
    expect(held.sockets).toHaveLength(2);
    held.sockets[1]?.onopen?.({} as Event);
    held.say({ now_ms: 5000, protocol: 1, t: "ready" });
    expect(held.sent.at(-1)).toEqual({ after_seq: 8, parts: true, stream: "c1", t: "subscribe" });
    held.say({ events: [event(8), event(9)], t: "events" });
    expect(model.seq).toBe(9);
    expect(held.link.status.state).toBe("live");
  });

  it("asks again from where it stands at a gap", async () => {
    const { held } = await shown();
    held.say(snapshot(7));
    held.say({ events: [event(9)], t: "events" });
    expect(held.sent.at(-1)).toEqual({ after_seq: 7, parts: true, stream: "c1", t: "subscribe" });
  });

  it("asks for a snapshot at a resync", async () => {
    const { held } = await shown();
    held.say(snapshot(7));
    held.say({ reason: "overflow", stream: "c1", t: "resync" });
    expect(held.sent.at(-1)).toEqual({ after_seq: -1, parts: true, stream: "c1", t: "subscribe" });
  });

  it("asks again for a snapshot that the hub could not send, also where an older state is shown", async () => {
    const { held, model } = await shown();
    held.say(snapshot(7));
    held.say({ reason: "too slow", stream: "c1", t: "resync" });
    held.say({ reason: "too slow", stream: "c1", t: "resync" });
    const before = held.sent.length;
    await held.pass(3000);
    expect(held.sent.slice(before)).toEqual([{ after_seq: -1, parts: true, stream: "c1", t: "subscribe" }]);
    held.say(snapshot(9));
    await held.pass(3000);
    expect([model.seq, held.sent.length]).toEqual([9, before + 1]);
  });

  it("does not turn in a circle when there is no such stream", async () => {
    const { held, model } = await shown();
    const before = held.sent.length;
    held.say({ reason: "it is not here", stream: "c1", t: "resync", unknown: true });
    expect(held.sent).toHaveLength(before);
    expect([model.absent, model.unknown]).toEqual(["it is not here", true]);
    expect(held.link.status.state).toBe("live");
    await held.pass(3000);
    expect(held.sent).toHaveLength(before + 1);
  });

  it("waits longer after each failed try, at most some seconds", async () => {
    const tries: number[] = [];
    let time = 0;
    const held = rig({
      ticket: async () => {
        tries.push(time);
        throw new Error("no hub");
      },
    });
    held.link.start();
    for (; time < 20_000; time += 100) await held.pass(100);
    const waits = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    expect(waits[0]).toBeLessThan(400);
    expect(Math.max(...waits)).toBeLessThanOrEqual(4100);
    expect(held.link.status).toMatchObject({ reason: "no hub", state: "offline" });
  });

  it("drops a line that does not answer after a failed request", async () => {
    const { held } = await shown();
    held.say(snapshot(1));
    await held.pass(100);
    held.link.doubt();
    held.link.doubt();
    expect(held.sent.filter((frame) => (frame as { t: string }).t === "ping")).toHaveLength(1);
    await held.pass(1900);
    expect(held.link.status.state).toBe("live");
    await held.pass(100);
    expect(held.link.status).toMatchObject({ reason: "the hub does not answer", state: "offline" });
  });

  it("keeps a line that answers after a failed request", async () => {
    const { held } = await shown();
    held.say(snapshot(1));
    await held.pass(100);
    held.link.doubt();
    await held.pass(500);
    held.say({ t: "pong" });
    await held.pass(3000);
    expect(held.link.status.state).toBe("live");
    expect(held.sockets).toHaveLength(1);
  });

  it("drops a link that has gone silent", async () => {
    const { held } = await shown();
    held.say(snapshot(1));
    await held.pass(35_000);
    expect(held.sent).toContainEqual(expect.objectContaining({ t: "ping" }));
    expect(held.sockets.length).toBeGreaterThan(1);
  });

  it("asks again when the ticket does not come, and at once when the person wants it", async () => {
    const signals: AbortSignal[] = [];
    const held = rig({
      ticket: (signal) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    held.link.start();
    await held.pass(9_000);
    expect(signals).toHaveLength(1);
    await held.pass(2_000);
    expect(held.link.status).toMatchObject({ reason: "the hub does not answer", state: "offline" });
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    held.link.retryNow();
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true, false]);
  });

  it("takes no ticket that comes after another one was asked for", async () => {
    const tickets: ((ticket: string) => void)[] = [];
    const held = rig({ ticket: () => new Promise((done) => tickets.push(done)) });
    held.link.start();
    held.link.retryNow();
    tickets[0]?.("old");
    await held.pass(0);
    expect(held.sockets).toHaveLength(0);
    tickets[1]?.("new");
    await held.pass(0);
    expect(held.sockets).toHaveLength(1);
  });

  it("tries another socket at once where one hangs", async () => {
    const held = rig();
    held.link.start();
    await held.pass(1_000);
    held.link.retryNow();
    await held.pass(0);
    expect(held.sockets).toHaveLength(2);
  });

  it("keeps a line that answers on a page whose timers run once a minute", async () => {
    const { held } = await shown(60_000);
    held.say(snapshot(1));
    for (let minute = 0; minute < 6; minute += 1) {
      const asked = held.sent.length;
      await held.pass(60_000);
      if (held.sent.length > asked) held.say({ t: "pong" });
    }
    expect(held.sockets).toHaveLength(1);
    await held.pass(180_000);
    expect(held.sockets.length).toBeGreaterThan(1);
  });
});
