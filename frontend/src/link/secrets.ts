/** The calls of secrets. A value goes one way: no answer ever holds one. Their types are those of the contract. */
import type { BodyOf, Rest } from "./rest.ts";

export const SECRET_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

export class Secrets {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  list = (signal?: AbortSignal) => this.rest.get("/secrets", { signal });
  /** A field that is left out stays as it was. */
  set = (name: string, body: BodyOf<"put", "/secrets/{name}">) =>
    this.rest.put("/secrets/{name}", { path: { name }, body });
  remove = (name: string) => this.rest.delete("/secrets/{name}", { path: { name } });
}
