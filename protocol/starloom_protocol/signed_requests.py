"""The bytes of signed requests that a device makes outside a connection: to leave, to be upgraded.

The device signs the request, bound to the hub and a nonce of its own; the hub signs its answer, bound to both. So a
request is useless for another hub or device, and an impostor in the hub's place cannot answer.
"""

from __future__ import annotations

from typing import Any, Final

from starloom_protocol.values import canonical

LEAVE: Final = "leave"
UPGRADE: Final = "upgrade"


def request_bytes(what: str, *, hub: str, device: str, nonce: str) -> bytes:
    """Return the bytes that a device signs; `hub` is the hub's public key in base64."""
    fields = {"device": device, "hub": hub, "nonce": nonce}
    return f"starloom/aip/{what}/request\n".encode() + canonical(fields).encode()


def answer_bytes(what: str, *, hub: str, device: str, nonce: str, answer: Any) -> bytes:
    """Return the bytes that the hub signs: its answer, without the signature, to that request."""
    fields = {"answer": answer, "device": device, "hub": hub, "nonce": nonce}
    return f"starloom/aip/{what}/answer\n".encode() + canonical(fields).encode()
