"""One worker has a job once, however many messages say that it is open."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from starloom.jobs import running
from starloom.jobs.claiming import Answered
from starloom.jobs.running import ClaimedJobs
from tests.waiting import PATIENCE_S


class Inbox:
    """Takes every claim, as the engine takes a second one of the same worker for a renewal."""

    async def post(self, _raw: bytes, *, answer_within_s: float | None) -> bytes:
        return msgspec.json.encode(Answered(value={"claimed": answer_within_s is not None}))


@pytest.fixture
def claimed(monkeypatch: pytest.MonkeyPatch) -> ClaimedJobs:
    async def opened(*_: Any, **__: Any) -> Any:
        async def close() -> None:
            return None

        return SimpleNamespace(inbox=Inbox(), close=close)

    monkeypatch.setattr(running, "open_store", opened)
    return ClaimedJobs("redis://x", "sqlite://x", "w-1")


def test_a_second_message_about_a_job_that_is_under_way_starts_nothing(claimed: ClaimedJobs) -> None:
    begun: list[str] = []
    inside, go_on = threading.Event(), threading.Event()

    async def work(_reads: Any, _inbox: Any, _constellation: str, job: str) -> None:
        begun.append(job)
        inside.set()
        assert go_on.wait(PATIENCE_S)

    first = threading.Thread(target=claimed.run, args=("c1", "plan-1", work))
    first.start()
    assert inside.wait(PATIENCE_S)
    claimed.run("c1", "plan-1", work)
    assert begun == ["plan-1"]
    go_on.set()
    first.join(PATIENCE_S)
    claimed.run("c1", "plan-2", work)
    claimed.run("c1", "plan-1", work)
    assert begun == ["plan-1", "plan-2", "plan-1"]


def test_a_job_that_failed_can_be_begun_again(claimed: ClaimedJobs) -> None:
    tries: list[str] = []

    async def work(_reads: Any, _inbox: Any, _constellation: str, job: str) -> None:
        tries.append(job)
        if len(tries) == 1:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        claimed.run("c1", "plan-1", work)
    claimed.run("c1", "plan-1", work)
    assert tries == ["plan-1", "plan-1"]
