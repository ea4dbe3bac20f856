"""The card of an agent that is reached by A2A: read from the owner's address, with as few of its fields as possible.

The card names interfaces; only one at the very host that the owner wrote is used. Its words about itself stand in no
offer and widen nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from starloom_agent.toolkit.clients import http_streams
from starloom_agent.toolkit.clients.http_streams import AddressFault
from starloom_protocol.text.wording import quoted

PATH: Final = "/.well-known/agent-card.json"
VERSION: Final = "1.0"
GREET_S: Final = 30.0
"""For the card alone: the work that follows has a time of its own."""
_CARD_BYTES_MOST: Final = 256 * 1024
"""A name, an address and one ability of it are used."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a card that are used."""

    name: str
    streams: bool
    url: str


def read_card(address: str, headers: Mapping[str, str]) -> Card:
    """Return the card at an address.

    Raises:
        AddressFault: there is none, or it offers nothing that may be used.
    """
    url = address.rstrip("/") + PATH
    connection = http_streams.connect(url, GREET_S)
    try:
        answer = http_streams.ask(connection, "GET", url, {**headers, "Accept": "application/json"})
        if answer.status != 200:
            raise AddressFault(f"its card cannot be read: status {answer.status}")
        data = bytearray()
        for part in http_streams.chunks(answer, connection, time.monotonic() + GREET_S):
            data += part
            if len(data) > _CARD_BYTES_MOST:
                raise AddressFault(f"its card is larger than {_CARD_BYTES_MOST} bytes")
    finally:
        connection.close()
    try:
        document = msgspec.json.decode(bytes(data))
    except msgspec.DecodeError as error:
        raise AddressFault("its card is no JSON") from error
    return _card(address, document)


def _card(address: str, document: Any) -> Card:
    listed = document.get("supportedInterfaces") if isinstance(document, dict) else None
    spoken = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    usable = [
        one
        for one in spoken
        if one.get("protocolBinding") == "JSONRPC" and str(one.get("protocolVersion")).startswith("1.")
    ]
    if not usable:
        raise AddressFault("its card offers no JSON-RPC of A2A 1.0")
    here = [str(one.get("url")) for one in usable if _is_at(str(one.get("url")), address)]
    if not here:
        elsewhere = quoted(str(usable[0].get("url"))[:200])
        raise AddressFault(f"its card names {elsewhere}, which is another host than the one that the owner wrote")
    able = document.get("capabilities")
    name = "".join(sign if sign.isprintable() else " " for sign in str(document.get("name"))[:60])
    return Card(name=name, streams=isinstance(able, dict) and able.get("streaming") is True, url=here[0])


def _is_at(url: str, address: str) -> bool:
    return http_streams.address_fault(url) is None and http_streams.origin(url) == http_streams.origin(address)
