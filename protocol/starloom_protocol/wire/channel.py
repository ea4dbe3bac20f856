"""The bytes that both sides of a connection sign and the keys that they derive: mutual authentication and integrity.

    transcript   hello and challenge, complete except for the hub's signature
    hub_proof    the bytes that the hub signs with its key; the agent checks them with the key it pinned at joining
    device_proof the bytes that the agent signs, the hub's signature included
    ChannelKeys  one key for each direction and one for HTTP, from the X25519 secret of both key shares
    request_bytes, answer_bytes   a request that a device signs outside a connection, and the hub's answer

The seal of a message is the HMAC of its text under the key of its direction, in hexadecimal digits after the text.
A request outside a connection (to leave, to be upgraded) and its answer are bound to hub, device and a nonce of the
device: it is useless for another hub or device, and an impostor in the hub's place cannot answer.
Signs nothing and holds no private key: Ed25519 and X25519 belong to the callers.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from starloom_protocol.values import canonical
from starloom_protocol.wire.frames import Challenge, Hello

SEAL_CHARS: Final = 32
"""128 bits, as hexadecimal digits."""
ANSWER_PROOF: Final = "starloom-proof"
"""The header of an answer to a proved request."""
_SEAL_BYTES: Final = SEAL_CHARS // 2


@dataclass(frozen=True, slots=True)
class ChannelKeys:
    """The keys of one connection: `agent` and `hub` seal the messages of each side, `http` proves requests."""

    agent: bytes
    http: bytes
    hub: bytes


def transcript(hello: Hello, challenge: Challenge) -> bytes:
    """Return the hash of the messages of both sides; the signature of the challenge does not count."""
    content = {
        "challenge": msgspec.to_builtins(msgspec.structs.replace(challenge, signature="")),
        "hello": msgspec.to_builtins(hello),
    }
    return hashlib.sha256(b"starloom/aip/handshake\n" + canonical(content).encode()).digest()


def hub_proof(script: bytes) -> bytes:
    """Return the bytes that the hub signs; `script` is the transcript."""
    return b"starloom/aip/hub\n" + script


def device_proof(script: bytes, hub_signature: str) -> bytes:
    """Return the bytes that an agent signs: bound to the transcript and to the hub's signature of it."""
    return b"starloom/aip/device\n" + script + hub_signature.encode()


def channel_keys(secret: bytes, script: bytes) -> ChannelKeys:
    """Derive the keys of a connection by HKDF-SHA256 from the X25519 secret, salted with the transcript."""
    extracted = hmac.digest(script, secret, "sha256")
    agent, http, hub = (
        hmac.digest(extracted, b"starloom/aip/" + label + b"\x01", "sha256") for label in (b"agent", b"http", b"hub")
    )
    return ChannelKeys(agent, http, hub)


def seal(key: bytes, text: bytes) -> bytes:
    """Return the message with its seal behind it."""
    return text + hmac.digest(key, text, "sha256")[:_SEAL_BYTES].hex().encode()


def unseal(key: bytes, message: bytes) -> bytes | None:
    """Return the text of a sealed message, or None if the seal is not that of the key."""
    text = message[:-SEAL_CHARS]
    return text if hmac.compare_digest(seal(key, text), message) else None


def request_proof(key: bytes, method: str, sha256: str, *, offset: str = "", length: str = "", span: str = "") -> str:
    """Return the proof of one request for an artifact; `span` is its Range, all are the headers' own text.

    The bytes of an upload are not in it: they are named by `sha256`.
    """
    text = "\n".join(("starloom/aip/request", method, sha256, offset, length, span))
    return hmac.digest(key, text.encode(), "sha256").hex()


def answer_proof(key: bytes, request: str, status: int, offset: str) -> str:
    """Return the proof of the hub's answer to the request of this proof; `offset` is its Upload-Offset or ""."""
    text = "\n".join(("starloom/aip/answer", request, str(status), offset))
    return hmac.digest(key, text.encode(), "sha256").hex()


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
