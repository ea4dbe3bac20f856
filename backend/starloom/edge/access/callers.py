"""Callers: the principal behind a token or a session, with its role and scopes. Pure records.

Identity comes from the connection's secret, never from a field of a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from starloom_protocol.records.entities import Token
from starloom_protocol.stream.authors import author_of
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

    @property
    def approves(self) -> bool:
        """Whether this caller may answer approvals, and so waive or widen what would need one.

        An assistant never may, whatever its token: a model chooses its words.
        """
        return (
            self.kind is not PrincipalKind.ASSISTANT
            and ROLE_RANK[self.role] >= ROLE_RANK[Role.APPROVER]
            and self.has_scope(Scope.APPROVE)
        )

    @property
    def controls(self) -> bool:
        """Whether this caller may control devices, as the routes of the fleet ask it; an assistant never may."""
        return (
            self.kind is not PrincipalKind.ASSISTANT
            and ROLE_RANK[self.role] >= ROLE_RANK[Role.OPERATOR]
            and self.has_scope(Scope.FLEET)
        )

    def has_scope(self, scope: Scope) -> bool:
        return not self.scopes or scope in self.scopes


def may_issue(issuer: Caller, role: Role, scopes: frozenset[str]) -> str | None:
    """Return why this caller may not issue such a token, or None. A token never has more rights than its issuer."""
    if ROLE_RANK[role] > ROLE_RANK[issuer.role]:
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


def may_end(caller: Caller, token: Token, ancestors: frozenset[str]) -> bool:
    """Tell whether a caller may see and revoke a token: its own, its descendants, or any if it is a full owner."""
    if caller.role is Role.OWNER and not caller.scopes:
        return True
    return token.id == caller.token or caller.token in ancestors
