"""Asks the hub something with this device's own key, beside a connection, and believes only the hub's own answer."""

from __future__ import annotations

import secrets
from typing import Any

from starloom_agent import joining
from starloom_agent.dialling import Route
from starloom_agent.home import Joined
from starloom_agent.identity import Identity, signed_by
from starloom_protocol.signed_requests import LEAVE, answer_bytes, request_bytes


def ask(joined: Joined, identity: Identity, what: str) -> Any:
    """Send a signed request and return the answer that the hub of this device signed.

    Raises:
        JoinRefused: the hub refuses or cannot be reached, or something else answers in its place.
    """
    nonce = secrets.token_hex(32)
    signed = request_bytes(what, hub=joined.hub_key, device=identity.device, nonce=nonce)
    body = {"device": identity.device, "nonce": nonce, "signature": identity.sign(signed)}
    said = joining.request(Route(joined.hub, joined.pin, joined.via), "POST", f"/agent/{what}", body)
    answer, signature = said.get("answer"), str(said.get("signature", ""))
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
        JoinRefused: the hub was not told.
    """
    ask(joined, identity, LEAVE)
