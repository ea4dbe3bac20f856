"""The fleet and the access of people are streams as constellations are, and no input takes them back (T265).

An input about a constellation that has left memory loads it from the history, which may be some commits behind, or
away: then late results wait for it (T268).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from starloom.core.clock.retirement import missing
from starloom.core.state import inputs as i
from starloom.engine.retention.retiring import WAITING_MOST
from starloom.store.port import Unavailable
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import LeaseRef, ResultFrame
from tests.engine.retention.test_retiring import control, hub
from tests.engine.test_loop import Hub, settle


def reported(name: str, report: int = 9) -> i.AnyInput:
    at = LeaseRef(attempt=1, constellation=name, incarnation=1, task="a")
    frame = ResultFrame(at=at, outcome=Outcome.OK, report=report, value="1")
    return i.ResultReported(by="device:d-one", device="d-one", frame=frame, id="lie")


def asked(name: str) -> i.AnyInput:
    return control("cancel", name)


async def behind(found: Hub, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let the history fall behind, revoke a device meanwhile, and return the number of that event."""

    def slow(*_: object) -> None:
        raise Unavailable("the history is slow")

    monkeypatch.setattr(found.history, "write", slow)
    revoked = i.DeviceControlled(action="revoke", by="person:ann", device="d-two", id="revoke", scope="owner")
    found.engine.inbox.post(revoked)
    await settle()
    return found.engine.shard.fleet.seq


@pytest.mark.parametrize("lie", [reported, asked], ids=["device", "person"])
async def test_t265_no_input_takes_the_fleet_back(
    lie: Callable[[str], i.AnyInput], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hub() as found:
        await found.join("two")
        await settle()
        last = await behind(found, monkeypatch)
        found.engine.inbox.post(lie(FLEET))
        await settle()
        assert (found.engine.shard.fleet.seq, found.redis.heads[FLEET]) == (last, last)
        assert found.engine.shard.fleet.devices["d-two"].revoked
        assert missing(found.engine.shard, [lie(FLEET), lie(ACCESS), lie("c9")]) == ["c9"]


async def test_t268_late_results_that_wait_for_the_history_are_bounded() -> None:
    async with hub() as found:
        found.history.down = True
        for number in range(2 * WAITING_MOST):
            found.engine.inbox.post(reported(f"c{number}", number))
        await settle()
        assert len(found.engine.retiring.take_waiting()) == WAITING_MOST
