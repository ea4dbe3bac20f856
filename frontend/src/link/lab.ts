/** The calls of the lab, there only where the hub was started with it. Their types are those of the contract. */
import type { NewFault } from "../model/types.ts";
import type { Rest } from "./rest.ts";

export class Lab {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  faults = (signal?: AbortSignal) => this.rest.get("/lab/faults", { signal });
  fault = (id: string, signal?: AbortSignal) => this.rest.get("/lab/faults/{fault}", { path: { fault: id }, signal });
  wound = (body: NewFault) => this.rest.create("/lab/faults", { body });
  heal = (id: string) => this.rest.delete("/lab/faults/{fault}", { path: { fault: id } });

  scenarios = (signal?: AbortSignal) => this.rest.get("/lab/scenarios", { signal });
  start = (scenario: string) => this.rest.create("/lab/scenarios/{scenario}/runs", { path: { scenario }, body: {} });
  run = (scenario: string, run: string, signal?: AbortSignal) =>
    this.rest.get("/lab/scenarios/{scenario}/runs/{run}", { path: { scenario, run }, signal });
  stop = (scenario: string, run: string) =>
    this.rest.delete("/lab/scenarios/{scenario}/runs/{run}", { path: { scenario, run } });
}
