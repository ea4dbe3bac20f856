"""The read model of access: principals, tokens, sign-in links, records of secrets and proposals, as the log has them.

Fed by events; posts nothing. It finds the caller to whom a token or session belongs now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from starloom.edge.access import credentials
from starloom.edge.access.callers import Caller, Means
from starloom_protocol.records.entities import Principal, RecipeProposal, Secret, SignIn, Token, decode_entity
from starloom_protocol.stream.feed import ACCESS, Event
from starloom_protocol.vocabulary import PrincipalKind, Role

BEARER = "bearer"
SESSION = "session"
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
        self.last_used_ms: dict[str, int] = {}
        self.on_revoked: list[Callable[[str], None]] = []

    def reset(self, entities: Mapping[str, bytes]) -> None:
        """Replace the view with the whole committed stream."""
        self.principals.clear()
        self.tokens.clear()
        self.sign_ins.clear()
        self.secrets.clear()
        self.proposals.clear()
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
            known = self.tokens.get(identity)
            self.tokens[identity] = record
            if record.revoked_ms and (known is None or not known.revoked_ms):
                self._revoked(identity)
        elif isinstance(record, Principal):
            self.principals[identity] = record
        elif isinstance(record, SignIn):
            self.sign_ins[identity] = record
        elif isinstance(record, Secret):
            self.secrets[identity] = record
        elif isinstance(record, RecipeProposal):
            self.proposals[identity] = record

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
        if principal is None or not self.good(identity):
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

    def good(self, token: str) -> bool:
        """Tell whether a token is valid: neither it nor an ancestor was revoked or has expired."""
        now, line = self._now_ms(), [token, *self.ancestors(token)]
        for identity in line:
            found = self.tokens.get(identity)
            if found is None or found.revoked_ms or 0 < found.expires_ms <= now:
                return False
        return True

    def ancestors(self, token: str) -> list[str]:
        """Return the ancestors of a token, its parent first; one that is no longer kept ends the line."""
        line: list[str] = []
        found = self.tokens.get(token)
        while found is not None and found.parent and found.parent not in line:
            line.append(found.parent)
            found = self.tokens.get(found.parent)
        return line

    def named(self, name: str) -> Principal | None:
        """Return the principal of a name, or None."""
        return next((principal for principal in self.principals.values() if principal.name == name), None)

    def sign_in(self, identity: str, secret: str) -> SignIn | None:
        """Return the sign-in link of this secret if it can still be used."""
        link = self.sign_ins.get(identity)
        if link is None or not credentials.matches(secret, link.secret_hash):
            return None
        return None if link.used_ms or self._now_ms() >= link.expires_ms else link

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
