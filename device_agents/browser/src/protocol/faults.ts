/** What a peer, or this side, did that the protocol does not allow; `code` is of the vocabulary. */
import { CODES, type Code } from "../generated/protocol.ts";

export class ProtocolFault extends Error {
  readonly code: Code;
  readonly reason: string;
  readonly fix: string;

  constructor(code: Code, reason: string, fix: string = CODES[code].hint) {
    super(`${code}: ${reason}`);
    this.code = code;
    this.reason = reason;
    this.fix = fix;
  }
}
