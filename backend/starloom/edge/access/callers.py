"""Callers: the principal behind a token, a session or a ticket, with its role and scopes, and how it is found.

Identity comes from the connection's secret, never from a field of a message. `AccessView` has principals, tokens,
sign-in links, used keys of requests, records of secrets and proposals as the log has them: it is fed by events and
posts nothing. Open tickets are in memory.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from starloom.edge.access import credentials
from starloom_protocol.records.entities import (
    Idempotency,
    Principal,
    RecipeProposal,
    Secret,
    SignIn,
    Token,
    decode_entity,
)
from starloom_protocol.stream.authors import author_of
from starloom_protocol.stream.feed import ACCESS, Event
from starloom_protocol.vocabulary import ROLE_RANK, PrincipalKind, Role


class Scope(StrEnum):
    """A part of a role's rights to which a token is limited. A token without scopes has all that its role allows."""

    READ = "read"
    RUN = "run"
    APPROVE = "approve"
    FLEET = "fleet"
    ARTIFACTS = "artifacts"
    ACCESS = "access"
    LAB = "lab"
    A2A = "a2a"


RECIPE = "recipe:"
"""Before the name of a recipe: a scope that is a part of `run`, the right to start this recipe and to stop it again."""


def is_scope(text: str) -> bool:
    """Return whether a token can be limited to this; whether there is such a recipe is not asked."""
    return text in frozenset(Scope) or (text.startswith(RECIPE) and text != RECIPE)


class Means(StrEnum):
    """The kind of secret by which a caller was recognised."""

    BEARER = "bearer"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Caller:
    """One authenticated caller. `by` names it as the author of events."""

    principal: str
    name: str
    role: Role
    scopes: frozenset[str]
    token: str
    means: Means
    kind: PrincipalKind = PrincipalKind.PERSON
    root: str = ""
    """The bearer token that a session comes from; empty for a bearer token."""

    @property
    def by(self) -> str:
        return author_of(self.kind, self.name, self.token)

    def signed(self) -> dict[str, Any]:
        """Return the fields by which an input names its author: who it is by which role, and a new id."""
        return {"by": self.by, "id": credentials.new_id(), "scope": self.role}

    @property
    def way_in(self) -> str:
        """How this caller came in, as the subject of a sentence that it reads."""
        if self.kind is PrincipalKind.ASSISTANT:
            return "this assistant"
        return "your sign-in" if self.means is Means.SESSION else "your token"

    @property
    def approves(self) -> bool:
        """Whether this caller may answer approvals, and so waive or widen what would need one.

        An assistant never may, whatever its token: a model chooses its words.
        """
        return self._is_allowed(Role.APPROVER, Scope.APPROVE)

    @property
    def controls(self) -> bool:
        """Whether this caller may control devices, as the routes of the fleet ask it; an assistant never may."""
        return self._is_allowed(Role.OPERATOR, Scope.FLEET)

    def _is_allowed(self, least: Role, scope: Scope) -> bool:
        reaches = ROLE_RANK[self.role] >= ROLE_RANK[least]
        return self.kind is not PrincipalKind.ASSISTANT and reaches and self.has_scope(scope)

    def has_scope(self, scope: Scope) -> bool:
        return not self.scopes or scope in self.scopes

    @property
    def recipes(self) -> frozenset[str]:
        """The only recipes that this caller may start; empty where it may start all work, or none."""
        if self.has_scope(Scope.RUN):
            return frozenset()
        return frozenset(scope.removeprefix(RECIPE) for scope in self.scopes if scope.startswith(RECIPE))


def may_issue(issuer: Caller, role: Role, scopes: frozenset[str]) -> str | None:
    """Return why this caller may not issue such a token, or None. A token never has more rights than its issuer."""
    if ROLE_RANK[role] > ROLE_RANK[issuer.role]:
        return f"a token of role {role} is more than your role {issuer.role} allows"
    if issuer.scopes and not scopes:
        return f"{issuer.way_in} is limited to {', '.join(sorted(issuer.scopes))}; name scopes among these"
    covered = {scope for scope in scopes if scope.startswith(RECIPE) and issuer.has_scope(Scope.RUN)}
    excess = scopes - issuer.scopes - covered if issuer.scopes else frozenset()
    if excess:
        return f"{issuer.way_in} does not have the scope {', '.join(sorted(excess))}"
    unknown = [scope for scope in sorted(scopes) if not is_scope(scope)]
    if unknown:
        return f"there is no scope {', '.join(unknown)}; there are {', '.join(Scope)} and {RECIPE}NAME"
    return None


