"""Who may ask: principals, tokens, sign-in links. All are entities of `access`, so a revocation is an event."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.effects import CloseToken
from starloom.core.inputs import PrincipalAdded, SignInOpened, SignInUsed, TokenAdded, TokenRevoked
from starloom.core.once import made_before, note_made
from starloom.core.work import Put, Refusal, Work, fault
from starloom_protocol.vocabulary import Code


def on_principal(work: Work, item: PrincipalAdded) -> None:
    """A new principal, with its first token if one is given."""
    if item.principal.id in work.shard.access.principals:
        raise Refusal(fault(Code.CONFLICT, f"a principal {item.principal.id} exists"))
    puts: list[Put] = [("principal", item.principal.id, item.principal)]
    if item.token is not None:
        puts.append(("token", item.token.id, item.token))
    work.emit(work.shard.access, "principal_added", item.principal.id, puts)
    work.answer({"id": item.principal.id})


def on_token(work: Work, item: TokenAdded) -> None:
    """A new token of an existing principal, once a key."""
    before = made_before(work, item.token.principal, "token", item.idempotency)
    if before is not None:
        raise Refusal(
            fault(
                Code.CONFLICT,
                f"this key has made the token {before}; its text was shown then and is not kept",
                "",
                f"Revoke {before} if you do not have it, and ask again with a new key.",
            )
        )
    if item.token.principal not in work.shard.access.principals:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no principal {item.token.principal}"))
    work.emit(work.shard.access, "token_added", item.token.id, [("token", item.token.id, item.token)])
    note_made(work, item.token.principal, "token", item.idempotency, item.token.id)
    work.answer({"id": item.token.id})


def on_token_revoked(work: Work, item: TokenRevoked) -> None:
    """A token ends now; sockets that it let in are cut once this is committed."""
    token = work.shard.access.tokens.get(item.token)
    if token is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no token {item.token}"))
    if not token.revoked_ms:
        revoked = replace(token, revoked_ms=work.at_ms)
        work.emit(work.shard.access, "token_revoked", token.id, [("token", token.id, revoked)])
        work.order(CloseToken(token=token.id))
    work.answer({"id": token.id})


def on_signin(work: Work, item: SignInOpened) -> None:
    """A one-time sign-in link was made."""
    work.emit(work.shard.access, "signin_opened", item.signin.id, [("signin", item.signin.id, item.signin)])
    work.answer({"id": item.signin.id})


def on_signin_used(work: Work, item: SignInUsed) -> None:
    """A link is exchanged for a session, once; two that race see one winner."""
    signin = work.shard.access.signins.get(item.signin)
    if signin is None or signin.used_ms or signin.expires_ms <= work.at_ms:
        why = "is used" if signin is not None and signin.used_ms else "has expired"
        raise Refusal(fault(Code.BAD_TOKEN, f"the sign-in link {why}", "", "Run `starloom open` for a fresh link."))
    puts: list[Put] = [
        ("signin", signin.id, replace(signin, used_ms=work.at_ms)),
        ("token", item.token.id, item.token),
    ]
    work.emit(work.shard.access, "signed_in", signin.principal, puts)
    work.answer({"id": item.token.id})
