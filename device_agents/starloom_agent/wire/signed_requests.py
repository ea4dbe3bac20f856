"""Requests to the hub signed with this device's own key, outside a connection; only the hub's signed answer counts."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

import msgspec

from starloom_agent.home.directory import Joined
from starloom_agent.home.identity import Identity, signed_by
from starloom_agent.wire import joining
from starloom_agent.wire.dialling import Route
from starloom_protocol.wire.channel import LEAVE, UPGRADE, answer_bytes, request_bytes


class Wheel(msgspec.Struct, frozen=True, kw_only=True):
    """A file of packages that the hub serves: only one with these bytes is installed."""

    bytes: Annotated[int, msgspec.Meta(ge=1, le=50_000_000)]
    file: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+!-]*\.whl$", max_length=200)]
    name: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_]+$", max_length=100)]
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    version: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_.+!]+$", max_length=64)]


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that a hub hands out. `requirements` is the hash of the list of packages that it needs, `name` what the
    hub calls this device; an older hub does not say.
    """

    name: str = ""
    requirements: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    wheels: Annotated[list[Wheel], msgspec.Meta(max_length=200)]


def ask(joined: Joined, identity: Identity, what: str) -> Any:
    """Send a signed request and return the answer that the hub of this device signed.

    Raises:
        JoinRefused: the hub refuses or cannot be reached, or something else answers in its place.
    """
    nonce = secrets.token_hex(32)
    signed = request_bytes(what, hub=joined.hub_key, device=identity.device, nonce=nonce)
    body = {"device": identity.device, "nonce": nonce, "signature": identity.sign(signed)}
    reply = joining.request(Route(joined.hub, joined.pin, joined.via), "POST", f"/agent/{what}", body)
    answer, signature = reply.get("answer"), str(reply.get("signature", ""))
    expected = answer_bytes(what, hub=joined.hub_key, device=identity.device, nonce=nonce, answer=answer)
    if not signed_by(joined.hub_key, signature, expected):
        raise joining.JoinRefused(
            f"what answers at {joined.hub} is not the hub that this device has joined: its answer does not carry the "
            "signature of that hub's key"
        )
    return answer


def leave(joined: Joined, identity: Identity) -> None:
    """Have the hub let this device go.

    Raises:
        JoinRefused: the hub did not get the request.
    """
    ask(joined, identity, LEAVE)


def release(joined: Joined, identity: Identity) -> Release:
    """Return the agent that the hub hands out.

    Raises:
        JoinRefused: the hub has none, or its answer is invalid.
    """
    answer = ask(joined, identity, UPGRADE)
    try:
        return msgspec.convert(answer, Release)
    except msgspec.ValidationError as error:
        raise joining.JoinRefused(f"{joined.hub} names an agent that cannot be installed: {error}") from error
