/**
 * The sans-I/O session of AIP, both sides: order of the handshake, numbering, which frame may come when.
 *
 *     agent hello -> hub challenge -> agent prove -> hub welcome | refuse -> open
 *
 * The twin of `starloom_protocol.wire.session`, held to it by the same golden scripts. Owns no socket or clock. A new
 * connection needs a new session; a refused or broken one is `closed`. From `secure` on every message is sealed.
 */
import { FRAMES_SINCE, PROTOCOL_VERSIONS, SESSION_TABLE, type Side, type State } from "../generated/protocol.ts";
import { type ChannelKeys, seal, unseal } from "./channel.ts";
import { decode, encode, type Frame, NEWEST } from "./codec.ts";
import { ProtocolFault } from "./faults.ts";

export class Session {
  readonly side: Side;
  state: State = "await_hello";
  version: number;
  closedBecause: string | null = null;
  readonly #versions: readonly number[];
  #sent = 0;
  #received = 0;
  #farewellSent = false;
  #welcomed = false;
  #sealBy: Uint8Array | null = null;
  #unsealBy: Uint8Array | null = null;

  constructor(side: Side, versions: readonly number[] = PROTOCOL_VERSIONS) {
    this.side = side;
    this.#versions = versions;
    this.version = versions[versions.length - 1] ?? NEWEST;
  }

  /** True once messages are sealed: what the peer says is its own. */
  get secured(): boolean {
    return this.#unsealBy !== null;
  }

  /** Seal all that is sent from now on, and take nothing without the peer's seal. */
  secure(keys: ChannelKeys): void {
    const hub = this.side === "hub";
    this.#sealBy = hub ? keys.hub : keys.agent;
    this.#unsealBy = hub ? keys.agent : keys.hub;
  }

  /** True once the hub has welcomed the agent: the larger limits hold. */
  get authenticated(): boolean {
    return this.state === "open";
  }

  /**
   * Number and encode a batch of frames, and move on as if the peer had it.
   * @throws ProtocolFault for a frame that is not legal here or a batch above the limit; nothing is changed.
   */
  send(frames: readonly Frame[]): string {
    const [state, version] = this.#walk(this.side, frames);
    // A batch that opens the session is read by a peer that still waits: the small limit holds for it.
    const text = encode(this.#sent + 1, frames, this.side, { authenticated: this.authenticated, version });
    this.#sent += 1;
    this.#arrive(state, version, frames);
    return this.#sealed(text);
  }

  /**
   * The frames of the peer's message; a duplicate, or anything after the end, gives none.
   * @throws ProtocolFault for text, numbers or frames that are not legal here; the session is closed by it.
   */
  receive(text: string): Frame[] {
    if (this.state === "closed") return [];
    try {
      const message = decode(this.#unsealed(text), other(this.side), { authenticated: this.authenticated });
      if (message.n <= this.#received) return [];
      const missing = message.n - this.#received - 1;
      if (missing > 0) {
        throw fault(`message ${message.n} came after ${this.#received}: ${missing} are missing`);
      }
      const [state, version] = this.#walk(other(this.side), message.f);
      this.#received = message.n;
      this.#arrive(state, version, message.f);
      return message.f;
    } catch (error) {
      this.close(String(error));
      throw error;
    }
  }

  /** End the session on this side; the first reason stays. */
  close(reason: string): void {
    this.closedBecause ??= reason;
    this.state = "closed";
  }

  /**
   * The last message, which tells the peer the fault; closes. A hub that has not welcomed the agent yet refuses.
   * @throws ProtocolFault if the last word was said already.
   */
  farewell(found: ProtocolFault): string {
    if (this.#farewellSent) throw fault("the session has said its last word already");
    const reason = found.reason.slice(0, 1000);
    const last: Frame =
      this.side === "hub" && !this.#welcomed
        ? { t: "refuse", code: found.code, fix: found.fix, reason }
        : { t: "error", code: found.code, reason };
    const terms = { authenticated: this.#welcomed, version: this.version };
    const text = encode(this.#sent + 1, [last], this.side, terms);
    this.#sent += 1;
    this.#farewellSent = true;
    this.close(String(found));
    return this.#sealed(text);
  }

  #sealed(text: string): string {
    return this.#sealBy === null ? text : seal(this.#sealBy, text);
  }

  #unsealed(message: string): string {
    const text = this.#unsealBy === null ? message : unseal(this.#unsealBy, message);
    if (text === null) {
      throw fault(`a message does not carry the seal of the ${other(this.side)}: something stands between`);
    }
    return text;
  }

  /** State and version after these frames, without changing anything. */
  #walk(sender: Side, frames: readonly Frame[]): [State, number] {
    let { state, version } = this;
    for (const frame of frames) {
      const after = SESSION_TABLE[sender][frame.t]?.[state] ?? null;
      if (after === null) throw fault(`the ${sender} may not send \`${frame.t}\` in state ${state}`);
      if ((FRAMES_SINCE[frame.t] ?? 1) > version) throw fault(`\`${frame.t}\` does not belong to AIP ${version}`);
      if (frame.t === "hello" && this.side === "hub") version = negotiate(frame.versions, this.#versions);
      else if (frame.t === "challenge") version = this.#agreed(frame.version);
      state = after;
    }
    return [state, version];
  }

  #agreed(version: number): number {
    if (this.side === "hub" && version !== this.version) {
      throw fault(`version ${this.version} was agreed, the challenge names ${version}`);
    }
    if (!this.#versions.includes(version)) throw fault(`the hub chose AIP ${version}, which this agent did not offer`);
    return version;
  }

  #arrive(state: State, version: number, frames: readonly Frame[]): void {
    this.version = version;
    this.#welcomed ||= state === "open";
    this.state = state;
    if (state === "closed") {
      const last = frames[frames.length - 1];
      this.#farewellSent = true;
      this.close(last !== undefined && "reason" in last ? (last.reason ?? "") : "");
    }
  }
}

/**
 * The highest version that the agent offers and the hub supports.
 * @throws ProtocolFault `agent_too_old` or `hub_too_old` naming the older side; `protocol_error` for an empty offer.
 */
function negotiate(offered: readonly number[], supported: readonly number[] = PROTOCOL_VERSIONS): number {
  const common = offered.filter((version) => supported.includes(version));
  if (common.length > 0) return Math.max(...common);
  if (offered.length === 0) throw fault("the agent offers no protocol version");
  const spoken = listed(supported);
  if (Math.max(...offered) > Math.max(...supported)) {
    const reason = `the agent speaks AIP ${listed(offered)}, this hub only ${spoken}: the hub is too old`;
    throw new ProtocolFault("hub_too_old", reason);
  }
  const reason = `the agent speaks AIP ${listed(offered)}, this hub needs ${spoken}: the agent is too old`;
  throw new ProtocolFault("agent_too_old", reason);
}

function listed(versions: readonly number[]): string {
  return [...new Set(versions)]
    .sort((a, b) => a - b)
    .slice(0, 8)
    .join(", ");
}

function other(side: Side): Side {
  return side === "hub" ? "agent" : "hub";
}

function fault(reason: string): ProtocolFault {
  return new ProtocolFault("protocol_error", reason);
}
