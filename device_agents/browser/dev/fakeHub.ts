/** A hub as an agent's tests need one: the real session on the other end of a socket in memory, and what it heard. */
import { ed25519 } from "@noble/curves/ed25519.js";
import type { Socket } from "../src/agent/connection.ts";
import type { AgentFrame, Dispatch, Hello, HubFrame, LeaseRef, ResultFrame } from "../src/generated/protocol.ts";
import { channelKeys, deviceProof, hubProof, KeyShare, transcript } from "../src/protocol/channel.ts";
import type { Frame } from "../src/protocol/codec.ts";
import { fromBase64, leaveAnswer, toBase64 } from "../src/protocol/proof.ts";
import { Session } from "../src/protocol/session.ts";

const SECRET = new Uint8Array(32).fill(9);
export const HUB_KEY = toBase64(ed25519.getPublicKey(SECRET));

/** The hub's signature of its answer to a request to leave, by its own key or another one. */
export function signedLeave(asked: { device: string; nonce: string }, answer: unknown, secret = SECRET): string {
  const { device, nonce } = asked;
  return toBase64(ed25519.sign(leaveAnswer({ answer, device, hub: HUB_KEY, nonce }), secret));
}

export function lease(task: string, attempt = 1, incarnation = 1): LeaseRef {
  return { attempt, constellation: "c-1", incarnation, task };
}

export function dispatch(tool: string, args: unknown, more: Partial<Dispatch> & { task?: string } = {}): Dispatch {
  const { task = "t", ...rest } = more;
  const nothing = { attempt_of_max: 1, fence_after_s: 0, files_out: [], inputs: [], secrets: {}, wants: [] };
  const text = JSON.stringify(args);
  const orders = { repeatability: "never", start_to_close_s: 600 };
  return { t: "dispatch", at: lease(task), tool, args: text, ...nothing, ...orders, ...rest };
}

export class FakeHub {
  /** Every frame after the welcome, over all connections. */
  readonly heard: AgentFrame[] = [];
  /** The highest report that `hello` may count on: set it to what this hub has durably. */
  durable = 0;
  connections = 0;
  /** The clock that its welcome tells; 0: it has none. */
  timeMs = 0;
  #session: Session | null = null;
  #socket: FakeSocket | null = null;
  /** What this hub signs with; another key makes it a false one. */
  secret = SECRET;
  /** How many proofs of a device it was given. */
  proved = 0;
  #proof = new Uint8Array();
  #listeners: (() => void)[] = [];

  readonly dial = (): Socket => {
    // What comes from a connection that was cut meanwhile is lost, as it is on a wire.
    const socket: FakeSocket = new FakeSocket((text) => this.#socket === socket && this.#receive(text));
    this.#socket = socket;
    this.#session = new Session("hub");
    this.connections += 1;
    queueMicrotask(() => socket.onopen?.());
    return socket;
  };

  send(...frames: HubFrame[]): void {
    const { session, socket } = this.#open();
    const text = session.send(frames);
    queueMicrotask(() => socket.onmessage?.({ data: text }));
  }

  /** The wire is cut: neither side was told. */
  cut(): void {
    const socket = this.#socket;
    this.#socket = null;
    queueMicrotask(() => socket?.onclose?.({}));
  }

  results(): ResultFrame[] {
    return this.heard.filter((frame): frame is ResultFrame => frame.t === "result");
  }

  /** Wait until something was heard that `wanted` finds. */
  async until<T>(wanted: (hub: FakeHub) => T | undefined | false | null): Promise<T> {
    for (;;) {
      const found = wanted(this);
      if (found) return found;
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }

  result(task = "t"): Promise<ResultFrame> {
    return this.until(() => this.results().find((frame) => frame.at.task === task));
  }

  #open(): { session: Session; socket: FakeSocket } {
    if (this.#session === null || this.#socket === null) throw new Error("nobody is connected");
    return { session: this.#session, socket: this.#socket };
  }

  #receive(text: string): void {
    const { session } = this.#open();
    for (const frame of session.receive(text) as Frame[]) {
      if (frame.t === "hello") {
        this.#challenge(frame);
      } else if (frame.t === "prove") {
        this.#welcome(frame.signature);
      } else {
        this.heard.push(frame as AgentFrame);
      }
    }
    for (const listener of this.#listeners.splice(0)) listener();
  }

  #hello: Hello | null = null;

  #challenge(hello: Hello): void {
    const { session } = this.#open();
    this.#hello = hello;
    const share = new KeyShare();
    const secret = share.secretWith(hello.key_share ?? "");
    if (secret === null) throw new Error("a hello without a key share");
    const nonce = `n${this.connections}`;
    const challenge = { t: "challenge", hub: HUB_KEY, key_share: share.text, nonce, version: session.version } as const;
    const said = transcript(hello, challenge);
    const signature = toBase64(ed25519.sign(hubProof(said), this.secret));
    this.#proof = deviceProof(said, signature);
    this.send({ ...challenge, signature });
    session.secure(channelKeys(secret, said));
  }

  #welcome(signature: string): void {
    this.proved += 1;
    const hello = this.#hello;
    if (hello === null) throw new Error("a proof without a hello");
    if (!ed25519.verify(fromBase64(signature), this.#proof, fromBase64(hello.key))) throw new Error("a wrong proof");
    this.send({
      t: "welcome",
      alive_interval_s: 5,
      device_name: "phone",
      hub_time_ms: this.timeMs,
      http_token: "token",
      lease_grace_s: 5,
      lease_ttl_s: 15,
      received: this.durable,
      session: this.connections,
    });
  }
}

class FakeSocket implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: object) => void) | null = null;
  readonly #receive: (text: string) => unknown;
  #open = true;

  constructor(receive: (text: string) => unknown) {
    this.#receive = receive;
  }

  send(text: string): void {
    if (this.#open) queueMicrotask(() => this.#receive(text));
  }

  close(): void {
    this.#open = false;
  }
}
