"""What goes and what stays: names anywhere in what is kept, values that name files, and races with uploads."""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from starloom.store.blobs.artifacts import BlobRefused, FileBlobs
from starloom.store.blobs.collection import PAGE_BYTES, ArtifactRetention, Collector, StreamArtifacts
from starloom.store.blobs.logs import AttemptLogs
from starloom_protocol.vocabulary import Code

pytestmark = pytest.mark.short

NOW_S = 1_000_000.0
KEEPING = ArtifactRetention(unnamed_s=100, logs_s=1000, logs_bytes=100)


@dataclass
class Names:
    """What is kept, by stream; `late` is a stream that is listed only from the second list on."""

    told: dict[str, StreamArtifacts] = field(default_factory=dict)
    late: dict[str, StreamArtifacts] = field(default_factory=dict)
    lists: int = 0
    running_now: set[str] = field(default_factory=set)

    async def streams(self) -> set[str]:
        self.lists += 1
        return set(self.told) | (set(self.late) if self.lists > 1 else set())

    async def running(self) -> set[str]:
        return self.running_now

    async def read(self, stream: str) -> StreamArtifacts:
        return {**self.told, **self.late}.get(stream, StreamArtifacts())


class Place:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.blobs = FileBlobs(home)
        self.logs = AttemptLogs(home)
        self.names = Names()
        self.collector = Collector(self.blobs, self.logs, self.names, KEEPING)

    def put(self, raw: bytes, age_s: float, owner: str = "") -> str:
        sha256 = self.blobs.put_bytes(raw, owner=owner)
        self.age(sha256, age_s)
        return sha256

    def age(self, sha256: str, age_s: float) -> None:
        for path in self.home.rglob(sha256):
            os.utime(path, (NOW_S - age_s, NOW_S - age_s))

    def log(self, constellation: str, text: str, age_s: float) -> None:
        self.logs.append(constellation, "task", 1, 0, text)
        for path in (self.home / "logs" / constellation).rglob("*.log"):
            os.utime(path, (NOW_S - age_s, NOW_S - age_s))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_only_what_is_old_and_named_by_nothing_goes(place: Place) -> None:
    old, young, named = place.put(b"old", 101), place.put(b"young", 99), place.put(b"named", 101)
    place.names.told["c-1"] = StreamArtifacts(entities=[b'{"args":"{\\"artifact\\":\\"%s\\"}"}' % named.encode()])
    assert await place.collector.collect(NOW_S) == 3
    assert (place.blobs.has(old), place.blobs.has(young), place.blobs.has(named)) == (False, True, True)
    assert place.blobs.used_bytes == len(b"young") + len(b"named")


async def test_a_part_that_nobody_went_on_with_goes(place: Place) -> None:
    sha256 = hashlib.sha256(b"0123456789").hexdigest()
    place.blobs.append(sha256, 0, 10, b"0123")
    place.age(sha256, 101)
    assert await place.collector.collect(NOW_S) == 4
    assert (place.blobs.offset(sha256), place.blobs.used_bytes) == (0, 0)


async def test_a_value_that_was_too_big_keeps_the_files_it_names(place: Place) -> None:
    inner = place.put(b"a file", 101)
    # Its hash lies over the border of two pages.
    value = place.put(b'"' + b" " * (PAGE_BYTES - 31) + inner.encode() + b'"', 101)
    place.names.told["c-1"] = StreamArtifacts(entities=[value.encode()], values=[value, "0" * 64])
    assert await place.collector.collect(NOW_S) == 0
    place.names.told["c-1"] = StreamArtifacts(entities=[value.encode()])
    assert await place.collector.collect(NOW_S) == len(b"a file")


async def test_what_came_since_the_oldest_running_attempt_began_stays(place: Place) -> None:
    before, since = place.put(b"before", 600), place.put(b"since", 400)
    place.names.told["c-1"] = StreamArtifacts(running_since_s=NOW_S - 500)
    place.names.told["c-2"] = StreamArtifacts(running_since_s=NOW_S - 10)
    await place.collector.collect(NOW_S)
    assert (place.blobs.has(before), place.blobs.has(since)) == (False, True)


async def test_what_is_named_while_the_names_are_read_stays(place: Place) -> None:
    named = place.put(b"named late", 101)
    place.names.told["c-1"] = StreamArtifacts()
    place.names.late["c-2"] = StreamArtifacts(entities=[named.encode()])
    assert await place.collector.collect(NOW_S) == 0
    assert place.blobs.has(named)


async def test_a_device_that_hears_that_the_hub_has_it_may_rely_on_it(place: Place) -> None:
    asked, sent, put = (place.put(raw, 101) for raw in (b"asked", b"sent", b"put"))
    read = place.names.read

    async def meanwhile(stream: str) -> StreamArtifacts:
        assert place.blobs.claim(asked) == 5
        assert place.blobs.append(sent, 0, 4, b"sent")
        assert place.blobs.put_bytes(b"put") == put
        return await read(stream)

    place.names.read = meanwhile  # type: ignore[method-assign]
    place.names.told["c-1"] = StreamArtifacts()
    assert await place.collector.collect(NOW_S) == 0
    assert all(map(place.blobs.has, (asked, sent, put)))