def may_end(caller: Caller, token: Token, ancestors: frozenset[str]) -> bool:
    """Tell whether a caller may see and revoke a token: its own, its descendants, or any if it is a full owner."""
    if caller.role is Role.OWNER and not caller.scopes:
        return True
    return token.id == caller.token or caller.token in ancestors


TICKET_TTL_S = 30.0
"""A page opens its socket at once with its ticket; one that leaks later opens nothing."""
TICKETS_MOST = 10_000
"""A few megabytes of memory; a caller that asks for tickets in a loop makes the oldest invalid, not the hub large."""


class Tickets:
    """Single-use tickets that open a live socket, bound to a caller; the oldest go when there are too many.

    A browser cannot set headers on a socket, and a secret in its URL would be logged, so its first message is a ticket.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._open: OrderedDict[str, tuple[float, Caller]] = OrderedDict()

    def issue(self, caller: Caller) -> str:
        """Return a fresh ticket for this caller."""
        self._drop_old()
        ticket = secrets.token_urlsafe(32)
        self._open[ticket] = (self._monotonic_s() + TICKET_TTL_S, caller)
        while len(self._open) > TICKETS_MOST:
            self._open.popitem(last=False)
        return ticket

    def redeem(self, ticket: str) -> Caller | None:
        """Use up a ticket and return its caller; None if it is unknown, used or expired."""
        self._drop_old()
        entry = self._open.pop(ticket, None)
        return entry[1] if entry else None

    def _drop_old(self) -> None:
        now_s = self._monotonic_s()
        while self._open:
            ticket, (until, _) = next(iter(self._open.items()))
            if until > now_s:
                return
            del self._open[ticket]


BEARER = "bearer"
SESSION = "session"
INVITATION = "invitation"
"""The token behind the link of another person: nobody has its text, the session of the link ends with it."""
_PREFIXES = {BEARER: credentials.TOKEN_PREFIX, SESSION: credentials.SESSION_PREFIX}
_MEANS = {BEARER: Means.BEARER, SESSION: Means.SESSION}


class AccessView:
    """Entities of the stream `access` by id; `on_revoked` is called with each token that becomes invalid."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.principals: dict[str, Principal] = {}
        self.tokens: dict[str, Token] = {}
        self.sign_ins: dict[str, SignIn] = {}
        self.secrets: dict[str, Secret] = {}
        self.proposals: dict[str, RecipeProposal] = {}
        self.keys: dict[str, Idempotency] = {}
        self.last_used_ms: dict[str, int] = {}
        self.on_revoked: list[Callable[[str], None]] = []

    def reset(self, entities: Mapping[str, bytes]) -> None:
        """Replace the view with the whole committed stream."""
        self.principals.clear()
        self.tokens.clear()
        self.sign_ins.clear()
        self.secrets.clear()
        self.proposals.clear()
        self.keys.clear()
        for key, raw in entities.items():
            self._put(key, raw)

    def apply(self, event: Event) -> None:
        """Apply one event; events of other streams are ignored."""
        if event.stream != ACCESS:
            return
        for key, raw in event.puts.items():
            self._put(key, None if raw is None else bytes(raw))

    def _put(self, key: str, raw: bytes | None) -> None:
        kind, _, identity = key.partition("/")
        table: dict[str, dict[str, Any]] = {
            "principal": self.principals,
            "token": self.tokens,
            "signin": self.sign_ins,
            "secret": self.secrets,
            "proposal": self.proposals,
            "idem": self.keys,
        }
        if kind not in table:
            return
        if raw is None:
            table[kind].pop(identity, None)
            if kind == "token":
                self.last_used_ms.pop(identity, None)
                self._revoked(identity)
            return
        record = decode_entity(key, raw)
        if isinstance(record, Token):
            former = self.tokens.get(identity)
            self.tokens[identity] = record
            if record.revoked_ms and (former is None or not former.revoked_ms):
                self._revoked(identity)
        elif isinstance(record, Principal):
            self.principals[identity] = record
        elif isinstance(record, SignIn):
            self.sign_ins[identity] = record
        elif isinstance(record, Secret):
            self.secrets[identity] = record
        elif isinstance(record, RecipeProposal):
            self.proposals[identity] = record
        elif isinstance(record, Idempotency):
            self.keys[identity] = record

    def made_before(self, token: str, key_and_hash: tuple[str, str] | None) -> str | None:
        """Return the id of what the same request of a token made before, by its key and the hash of its body.

        A body that differs, or a key that is not heard of yet, is left to the log.
        """
        if key_and_hash is None:
            return None
        key, body_hash = key_and_hash
        earlier = self.keys.get(f"{token}/{key}")
        return earlier.made if earlier is not None and earlier.body_hash == body_hash else None

    def _revoked(self, token: str) -> None:
        for hear in self.on_revoked:
            hear(token)

    def caller(self, text: str, kind: str) -> Caller | None:
        """Return the caller of a secret, or None if it is unknown, expired or revoked."""
        parts = credentials.split(text, _PREFIXES[kind])
        if parts is None:
            return None
        identity, secret = parts
        token = self.tokens.get(identity)
        if token is None:
            credentials.matches(secret, "0" * 64)
            return None
        if not credentials.matches(secret, token.secret_hash) or token.kind != kind:
            return None
        principal = self.principals.get(token.principal)
        if principal is None or not self.is_valid(identity):
            return None
        self.last_used_ms[identity] = self._now_ms()
        return Caller(
            principal=principal.id,
            name=principal.name,
            role=token.role,
            scopes=frozenset(token.scopes),
            token=token.id,
            means=_MEANS[kind],
            kind=principal.kind,
            root=token.parent if kind == SESSION else "",
        )

    def was_ended(self, text: str) -> bool:
        """Tell whether a secret is that of a session which somebody ended, itself or what it was made from.

        A cookie of another hub on the same host, or of a history that is gone, was ended by nobody; nor was one whose
        time is over.
        """
        parts = credentials.split(text, _PREFIXES[SESSION])
        token = self.tokens.get(parts[0]) if parts is not None else None
        if parts is None or token is None or token.kind != SESSION:
            return False
        if not credentials.matches(parts[1], token.secret_hash):
            return False
        line = (self.tokens.get(each) for each in (token.id, *self.ancestors(token.id)))
        return any(each is not None and each.revoked_ms for each in line)

    def is_valid(self, token: str) -> bool:
        """Tell whether a token is valid: neither it nor an ancestor was revoked or has expired."""
        now_ms, line = self._now_ms(), [token, *self.ancestors(token)]
        for identity in line:
            record = self.tokens.get(identity)
            if record is None or record.revoked_ms or 0 < record.expires_ms <= now_ms:
                return False
        return True

    def ancestors(self, token: str) -> list[str]:
        """Return the ancestors of a token, its parent first; one that is no longer kept ends the line."""
        line: list[str] = []
        record = self.tokens.get(token)
        while record is not None and record.parent and record.parent not in line:
            line.append(record.parent)
            record = self.tokens.get(record.parent)
        return line

    def named(self, name: str) -> Principal | None:
        """Return the principal of a name, or None."""
        name = unicodedata.normalize("NFC", name)
        return next((principal for principal in self.principals.values() if principal.name == name), None)

    def sign_in(self, identity: str, secret: str) -> SignIn | None:
        """Return the sign-in link of this secret if it can still be used."""
        link = self.sign_ins.get(identity)
        if link is None or not credentials.matches(secret, link.secret_hash):
            return None
        return None if link.used_ms or self._now_ms() >= link.expires_ms else link

    def link_until_ms(self, token: str) -> int:
        """Return until when a sign-in link of this token is good; 0 where none is left to use."""
        now_ms = self._now_ms()
        return max(
            (
                link.expires_ms
                for link in self.sign_ins.values()
                if link.parent == token and not link.used_ms and now_ms < link.expires_ms
            ),
            default=0,
        )

    def link_used(self, token: str) -> tuple[int, str]:
        """Return when the link of an invitation was used, 0 if it was not, and the label of the session of it.

        Links are forgotten some days after their end, so the session alone may tell.
        """
        used_ms = max((link.used_ms for link in self.sign_ins.values() if link.parent == token), default=0)
        sessions = [session for session in self.tokens.values() if session.parent == token and session.kind == SESSION]
        first = min(sessions, key=lambda session: session.created_ms, default=None)
        return used_ms or (first.created_ms if first else 0), first.label if first else ""

    def owner(self) -> Principal | None:
        """Return the first owner, or None before the first run."""
        return next(iter(self._owners()), None)

    def _owners(self) -> Iterable[Principal]:
        return sorted(
            (
                principal
                for principal in self.principals.values()
                if principal.role is Role.OWNER and principal.kind is PrincipalKind.PERSON
            ),
            key=lambda principal: (principal.created_ms, principal.id),
        )
