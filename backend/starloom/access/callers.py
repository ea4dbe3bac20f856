"""Who is asking: the principal behind a token or a session, with its role and scopes. Pure records.

Identity comes from the connection's secret, never from a field of a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from starloom_protocol.vocabulary import Role


class Scope(StrEnum):
    """What a token may be narrowed to; no scopes at all means everything that its role allows."""

    READ = "read"
    RUN = "run"
    APPROVE = "approve"
    FLEET = "fleet"
    ARTIFACTS = "artifacts"
    ACCESS = "access"
    LAB = "lab"


class Means(StrEnum):
    """By what a caller was recognised."""

    BEARER = "bearer"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Caller:
    """One authenticated caller. `by` is how its deeds are named in the log."""

    principal: str
    name: str
    role: Role
    scopes: frozenset[str]
    token: str
    means: Means

    @property
    def by(self) -> str:
        return f"person:{self.name}"

    def has_scope(self, scope: Scope) -> bool:
        return not self.scopes or scope in self.scopes


RANK: dict[Role, int] = {Role.VIEWER: 0, Role.APPROVER: 1, Role.OPERATOR: 2, Role.OWNER: 3}


def may_issue(issuer: Caller, role: Role, scopes: frozenset[str]) -> str | None:
    """Return why this caller may not give out such a token, or None: never more than the issuer has."""
    if RANK[role] > RANK[issuer.role]:
        return f"a token of role {role} is more than your role {issuer.role} allows"
    if issuer.scopes and not scopes:
        return f"your own token is limited to {', '.join(sorted(issuer.scopes))}; name scopes among these"
    excess = scopes - issuer.scopes if issuer.scopes else frozenset()
    if excess:
        return f"your own token does not have the scope {', '.join(sorted(excess))}"
    unknown = scopes - frozenset(Scope)
    if unknown:
        return f"there is no scope {', '.join(sorted(unknown))}; there are {', '.join(Scope)}"
    return None
