"""Whether a right that somebody used has been taken from them since. Pure; ends nothing that rests on it."""

from __future__ import annotations

from starloom.core.state.model import Access
from starloom_protocol.records.access import Principal
from starloom_protocol.stream.authors import author_of, token_of, who
from starloom_protocol.vocabulary import ROLE_RANK, Role


def is_taken(access: Access, holder: Principal | None, token: str) -> bool:
    """Tell whether somebody may run work no more, or not with this token.

    A session, which has its time, does not bind what was done in it; the invitation of that session does.
    """
    used = access.tokens.get(token)
    if used is not None and used.kind == "session":
        used = access.tokens.get(used.parent)
    low = holder is not None and ROLE_RANK[holder.role] < ROLE_RANK[Role.OPERATOR]
    return low or (used is not None and used.revoked_ms > 0)


def is_taken_from(access: Access, author: str) -> bool:
    """Tell whether the author of a request may run work no more; a part of the hub always may."""
    token = access.tokens.get(token_of(author))
    holder = access.principals.get(token.principal) if token is not None else None
    if holder is None:
        known = access.principals.values()
        holder = next((one for one in known if author_of(one.kind, one.name) == who(author)), None)
    return is_taken(access, holder, token_of(author))
