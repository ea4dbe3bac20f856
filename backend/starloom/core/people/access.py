"""Access: principals, tokens, sign-in links, and who was refused at a door.

All are entities or events of `access`, so the log shows each revocation and each refusal. A role that is too small to
approve ends the standing approvals of its holder, and a token those that it gave; they are the fleet's. The rate of
refusals is bounded where they are noticed (`access.rate_limits`).
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from msgspec.structs import replace

from starloom.core.state.idempotency import earlier_result, note_made
from starloom.core.state.inputs import (
    PrincipalAdded,
    RefusalNoted,
    RoleGiven,
    SignInOpened,
    SignInUsed,
    TokenAdded,
    TokenRevoked,
)
from starloom.core.state.orders import CloseToken
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.access import Token
from starloom_protocol.stream.authors import author_of, token_of, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import ROLE_RANK, Code, PrincipalKind, Role

LINKS_MOST: Final = 10
"""Each is an event, so that below the role of owner nobody fills the log with them."""
LINKS_WITHIN_MS: Final = 15 * 60_000


def on_principal(work: Work, item: PrincipalAdded) -> None:
    """Add a principal, with its first token if one is given."""
    if item.principal.id in work.shard.access.principals:
        raise Refusal(fault(Code.CONFLICT, f"a principal {item.principal.id} exists"))
    if any(principal.name == item.principal.name for principal in work.shard.access.principals.values()):
        raise Refusal(fault(Code.CONFLICT, f"somebody is called {item.principal.name} already"))
    puts: list[Put] = [("principal", item.principal.id, item.principal)]
    if item.token is not None:
        puts.append(("token", item.token.id, item.token))
    work.emit(work.shard.access, EventKind.PRINCIPAL_ADDED, item.principal.id, puts)
    work.answer({"id": item.principal.id})


def on_role(work: Work, item: RoleGiven) -> None:
    """Give a principal another role, end its tokens with more rights, and its standing approvals if it may not approve.

    Safe to repeat.

    Raises:
        Refusal: there is no such principal, or no owner would be left.
    """
    access = work.shard.access
    principal = access.principals.get(item.principal)
    if principal is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no principal {item.principal}"))
    people = [one for one in access.principals.values() if one.kind is PrincipalKind.PERSON]
    if [one for one in people if one.role is Role.OWNER] == [principal] and item.role is not Role.OWNER:
        raise Refusal(fault(Code.CONFLICT, f"{principal.name} is the only owner", "role", "Make another owner first."))
    work.answer({"id": principal.id})
    if principal.role is item.role:
        return
    tokens = [one for one in access.tokens.values() if one.principal == principal.id and not one.revoked_ms]
    too_strong = [one for one in tokens if ROLE_RANK[one.role] > ROLE_RANK[item.role]]
    families = [(token, *access.descendants(token.id)) for token in too_strong]
    ending = {one.id: one for family in families for one in family if not one.revoked_ms}
    puts: list[Put] = [("principal", principal.id, replace(principal, role=item.role))]
    puts += [("token", one.id, replace(one, revoked_ms=work.at_ms)) for one in ending.values()]
    note = f"{principal.name}: {principal.role} to {item.role}"
    work.emit(access, EventKind.ROLE_GIVEN, principal.id, puts, note=note)
    for name in ending:
        work.order(CloseToken(token=name))
    _end_approvals(work, _bound_by(work, ending), note)
    if ROLE_RANK[item.role] < ROLE_RANK[Role.APPROVER]:
        by = author_of(principal.kind, principal.name)
        _end_approvals(work, [one.id for one in work.shard.fleet.standing.values() if who(one.by) == by], note)


def _bound_by(work: Work, tokens: Container[str]) -> list[str]:
    """Return the standing approvals that one of these tokens binds."""
    access, standing = work.shard.access, work.shard.fleet.standing.values()
    binding = [(one.id, access.binding(token_of(one.by))) for one in standing]
    return [name for name, token in binding if token is not None and token.id in tokens]


def _end_approvals(work: Work, ending: list[str], note: str) -> None:
    """End standing approvals whose giver lost the right to give them: their calls ask again."""
    for name in ending:
        work.emit(work.shard.fleet, EventKind.STANDING_REVOKED, name, [("standing", name, None)], note=note)


def _check_holder(work: Work, token: Token) -> None:
    """Refuse a token of nobody, or with more rights than its holder has now: a role may change while it is made.

    Raises:
        Refusal: `not_found` or `forbidden`.
    """
    principal = work.shard.access.principals.get(token.principal)
    if principal is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no principal {token.principal}"))
    if ROLE_RANK[token.role] > ROLE_RANK[principal.role]:
        hint = f"`starloom person role {principal.name} {token.role}` gives that role. Or use a lower one."
        reason = f"{principal.name} is {principal.role}, which is less than {token.role}"
        raise Refusal(fault(Code.FORBIDDEN, reason, "", hint))


def on_token(work: Work, item: TokenAdded) -> None:
    """Add a token of an existing principal, once for each idempotency key."""
    before = earlier_result(work, item.caller or item.token.principal, "token", item.idempotency)
    if before is not None:
        raise Refusal(
            fault(
                Code.CONFLICT,
                f"this key has made the token {before}; its text was shown then and is not kept",
                "",
                f"Revoke {before} if you do not have it, and ask again with a new key.",
            )
        )
    access = work.shard.access
    _check_holder(work, item.token)
    parent = access.tokens.get(item.token.parent)
    if item.token.parent and (parent is None or parent.revoked_ms):
        raise Refusal(fault(Code.BAD_TOKEN, "the token that issues this one has ended"))
    work.emit(access, EventKind.TOKEN_ADDED, item.token.id, [("token", item.token.id, item.token)])
    note_made(work, item.caller or item.token.principal, "token", item.idempotency, item.token.id)
    work.answer({"id": item.token.id})


def on_token_revoked(work: Work, item: TokenRevoked) -> None:
    """Revoke a token and its descendants; the sockets opened with them are cut once this is committed.

    The standing approvals that one of these binds end with it, as its schedules do (`Access.binding`).
    """
    access = work.shard.access
    token = access.tokens.get(item.token)
    if token is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no token {item.token}"))
    if not token.revoked_ms:
        below = access.descendants(token.id)
        ending = [token, *(one for one in below if not one.revoked_ms)]
        puts: list[Put] = [("token", one.id, replace(one, revoked_ms=work.at_ms)) for one in ending]
        note = f"with {len(ending) - 1} that come from it" if len(ending) > 1 else ""
        work.emit(access, EventKind.TOKEN_REVOKED, token.id, puts, note=note)
        for one in ending:
            work.order(CloseToken(token=one.id))
        note = f"the token {token.label or token.id}, with which it was given, was revoked"
        _end_approvals(work, _bound_by(work, {one.id for one in ending}), note)
    work.answer({"id": token.id})


def on_signin(work: Work, item: SignInOpened) -> None:
    """Keep a one-time sign-in link.

    Each link is an event, so a viewer could fill the log with them: below the role of owner a principal makes at most
    `LINKS_MOST` within `LINKS_WITHIN_MS`.
    """
    if item.scope != Role.OWNER:
        since_ms = work.at_ms - LINKS_WITHIN_MS
        count = sum(
            one.principal == item.signin.principal and one.created_ms > since_ms
            for one in work.shard.access.signins.values()
        )
        if count >= LINKS_MOST:
            hint = "Use one of the links that you have, or wait some minutes."
            raise Refusal(fault(Code.RATE_LIMITED, f"{count} sign-in links were made lately", "", hint))
    work.emit(work.shard.access, EventKind.SIGNIN_OPENED, item.signin.id, [("signin", item.signin.id, item.signin)])
    work.answer({"id": item.signin.id})


def on_signin_used(work: Work, item: SignInUsed) -> None:
    """Exchange a sign-in link for a session, once; of two uses at the same time one wins."""
    signin = work.shard.access.signins.get(item.signin)
    parent = work.shard.access.tokens.get(signin.parent) if signin is not None and signin.parent else None
    if signin is not None and signin.parent and (parent is None or parent.revoked_ms):
        raise Refusal(fault(Code.BAD_TOKEN, "the token that made this sign-in link has ended"))
    if signin is None or signin.used_ms or signin.expires_ms <= work.at_ms:
        why = "is used" if signin is not None and signin.used_ms else "has expired"
        raise Refusal(fault(Code.BAD_TOKEN, f"the sign-in link {why}", "", "Run `starloom open` for a fresh link."))
    _check_holder(work, item.token)
    puts: list[Put] = [
        ("signin", signin.id, replace(signin, used_ms=work.at_ms)),
        ("token", item.token.id, item.token),
    ]
    work.emit(work.shard.access, EventKind.SIGNED_IN, signin.principal, puts)
    work.answer({"id": item.token.id})


def on_refusal(work: Work, item: RefusalNoted) -> None:
    """Note a refusal; the event names the door, the address and the reason, never the presented credential."""
    times = f", {item.times} times" if item.times > 1 else ""
    origin = f" from {item.address}" if item.address else ""
    work.emit(work.shard.access, EventKind.REFUSED, item.door, [], note=f"{item.code}: {item.reason}{origin}{times}")
