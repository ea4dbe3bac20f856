"""Makes the records of access: owner, tokens, sessions, sign-in links. Pure but for the random secrets.

The edge posts the records through the inbox; the secret's text leaves the hub once and is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from starloom.edge.access import credentials
from starloom.edge.access.callers import BEARER, SESSION
from starloom_protocol.records.entities import Principal, SignIn, Token
from starloom_protocol.vocabulary import PrincipalKind, Role


@dataclass(frozen=True, slots=True)
class Issued:
    """A token's record and its text, which is shown to the holder once; `csrf` belongs to sessions."""

    token: Token
    text: str
    csrf: str = ""


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """A sign-in link's record and the part of its URL after `#`."""

    sign_in: SignIn
    fragment: str


def owner(name: str, now_ms: int) -> Principal:
    """Return the first owner."""
    return principal(name, PrincipalKind.PERSON, Role.OWNER, now_ms)


def principal(name: str, kind: PrincipalKind, role: Role, now_ms: int) -> Principal:
    """Return a person, a program or an assistant that may have tokens up to a role."""
    return Principal(created_ms=now_ms, id=credentials.new_id(), kind=kind, name=name, role=role)


def bearer(
    principal: str,
    role: Role,
    now_ms: int,
    *,
    ttl_s: int = 0,
    label: str = "",
    scopes: list[str],
    parent: Token | None = None,
    kind: str = BEARER,
) -> Issued:
    """Return a bearer token or an invitation; with `ttl_s` 0 it ends with its parent, or never if it has none."""
    secret = credentials.make(credentials.TOKEN_PREFIX)
    token = Token(
        created_ms=now_ms,
        expires_ms=_expires_ms(now_ms, ttl_s, parent),
        id=secret.id,
        kind=kind,
        label=label,
        parent=parent.id if parent else "",
        principal=principal,
        role=role,
        scopes=scopes,
        secret_hash=secret.secret_hash,
    )
    return Issued(token, secret.text)


def _expires_ms(now_ms: int, ttl_s: int, parent: Token | None) -> int:
    """Return when a token ends: never later than its parent; 0 means never."""
    own_end = now_ms + ttl_s * 1000 if ttl_s else 0
    most = parent.expires_ms if parent else 0
    return min(own_end, most) if own_end and most else own_end or most


def session(
    principal: str, role: Role, now_ms: int, *, ttl_s: int, label: str = "", parent: Token | None = None
) -> Issued:
    """Return a page's session with its CSRF token; it has the scopes of its parent."""
    secret = credentials.make(credentials.SESSION_PREFIX)
    csrf = credentials.csrf_of(secret.secret)
    token = Token(
        created_ms=now_ms,
        csrf_hash=credentials.hash_of(csrf),
        expires_ms=_expires_ms(now_ms, ttl_s, parent),
        id=secret.id,
        kind=SESSION,
        label=label,
        parent=parent.id if parent else "",
        principal=principal,
        role=role,
        scopes=parent.scopes if parent else [],
        secret_hash=secret.secret_hash,
    )
    return Issued(token, secret.text, csrf)


def link(principal: str, now_ms: int, *, ttl_s: int, parent: str = "") -> IssuedLink:
    """Return a one-time sign-in link; its secret is in the URL's fragment, so no server ever logs it."""
    secret = credentials.make(credentials.SIGN_IN_PREFIX)
    record = SignIn(
        created_ms=now_ms,
        expires_ms=now_ms + ttl_s * 1000,
        id=secret.id,
        parent=parent,
        principal=principal,
        secret_hash=secret.secret_hash,
    )
    return IssuedLink(record, f"/#/sign-in/{secret.id}.{secret.secret}")
