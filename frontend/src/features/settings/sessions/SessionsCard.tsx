/** Sessions, tokens and open invitations in Settings, each with the way to end it; an owner invites a person here. */
import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useNow, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { TokenRow } from "../../../model/types.ts";
import { msOf } from "../../../model/words/times.ts";
import { age, dateTime, plural } from "../../../model/words/words.ts";
import { Modal } from "../../../ui/Modal.tsx";
import { Button, CopyLine, ProblemNote } from "../../../ui/parts.tsx";
import { browserName, limits } from "./browsers.ts";
import { InviteDialog } from "./Invite.tsx";

/** Those that still let somebody in. An invitation whose link was used lives on as the session of its person. */
const lettingIn = (tokens: readonly TokenRow[], now: number): TokenRow[] =>
  tokens.filter(
    (token) =>
      !token.revoked_at &&
      (!token.expires_at || msOf(token.expires_at) > now) &&
      (token.kind !== "invitation" || msOf(token.link_until) > now),
  );

const KINDS: { [kind: string]: string } = {
  invitation: "invited, not opened yet",
  session: "browser",
};
/** A token by the kind of its holder. */
const TOKENS: { [holder: string]: string } = {
  assistant: "token of an assistant",
  person: "token of a person",
  program: "token of a program",
};
const kindOf = ({ kind, for: holder }: TokenRow): string =>
  kind === "bearer" ? (TOKENS[holder?.kind ?? ""] ?? "token") : (KINDS[kind] ?? kind);
const BEGUN: { [kind: string]: string } = { session: "signed in" };

export function SessionsCard() {
  const { hub, session } = useWorkspace();
  const now = useNow(10_000);
  const tokens = useResource("tokens", () => hub.tokens());
  const [inviting, setInviting] = useState(false);
  return (
    <section className="card" aria-label="Sessions and tokens">
      <header>
        <h2>Sessions and tokens</h2>
        <Button
          asks="sessions"
          className="end"
          icon="plus"
          why={session?.role === "owner" ? null : "Only an owner invites people."}
          onClick={() => setInviting(true)}
        >
          Invite a person
        </Button>
      </header>
      {tokens.problem && <ProblemNote problem={tokens.problem} />}
      {lettingIn(tokens.value?.items ?? [], now).map((token) => (
        <Row
          key={token.id}
          token={token}
          resting={restingOn(token, tokens.value?.items ?? [], now)}
          now={now}
          onEnded={tokens.reload}
        />
      ))}
      <div className="item">
        <span />
        <details className="sub small">
          <summary>For the terminal: a token for a program</summary>
          <CopyLine line="starloom token create --role viewer --ttl 30d" label="the line that makes a token" />
        </details>
      </div>
      {inviting && (
        <InviteDialog
          onMade={tokens.reload}
          onClose={() => {
            setInviting(false);
            tokens.reload();
          }}
        />
      )}
    </section>
  );
}

interface RowProps {
  token: TokenRow;
  /** What ends with it, in words; empty where nothing does. */
  resting: string;
  now: number;
  onEnded: () => void;
}

function Row({ token, resting, now, onEnded }: RowProps) {
  const { hub, session } = useWorkspace();
  const { report, say } = useDoing();
  const [asking, setAsking] = useState(false);
  const revoke = async () => {
    setAsking(false);
    try {
      await hub.revokeToken(token.id);
      say("Revoked");
      onEnded();
    } catch (error) {
      report(error);
    }
  };
  const invitation = token.kind === "invitation";
  const label = invitation ? "" : browserName(token.label ?? "") || token.label;
  const subject = subjectOf(token, label ?? "", now);
  const until = invitation ? token.link_until : token.expires_at;
  return (
    <div className="item">
      <span />
      <span className="cut">
        <b className="strong cut" title={token.label}>
          {[token.for?.name, label].filter(Boolean).join(", ") || token.id}
        </b>{" "}
        {token.id === session?.token && <span className="chip">this page</span>}
      </span>
      <Button asks="sessions" aria-label={`Revoke ${subject}`} onClick={() => setAsking(true)}>
        Revoke
      </Button>
      {asking && (
        <EndingDialog
          token={token}
          subject={subject}
          resting={resting}
          onKeep={() => setAsking(false)}
          onRevoke={() => void revoke()}
        />
      )}
      <span className="sub small">
        {[
          kindOf(token),
          token.role,
          limits(token.scopes),
          token.created_at ? `${BEGUN[token.kind] ?? "made"} ${age(msOf(token.created_at), now)}` : "",
          token.last_used_at ? `used ${age(msOf(token.last_used_at), now)}` : "",
          until ? `until ${dateTime(msOf(until))}` : "",
        ]
          .filter(Boolean)
          .join(", ")}
      </span>
    </div>
  );
}

