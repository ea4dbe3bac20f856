/** The endpoints of secrets. A value goes one way: no answer ever holds one. The hub's OpenAPI is the authority. */
import type { Rest } from "./rest.ts";

export interface SecretRow {
  name: string;
  version: number;
  created_at: string;
  set_at: string;
  set_by: string;
  last_used_at: string | null;
  /** Who may receive it; an empty list means any. */
  devices: { id: string; name: string }[];
  recipes: string[];
  tools: string[];
}

/** What is not named stays as it was. */
export interface NewValue {
  value: string;
  devices?: string[];
}

export const SECRET_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

const at = encodeURIComponent;

export class Secrets {
  readonly rest: Rest;

  constructor(rest: Rest) {
    this.rest = rest;
  }

  list = (signal?: AbortSignal) => this.rest.get<{ items: SecretRow[] }>("/secrets", signal);
  set = (name: string, body: NewValue) => this.rest.put<SecretRow>(`/secrets/${at(name)}`, body);
  remove = (name: string) => this.rest.delete<null>(`/secrets/${at(name)}`);
}
