"""A failure counts for the device of its task's last attempt, and a constellation is read once for each end."""

from __future__ import annotations

from starloom.edge.live import failed_work
from starloom.edge.live.failed_work import FailedWork, failed_on
from starloom.edge.live.views import Headlines
from starloom.store.port import StreamState
from starloom_protocol.records.entities import Attempt, Head, TaskRecord, encode_entity
from starloom_protocol.vocabulary import ConstellationState, Repeatability, TaskState


def task(state: TaskState, attempt: int = 0) -> bytes:
    return encode_entity(TaskRecord(attempt=attempt, since_ms=1, state=state))


def tried(device: str) -> bytes:
    return encode_entity(Attempt(device=device, incarnation=1, leased_ms=1, repeatability=Repeatability.PURE))


FAILED = {
    "head": b"{}",
    "task/a": task(TaskState.FAILED, 2),
    "attempt/a/1": tried("first"),
    "attempt/a/2": tried("last"),
    "task/b": task(TaskState.SUCCEEDED, 1),
    "attempt/b/1": tried("sound"),
    "task/c": task(TaskState.FAILED),
}


class Reads:
    """Failed constellations on the devices `last` and `sound`, of which the reads are noted."""

    def __init__(self, count: int) -> None:
        self.names = [f"c{number}" for number in range(count)]
        self.ended_ms = 5
        self.asked: list[str] = []

    async def headlines(self, streams: list[str]) -> dict[str, tuple[bytes, None]]:
        state = ConstellationState.FAILED
        heads = (
            Head(author="a", created_ms=1, ended_ms=self.ended_ms, id=stream, name="n", state=state)
            for stream in streams
        )
        return {head.id: (encode_entity(head), None) for head in heads}

    async def failed_work(self, devices: list[str], since_ms: int) -> dict[str, list[str]]:
        return {name: ["last", "sound"] for name in self.names}

    async def entities(self, stream: str) -> StreamState:
        self.asked.append(stream)
        return StreamState(1, FAILED)


def test_only_the_last_attempt_of_a_failed_task_counts() -> None:
    assert failed_on(FAILED) == {"last"}


async def test_a_constellation_is_read_once_for_each_end() -> None:
    reads = Reads(1)
    headlines = Headlines(reads)  # type: ignore[arg-type]
    work = FailedWork(reads, headlines)  # type: ignore[arg-type]
    for _ in range(2):
        assert await work.count(["last", "sound"], 0) == {"last": 1}
    assert reads.asked == ["c0"]
    reads.ended_ms = 9
    headlines.reset()
    await work.count(["last", "sound"], 0)
    assert reads.asked == ["c0", "c0"]


async def test_one_request_reads_a_bounded_number() -> None:
    reads = Reads(failed_work.READ_MOST + 3)
    work = FailedWork(reads, Headlines(reads))  # type: ignore[arg-type]
    assert await work.count(["last", "sound"], 0) == {"last": failed_work.READ_MOST + 3, "sound": 3}
    assert len(reads.asked) == failed_work.READ_MOST
    assert await work.count(["last", "sound"], 0) == {"last": failed_work.READ_MOST + 3}
