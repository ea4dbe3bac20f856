/** The people, programs and assistants of this hub with their roles; an owner gives others here, and ends all of one. */
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
        <Person
          key={person.id}
          person={person}
          tokens={tokens.value?.items ?? []}
          onChanged={() => {
            people.reload();
            tokens.reload();
          }}
        />
      ))}
    </section>
  );
}

/** The sessions, tokens and invitations that let a person in now. */
const goodOf = (person: RoleRow, tokens: readonly TokenRow[], now: number): TokenRow[] =>
  tokens.filter(
    ({ for: holder, revoked_at, expires_at }) =>
      holder?.name === person.name && !revoked_at && (!expires_at || msOf(expires_at) > now),
  );

/** What these leave of the role; nothing where one of them has all of it. */
function limitsOf(good: readonly TokenRow[]): string {
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
  const good = goodOf(person, tokens, now);
  const own = session?.principal.id === person.id;
  const [removing, setRemoving] = useState(false);
  const remove = async () => {
    setRemoving(false);
    try {
      // The end of one of them may end the session of this page.
      for (const { id } of good.toSorted((one, other) => Number(one.ends_asker) - Number(other.ends_asker)))
        await hub.revokeToken(id);
      say(`${person.name} is removed`);
    } catch (error) {
      report(error);
    }
    onChanged();
  };
  const held = [
    person.sessions ? plural(person.sessions, "browser") : "",
    person.tokens ? plural(person.tokens, "token") : "",
  ].filter(Boolean);
  return (
    <div className="item">
      <span />
      <b className="strong cut">{person.name}</b>
      <span className="row">
        <span className="field">
          <select
            aria-label={`Role of ${person.name}`}
            value={person.role}
            disabled={own}
            onChange={(event) => setAsked(event.target.value as Role)}
          >
            {ROLES.map((role) => (
              <option key={role}>{role}</option>
            ))}
          </select>
        </span>
        {!own && good.length > 0 && (
          <Button asks="access" aria-label={`Remove ${person.name}`} onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )}
      </span>
      <span className="sub small">
        {[
          own ? "you" : person.kind,
          limitsOf(good),
          held.length
            ? `signed in with ${held.join(" and ")}`
            : person.revoked_at
              ? `removed ${age(msOf(person.revoked_at), now)}`
              : "not signed in",
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
      {removing && (
        <RemoveDialog name={person.name} good={good} onKeep={() => setRemoving(false)} onRemove={() => void remove()} />
      )}
    </div>
  );
}

interface RemoveDialogProps {
  name: string;
  good: readonly TokenRow[];
  onKeep: () => void;
  onRemove: () => void;
}

/** Asks before a person is removed, with all that ends then. */
function RemoveDialog({ name, good, onKeep, onRemove }: RemoveDialogProps) {
  const count = (kind: TokenRow["kind"], noun: string) => {
    const found = good.filter((one) => one.kind === kind).length;
    return found ? plural(found, noun) : "";
  };
  const ends = [count("session", "sign-in"), count("bearer", "token"), count("invitation", "invitation")];
  return (
    <Modal label={`Remove ${name}`} className="asking" onClose={onKeep}>
      <h2 className="head">Remove {name}?</h2>
      <p>
        This ends {new Intl.ListFormat("en").format(ends.filter(Boolean))} of {name} at once, and with them the tokens,
        schedules, join codes and permissions for good that rest on them.
      </p>
      <p className="dim">
        Work under way was accepted before, and goes on. The record keeps what {name} did. To come back, {name} needs a
        new invitation.
      </p>
      {good.some((one) => one.ends_asker) && <p>This page stands on one of them, and is signed out, too.</p>}
      <div className="row">
        <Button large onClick={onKeep}>
          Keep {name}
        </Button>
        <Button large asks="access" kind="bad" onClick={onRemove}>
          Remove {name}
        </Button>
      </div>
    </Modal>
  );
}
