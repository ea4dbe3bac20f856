"""Requests that a device signs beside a connection, true ones and forged ones."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from starloom_protocol.wire.channel import request_bytes
from tests.edge.world import Agent, World


def signed_request(world: World, signer: Agent, what: str, *, device: str = "", hub: str = "") -> dict[str, Any]:
    """Return a request that `signer` signed, in its own name unless another device is given."""
    nonce, name = secrets.token_hex(32), device or signer.id
    signed = request_bytes(what, hub=hub or world.hub.key.text, device=name, nonce=nonce)
    return {"device": name, "nonce": nonce, "signature": base64.b64encode(signer.private.sign(signed)).decode()}


def forged_requests(world: World, victim: Agent, evil: Agent, what: str) -> dict[str, dict[str, Any]]:
    """Return what no hub may take as a request of the victim, each by why."""
    true, nonce = signed_request(world, victim, what), secrets.token_hex(32)
    raw = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return {
        "its own key for another": signed_request(world, evil, what, device=victim.id),
        "a key of nobody": signed_request(world, Agent("nobody"), what, device=victim.id),
        "a signature for another hub": signed_request(world, victim, what, hub=base64.b64encode(raw).decode()),
        "a signature for something else": signed_request(world, victim, "join"),
        "another's signature in its own name": {**true, "device": evil.id},
        "another nonce": {**true, "nonce": nonce},
        "no signature": {**true, "signature": ""},
        "a device that is not here": signed_request(world, evil, what, device="d-" + "a" * 26),
    }
