"""T225: a device ends its connection with words that write a line, or terminal commands, into the log of the hub."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.edge.world import an_offer
from tests.guard.test_evil_device_wire import RealAgent
from tests.installation import Installation

pytestmark = pytest.mark.test

FORGED = "2026-01-01 00:00:00,000 INFO starloom.edge token revoked by ada"
WORDS = f"done\r\n{FORGED}\x1b[2J\u2028{FORGED}"
FRAMES = ({"t": "bye", "reason": WORDS}, {"t": "error", "code": "internal", "reason": WORDS})


async def _read_on(line: Any) -> None:
    while True:
        await line.receive()


async def _end_with(agent: RealAgent, frame: dict[str, str]) -> None:
    await agent.connect(None, offer=an_offer("t.look"))  # type: ignore[arg-type]
    assert agent.ws is not None
    agent.session._sent += 1
    await agent.ws.send(agent.sealed(json.dumps({"n": agent.session._sent, "f": [frame]})))
    with pytest.raises(ConnectionError):
        await _read_on(agent.ws)


def test_t225_no_word_of_a_device_begins_a_line_of_the_log(tmp_path: Path) -> None:
    hub = Installation(tmp_path / "home")
    try:
        hub.up("--no-agent")
        evil = RealAgent("evil", hub.client, "observe")
        for frame in FRAMES:
            asyncio.run(_end_with(evil, frame))
    finally:
        hub.close()
    log = "".join(path.read_bytes().decode() for path in (tmp_path / "home" / "logs").glob("*.log"))
    assert log.count(FORGED) >= 2 * len(FRAMES)
    assert [line for line in log.splitlines() if line.startswith(FORGED[:10])] == []
    assert "\x1b" not in log
