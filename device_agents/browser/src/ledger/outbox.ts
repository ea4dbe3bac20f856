/**
 * The reports that the hub has not made durable yet, in the order of their numbers, whatever the connection does.
 *
 * Reports of `pure` work are kept here only; all others are in the ledger as well and leave once `mayLeave` says that
 * it was flushed. Numbers rise for the life of the ledger.
 */
import { leaseKey } from "../agent/core.ts";
import type { LeaseRef, Receipt, ReportFrame, ResultFrame } from "../generated/protocol.ts";
import { utf8Length } from "../protocol/values.ts";
import type { Ledger } from "./ledger.ts";

const BATCH_BYTES = 512 * 1024;
const BATCH_FRAMES = 1_000;

/** How many bytes a report takes in a message; one character may take six bytes. */
function weight(report: ReportFrame): number {
  return utf8Length(JSON.stringify(report)) + 1;
}

export class Outbox {
  readonly pending = new Map<number, ReportFrame>();
  readonly #ledger: Ledger;
  #sentUpTo = 0;
  #leaveUpTo: number;
  #again: number[] = [];

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    for (const report of ledger.reports()) this.pending.set(report.report, report);
    this.#leaveUpTo = ledger.nextReport - 1;
  }

  /** Number a report and keep it; `durable` ones survive the tab once the ledger is flushed. */
  add<T extends ReportFrame>(make: (number: number) => T, terms: { durable: boolean }): T {
    const report = make(this.#ledger.takeNumber());
    this.pending.set(report.report, report);
    if (terms.durable) this.#ledger.keep(report);
    return report;
  }

  /** The number of the newest report, sent or not. */
  get newest(): number {
    return this.#ledger.nextReport - 1;
  }

  /** Everything up to this number is on disk as far as it has to be. */
  mayLeave(upTo: number): void {
    this.#leaveUpTo = Math.max(this.#leaveUpTo, upTo);
  }

  /** Begin a connection whose hub has everything up to `received`; false if that cannot be this ledger. */
  connected(received: number): boolean {
    this.#again = [];
    this.#sentUpTo = 0;
    if (received >= this.#ledger.nextReport) return false;
    this.acknowledged(received);
    return true;
  }

  /** The hub has everything up to this number in its durable log: forget it. */
  acknowledged(durable: number): void {
    let gone = false;
    for (const number of this.pending.keys()) {
      if (number > durable) break;
      this.pending.delete(number);
      gone = true;
    }
    if (gone) this.#ledger.dropReports(durable);
  }

  /** The last report of an attempt, if it is still pending. */
  endOf(at: LeaseRef): ResultFrame | Receipt | null {
    const key = leaseKey(at);
    let newest: ResultFrame | Receipt | null = null;
    for (const report of this.pending.values()) {
      if ((report.t === "result" || report.t === "receipt") && leaseKey(report.at) === key) newest = report;
    }
    return newest;
  }

  /** Send a pending report once more on this connection. */
  sendAgain(number: number): void {
    if (number <= this.#sentUpTo && !this.#again.includes(number)) this.#again.push(number);
  }

  /** The next batch to send; it counts as sent on this connection. */
  unsent(): ReportFrame[] {
    const batch: ReportFrame[] = [];
    let room = BATCH_BYTES;
    const fits = (report: ReportFrame): boolean => {
      const cost = weight(report);
      if (batch.length > 0 && (cost > room || batch.length >= BATCH_FRAMES)) return false;
      batch.push(report);
      room -= cost;
      return true;
    };
    while (this.#again.length > 0) {
      const report = this.pending.get(this.#again[0] ?? 0);
      if (report !== undefined && !fits(report)) return batch;
      this.#again.shift();
    }
    for (const [number, report] of this.pending) {
      if (number <= this.#sentUpTo) continue;
      if (number > this.#leaveUpTo || !fits(report)) break;
      this.#sentUpTo = number;
    }
    return batch;
  }
}