async def test_nothing_goes_when_the_names_cannot_be_read(place: Place) -> None:
    old = place.put(b"old", 101)

    async def away(stream: str) -> StreamArtifacts:
        raise OSError(f"{stream} cannot be read")

    place.names.read = away  # type: ignore[method-assign]
    place.names.told["c-1"] = StreamArtifacts()
    with pytest.raises(OSError, match="c-1"):
        await place.collector.collect(NOW_S)
    assert place.blobs.has(old)


def test_who_reads_an_artifact_reads_it_to_its_end(place: Place) -> None:
    sha256 = place.put(b"0123456789", 101)
    with place.blobs.open(sha256) as file:
        assert file.read(5) == b"01234"
        assert place.blobs.collect(sha256, NOW_S) == 10
        assert file.read() == b"56789"


def test_uploads_and_collection_of_the_same_hash_leave_all_of_it_or_nothing(place: Place) -> None:
    raw = bytes(range(256)) * 16
    sha256 = hashlib.sha256(raw).hexdigest()
    faults: list[BaseException] = []

    def send() -> None:
        try:
            for _ in range(60):
                offset = place.blobs.offset(sha256, "device:a")
                with suppress(BlobRefused):  # the other sender, or the collector, was quicker
                    whole = place.blobs.append(sha256, offset, len(raw), raw[offset : offset + 1500], owner="device:a")
                    assert whole or offset + 1500 < len(raw)
        except BaseException as error:
            faults.append(error)

    def take() -> None:
        for _ in range(60):
            place.blobs.collect(sha256, 4_000_000_000.0)

    threads = [threading.Thread(target=work) for work in (send, take, send)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    left = sum(path.stat().st_size for path in place.home.rglob(f"{sha256}*"))
    assert place.blobs.used_bytes == left == FileBlobs(place.home).used_bytes
    place.blobs.collect(sha256, 4_000_000_000.0)
    assert place.blobs.put_bytes(raw) == sha256
    with place.blobs.open(sha256) as file:
        assert file.read() == raw


def test_one_who_fills_the_store_is_stopped_and_others_are_not(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path, quota_bytes=100, owner_bytes_most=10)
    first = blobs.put_bytes(b"01234567", owner="device:a")
    with pytest.raises(BlobRefused) as refused:
        blobs.put_bytes(b"abc", owner="device:a")
    assert refused.value.fault.code is Code.NO_SPACE
    assert "device:a has brought 8 of at most 10 bytes" in refused.value.fault.reason
    assert blobs.put_bytes(b"abc", owner="person:p/1")
    assert blobs.put_bytes(b"01234567", owner="person:p/1") == first, "what is there costs nobody again"
    again = FileBlobs(tmp_path, quota_bytes=100, owner_bytes_most=10)
    with pytest.raises(BlobRefused, match="device:a has brought 8"):
        again.put_bytes(b"xyz", owner="device:a")
    again.collect(first, 4_000_000_000.0)
    assert again.put_bytes(b"xyz", owner="device:a")


def test_the_first_who_sends_all_of_an_artifact_pays_for_it_and_uploads_count_for_their_senders(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path, owner_bytes_most=12)
    raw = b"0123456789"
    sha256 = hashlib.sha256(raw).hexdigest()
    blobs.append(sha256, 0, 10, raw[:4], owner="device:a")
    assert blobs.append(sha256, 0, 10, raw, owner="device:b")
    for owner, most in (("device:a", 8), ("device:b", 2)):
        with pytest.raises(BlobRefused):
            blobs.put_bytes(b"x" * (most + 1), owner=owner)
    blobs.append(sha256, 4, 10, raw[4:], owner="device:a")
    assert blobs.put_bytes(b"abcdefghijkl", owner="device:a")
    blobs = FileBlobs(tmp_path, owner_bytes_most=12)
    with pytest.raises(BlobRefused, match="device:b has brought 10"):
        blobs.put_bytes(b"xyz", owner="device:b")


async def test_logs_go_by_age_then_by_size_and_never_those_of_what_runs(place: Place) -> None:
    for name, size, age_s in (("c-old", 10, 1001), ("c-runs", 10, 5000), ("c-big", 80, 500), ("c-new", 60, 100)):
        place.log(name, "x" * size, age_s)
    place.names.running_now = {"c-runs"}
    await place.collector.collect(NOW_S)
    assert {path.name for path in (place.home / "logs").iterdir()} == {"c-runs", "c-new"}
    assert place.logs.read("c-old", "task", 1).text == ""
    place.logs.append("c-old", "task", 1, 0, "late")
    assert place.logs.read("c-old", "task", 1).text == "late"
