"""Answers about sessions, tokens, sign-in links, and secrets without their values."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from starloom_protocol.api.approvals import NamedDevice
from starloom_protocol.api.service import QrCode
from starloom_protocol.vocabulary import PrincipalKind, Role


class PersonRow(TypedDict):
    """A principal by id and name."""

    id: str
    name: str


class SignedIn(TypedDict):
    """A session that was opened; its cookie comes beside the answer."""

    principal: PersonRow
    role: Role
    csrf: str
    expires_at: str | None


class SignedOut(TypedDict):
    """The end of a session."""

    signed_out: bool


class PrincipalRow(PersonRow):
    """A principal with its kind."""

    kind: PrincipalKind


class RoleRow(PrincipalRow):
    """A principal with its role, and how many tokens and sessions of it are good now."""

    role: Role
    scopes: list[str]
    """The scopes to which all that is good of it is limited; empty if something has the whole role."""
    tokens: int
    sessions: int
    last_used_at: str | None
    """The last use since the hub began, also of what was revoked."""
    revoked_at: str | None
    """When the last right of it was revoked; none while something is good, or if nothing was revoked lately."""


class SessionRow(TypedDict):
    """The caller, its rights, and the hub's time; a page also gets its CSRF token."""

    principal: PrincipalRow
    role: Role
    person_role: Role
    """The role that its person has now; a sign-in keeps the one that it began with, until the person signs in again."""
    approves: bool
    scopes: list[str]
    means: str
    token: str
    expires_at: str | None
    now: str | None
    lab: bool
    program: str
    hub_device: str | None
    """The device that is the hub's own computer."""
    csrf: NotRequired[str]


class SignInLink(TypedDict):
    """A one-time sign-in link, and its address in the local network where that is open."""

    url: str
    lan_url: str | None
    qr: QrCode
    """The QR code of the address in the local network, or of `url` where that is closed."""
    expires_at: str | None
    token: str
    """The token whose end is the end of the session."""


class TokenState(TypedDict):
    """A token or session, without its secret."""

    id: str
    kind: str
    label: str
    role: Role
    scopes: list[str]
    principal: str
    created_at: str | None
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


_Who = TypedDict("_Who", {"for": str})


class InvitationRow(_Who):
    """The terms of an invitation's link: for whom, by whom, and the rights of that person then."""

    by: str
    """Who invites; empty if that is not known any more."""
    role: Role
    may: list[str]
    """The rights of the person, in words."""
    until: str | None
    """The end of the rights."""


class LinkTerms(TypedDict):
    """The terms of a sign-in link before it is used; no invitation where a person made it for themselves."""

    invitation: InvitationRow | None


class Holder(TypedDict):
    """The holder of a token."""

    name: str
    kind: PrincipalKind


_For = TypedDict("_For", {"for": Holder | None})


class TokenRow(TokenState, _For):
    """A token, session or invitation with its holder."""

    link_until: str | None
    """Until when the link of an invitation opens the page; none once it was used or is too old."""
    link_used_at: str | None
    """When the link of an invitation was used; none while nobody has, or once the hub has forgotten it."""
    link_used_with: str
    """The browser that used it, as it names itself; empty if that is not known."""
    ends_asker: bool
    """Whether its end is also the end of the token or session that asks."""
    made_with: str
    """The token or session with which it was made, and with which it ends; empty for those of the hub itself."""
    schedules: int
    """How many active schedules were made with it, and stop with it."""


class IssuedToken(TokenRow):
    """A token with its text, shown this once."""

    token: str


class RevokedToken(TypedDict):
    """A token that is revoked."""

    id: str
    revoked: bool


class LiveTicket(TypedDict):
    """A ticket that opens one live socket."""

    ticket: str


class SecretRow(TypedDict):
    """A secret without its value. An empty list of devices, recipes or tools means any."""

    name: str
    version: int
    created_at: str | None
    set_at: str | None
    set_by: str
    last_used_at: str | None
    devices: list[NamedDevice]
    recipes: list[str]
    tools: list[str]


class SetSecret(TypedDict):
    """A secret that was set; only name and version where it was removed at the same time."""

    name: str
    version: int
    created_at: NotRequired[str | None]
    set_at: NotRequired[str | None]
    set_by: NotRequired[str]
    last_used_at: NotRequired[str | None]
    devices: NotRequired[list[NamedDevice]]
    recipes: NotRequired[list[str]]
    tools: NotRequired[list[str]]
