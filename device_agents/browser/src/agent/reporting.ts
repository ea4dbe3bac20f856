/**
 * Turns what became of attempts into numbered reports, in the outbox and - unless the work was pure - in the ledger.
 * Nothing of it may leave before the ledger's next flush; that is the agent's to see to.
 */
import type { EffectSeen, LeaseRef, Receipt, ResultFrame } from "../generated/protocol.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Outbox } from "../ledger/outbox.ts";
import type { CallEnd } from "./call.ts";

/** Say that an attempt begins. */
export function reportStart(outbox: Outbox, at: LeaseRef, terms: { durable: boolean }): void {
  outbox.add((report) => ({ t: "started", at, report }), terms);
}

/** Say how an attempt ended; a durable end is kept to answer a repeated dispatch. */
export function reportEnd(
  outbox: Outbox,
  ledger: Ledger,
  at: LeaseRef,
  end: CallEnd,
  terms: { durable: boolean; tail: string; tool: string },
): void {
  const { durable, tail, tool } = terms;
  const { stopped: _, ...said } = end;
  const result = outbox.add((report): ResultFrame => ({ t: "result", at, report, tail, ...said }), { durable });
  if (durable) ledger.finished(at, result, tool);
}

/** Say that a cancel is done. */
export function reportReceipt(
  outbox: Outbox,
  ledger: Ledger,
  at: LeaseRef,
  terms: { effect: EffectSeen; known: boolean; tool: string },
): void {
  const { effect, known, tool } = terms;
  const make = (report: number): Receipt => ({ t: "receipt", at, effect, known, report });
  ledger.finished(at, outbox.add(make, { durable: true }), tool);
}