/** All that ends with a token, counted: what was made with it, and with that, and the schedules of all of it. */
function restingOn(token: TokenRow, items: readonly TokenRow[], now: number): string {
  const below = [token];
  // It grows while it is walked; each row was made with one other, so none comes twice.
  for (const { id } of below) below.push(...items.filter((item) => item.made_with === id));
  const good = lettingIn(below.slice(1), now);
  const count = (kind: string, word: string) => {
    const found = good.filter((item) => item.kind === kind).length;
    return found ? [plural(found, word)] : [];
  };
  const schedules = [token, ...good].reduce((sum, item) => sum + (item.schedules ?? 0), 0);
  const parts = [
    ...count("session", "sign-in"),
    ...count("bearer", "token"),
    ...count("invitation", "open invitation"),
    ...(schedules ? [plural(schedules, "schedule")] : []),
  ];
  return new Intl.ListFormat("en-GB").format(parts);
}

/** The subject of a revocation, in words that no other row has: whose it is, where, and since when. */
function subjectOf(token: TokenRow, label: string, now: number): string {
  const whose = token.for?.name ? `${token.for.name}'s` : "the";
  const what = { bearer: "token", invitation: "invitation" }[token.kind] ?? "sign-in";
  const where = label ? (token.kind === "session" ? ` in ${label}` : ` ${label}`) : "";
  const made = token.created_at ? `, ${BEGUN[token.kind] ?? "made"} ${age(msOf(token.created_at), now)}` : "";
  return `${whose} ${what}${where}${made}`;
}

interface EndingProps {
  token: TokenRow;
  subject: string;
  resting: string;
  onKeep: () => void;
  onRevoke: () => void;
}

/** Asks before a revocation, with what it ends; above all where it also signs this page out. */
function EndingDialog({ token, subject, resting, onKeep, onRevoke }: EndingProps) {
  const own = token.ends_asker;
  const deed = own ? "Revoke it and sign out" : token.kind === "invitation" ? "Withdraw it" : "Revoke it";
  return (
    <Modal label={deed} className="asking" onClose={onKeep}>
      <h2 className="head">{own ? `${deed}?` : `Revoke ${subject}?`}</h2>
      {own && (
        <p>
          This is {token.kind === "session" ? "your own sign-in on this page" : `what this page stands on: ${subject}`}.
        </p>
      )}
      <p className="dim">{endsOf(token)}</p>
      {resting && <p>It also ends {resting} made with it.</p>}
      {own && (
        <p className="dim">
          On the hub’s computer, <code className="mono">starloom open</code> makes a link to sign in again.
        </p>
      )}
      <div className="row">
        <Button large onClick={onKeep}>
          Keep it
        </Button>
        <Button large kind="bad" onClick={onRevoke}>
          {deed}
        </Button>
      </div>
    </Modal>
  );
}

function endsOf({ ends_asker: own, for: whom, kind }: TokenRow): string {
  const who = whom?.name ?? "Somebody";
  if (own)
    return kind === "session"
      ? "This page is signed out."
      : "This page and every other session and token that came from it are signed out, and programs that use it are refused. If it is the token of the hub’s own computer, the hub makes a new one at once.";
  if (kind === "invitation") return `The link of ${who} opens nothing any more. An owner can invite again.`;
  if (kind === "session") return `The browser of ${who} is signed out. To come back, ${who} needs a new invitation.`;
  return "Programs that use it are refused from now on, and what came from it ends. A token does not come back.";
}
