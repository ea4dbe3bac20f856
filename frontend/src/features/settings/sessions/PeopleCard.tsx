/** The people, programs and assistants of this hub with their roles, which an owner changes here. */
import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { RoleRow, TokenRow } from "../../../model/types.ts";
import { msOf } from "../../../model/words/times.ts";
import { age, plural } from "../../../model/words/words.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, ProblemNote } from "../../../ui/parts.tsx";
import { limits } from "./browsers.ts";

const ROLES = ["viewer", "approver", "operator", "owner"] as const;
type Role = RoleRow["role"];

export function PeopleCard() {
  const { hub } = useWorkspace();
  const people = useResource("people", (signal) => hub.people(signal));
  const tokens = useResource("tokens", () => hub.tokens());
  return (
    <section className="card" aria-label="People">
      <header>
        <h2>People</h2>
      </header>
      {people.problem && <ProblemNote problem={people.problem} />}
      {(people.value?.items ?? []).map((person) => (
        <Person key={person.id} person={person} tokens={tokens.value?.items ?? []} onChanged={people.reload} />
      ))}
    </section>
  );
}

/** What the good tokens and sessions of a person leave of the role; nothing where one of them has all of it. */
function limitsOf(person: RoleRow, tokens: readonly TokenRow[], now: number): string {
  const good = tokens.filter(
    ({ for: holder, revoked_at, expires_at }) =>
      holder?.name === person.name && !revoked_at && (!expires_at || msOf(expires_at) > now),
  );
  if (good.length === 0 || good.some(({ scopes }) => !scopes?.length)) return "";
  return limits([...new Set(good.flatMap(({ scopes }) => scopes))]);
}

interface PersonProps {
  person: RoleRow;
  tokens: readonly TokenRow[];
  onChanged: () => void;
}

function Person({ person, tokens, onChanged }: PersonProps) {
  const { hub, session } = useWorkspace();
  const { report, say } = useDoing();
  const now = useNow(10_000);
  const [asked, setAsked] = useState<Role | null>(null);
  const give = async (role: Role) => {
    setAsked(null);
    try {
      await hub.giveRole(person.name, role);
      say(`${person.name} is ${role} now`);
      onChanged();
    } catch (error) {
      report(error);
    }
  };
  const held = [
    person.sessions ? plural(person.sessions, "browser") : "",
    person.tokens ? plural(person.tokens, "token") : "",
  ].filter(Boolean);
  return (
    <div className="item">
      <span />
      <b className="strong cut">{person.name}</b>
      <span className="field">
        <select
          aria-label={`Role of ${person.name}`}
          value={person.role}
          disabled={session?.principal.id === person.id}
          onChange={(event) => setAsked(event.target.value as Role)}
        >
          {ROLES.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
      </span>
      <span className="sub small">
        {[
          session?.principal.id === person.id ? "you" : person.kind,
          limitsOf(person, tokens, now),
          held.length ? `signed in with ${held.join(" and ")}` : "not signed in",
          person.last_used_at ? `used ${age(msOf(person.last_used_at), now)}` : "",
        ]
          .filter(Boolean)
          .join(", ")}
      </span>
      {asked && (
        <Modal label={`Make ${person.name} ${asked}`} className="asking" onClose={() => setAsked(null)}>
          <h2 className="head">
            Make {person.name} {asked}?
          </h2>
          <p className="dim">
            Sign-ins and tokens with more rights end at once. Those with fewer rights stay as they are: for the new
            role, invite {person.name} again.
          </p>
          <div className="row">
            <Button large onClick={() => setAsked(null)}>
              Keep {person.role}
            </Button>
            <Button large asks="access" kind="primary" onClick={() => void give(asked)}>
              Make {person.name} {asked}
            </Button>
          </div>
        </Modal>
      )}
    </div>
  );
}
