"""Artifacts: resumed uploads, proof by hash, limits, and what is left after a crash."""

from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom.store.blobs.artifacts import BlobRefused, FileBlobs, Owners
from starloom_protocol.vocabulary import Code

pytestmark = pytest.mark.short


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> FileBlobs:
    return FileBlobs(tmp_path)


def refusal(code: Code, blobs: FileBlobs, sha256: str, offset: int, total: int, chunk: bytes) -> BlobRefused:
    with pytest.raises(BlobRefused) as refused:
        blobs.append(sha256, offset, total, chunk)
    assert refused.value.fault.code is code
    assert refused.value.fault.hint
    return refused.value


def test_an_upload_in_parts_is_there_only_when_it_is_whole(blobs: FileBlobs) -> None:
    raw = b"0123456789"
    name = digest(raw)
    assert not blobs.append(name, 0, 10, raw[:4])
    assert (blobs.offset(name), blobs.size(name), blobs.has(name)) == (4, None, False)
    with pytest.raises(BlobRefused, match="not all bytes of this hash have arrived"):
        blobs.open(name)
    assert blobs.append(name, 4, 10, raw[4:])
    assert (blobs.offset(name), blobs.size(name), blobs.has(name)) == (0, 10, True)
    with blobs.open(name) as file:
        assert file.read() == raw


def test_an_upload_goes_on_after_a_restart(tmp_path: Path) -> None:
    raw = bytes(range(256)) * 10
    name = digest(raw)
    FileBlobs(tmp_path).append(name, 0, len(raw), raw[:1000])
    again = FileBlobs(tmp_path)
    assert again.offset(name) == 1000
    assert again.used_bytes == 1000
    assert again.append(name, 1000, len(raw), raw[1000:])
    assert again.used_bytes == len(raw)


def test_a_chunk_from_elsewhere_is_refused_with_where_to_go_on(blobs: FileBlobs) -> None:
    raw = b"0123456789"
    name = digest(raw)
    blobs.append(name, 0, 10, raw[:4])
    for offset in (0, 3, 5):
        assert refusal(Code.CONFLICT, blobs, name, offset, 10, b"xx").offset == 4
    assert blobs.append(name, 4, 10, raw[4:])


def test_wrong_bytes_are_discarded_and_can_be_sent_again(blobs: FileBlobs) -> None:
    raw = b"0123456789"
    name = digest(raw)
    blobs.append(name, 0, 10, b"01234")
    found = refusal(Code.ARTIFACT_CORRUPT, blobs, name, 5, 10, b"xxxxx")
    assert digest(b"01234xxxxx") in found.fault.reason
    assert (blobs.offset(name), blobs.used_bytes) == (0, 0)
    assert blobs.append(name, 0, 10, raw)


def test_a_whole_artifact_can_be_sent_again_and_no_wrong_byte_counts_as_all_of_it(blobs: FileBlobs) -> None:
    name = blobs.put_bytes(b"hello")
    assert blobs.append(name, 0, 5, b"hello", owner="device:a")
    assert blobs.put_bytes(b"hello") == name
    assert blobs.used_bytes == 5
    assert not blobs.append(name, 0, 5, b"X", owner="device:b")
    refusal(Code.ARTIFACT_CORRUPT, blobs, name, 0, 5, b"XXXXX")
    assert refusal(Code.CONFLICT, blobs, name, 4, 5, b"o").offset == 0
    blobs.collect(name, 4_000_000_000.0)
    assert blobs.used_bytes == 0
    blobs.put_bytes(b"hello")
    with blobs.open(name) as file:
        assert file.read() == b"hello"


def test_nothing_is_an_artifact_too(blobs: FileBlobs) -> None:
    name = digest(b"")
    assert blobs.append(name, 0, 0, b"")
    assert blobs.size(name) == 0
    assert blobs.offset(name) == 0


def test_an_upload_whose_last_step_was_cut_off_ends_with_an_empty_chunk(blobs: FileBlobs, tmp_path: Path) -> None:
    raw = b"0123456789"
    (tmp_path / "partial" / digest(raw)).write_bytes(raw)
    again = FileBlobs(tmp_path)
    assert (again.offset(digest(raw)), again.has(digest(raw))) == (10, False)
    assert again.append(digest(raw), 10, 10, b"")
    assert again.has(digest(raw))


def test_putting_bytes_replaces_an_unfinished_upload_of_them(blobs: FileBlobs) -> None:
    raw = b"0123456789"
    name = digest(raw)
    blobs.append(name, 0, 10, raw[:4])
    assert blobs.put_bytes(raw) == name
    assert blobs.used_bytes == 10
    assert blobs.has(name)


def test_a_full_store_refuses_at_the_first_chunk(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path, quota_bytes=15)
    blobs.put_bytes(b"0123456789")
    raw = b"abcdefgh"
    found = refusal(Code.NO_SPACE, blobs, digest(raw), 0, 8, raw[:2])
    assert "10 of at most 15" in found.fault.reason
    assert blobs.offset(digest(raw)) == 0
    with pytest.raises(BlobRefused):
        blobs.put_bytes(raw)
    assert blobs.used_bytes == 10
    assert blobs.put_bytes(b"abcde")


def test_sizes_are_held_to_what_was_announced(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path, artifact_bytes_most=100)
    refusal(Code.TOO_LARGE, blobs, digest(b"x"), 0, 101, b"x")
    refusal(Code.BAD_REQUEST, blobs, digest(b"x"), 0, 1, b"xy")
    assert blobs.used_bytes == 0


@pytest.mark.parametrize("name", ["", "abc", "../../etc/passwd", "A" * 64, "0" * 65, "g" * 64, "0" * 63 + "\n"])
def test_only_a_hash_names_an_artifact(blobs: FileBlobs, name: str) -> None:
    for call in (blobs.size, blobs.has, blobs.offset, blobs.open):
        with pytest.raises(BlobRefused) as refused:
            call(name)
        assert refused.value.fault.code is Code.BAD_REQUEST
    refusal(Code.BAD_REQUEST, blobs, name, 0, 1, b"x")


def test_an_unknown_artifact_is_not_found(blobs: FileBlobs) -> None:
    with pytest.raises(BlobRefused) as refused:
        blobs.open(digest(b"never"))
    assert refused.value.fault.code is Code.NOT_FOUND


def test_an_upload_is_completed_or_spoiled_by_nobody_but_its_owner(blobs: FileBlobs) -> None:
    raw = b"0123456789"
    name = digest(raw)
    assert not blobs.append(name, 0, 10, raw[:9], owner="device:a")
    for offset, chunk in ((9, raw[9:]), (9, b"?")):
        with pytest.raises(BlobRefused) as refused:
            blobs.append(name, offset, 10, chunk, owner="device:b")
        assert (refused.value.fault.code, refused.value.offset) == (Code.CONFLICT, 0)
    with pytest.raises(BlobRefused) as refused:
        blobs.append(name, 0, 10, b"?" * 10, owner="device:b")
    assert refused.value.fault.code is Code.ARTIFACT_CORRUPT
    assert (blobs.offset(name, "device:a"), blobs.offset(name, "device:b"), blobs.used_bytes) == (9, 0, 9)
    assert blobs.append(name, 9, 10, raw[9:], owner="device:a")
    assert (blobs.offset(name, "device:a"), blobs.used_bytes) == (0, 10)


def test_bytes_that_the_disk_did_not_take_do_not_count(blobs: FileBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = b"0123456789"

    def broken(*_args: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("starloom.store.blobs.artifacts.os.fsync", broken)
        for _ in range(3):
            with pytest.raises(OSError, match="Input/output"):
                blobs.put_bytes(raw, owner="person:p")
    assert blobs.used_bytes == 0
    assert blobs.put_bytes(raw, owner="person:p")
    assert blobs.used_bytes == 10


def test_a_full_disk_is_said_plainly_and_leaves_the_upload_where_it_was(
    blobs: FileBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = b"0123456789"
    name = digest(raw)
    blobs.append(name, 0, 10, raw[:4])

    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("starloom.store.blobs.artifacts.os.fsync", full)
        refusal(Code.NO_SPACE, blobs, name, 4, 10, raw[4:])
    assert not blobs.has(name)
    assert blobs.offset(name) == 4
    assert blobs.used_bytes == 4
    assert blobs.append(name, 4, 10, raw[4:])


@pytest.mark.parametrize("files", range(6))
def test_a_disk_without_room_for_files_leaves_the_count_true(
    files: int, blobs: FileBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = files
    raws = [bytes([number]) * 100 for number in range(3)]

    def bounded(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(path: Path, *args: Any, **more: Any) -> Any:
            nonlocal left
            if not path.exists() and args != ("rb",):
                left -= 1
                if left < 0:
                    raise OSError(errno.ENOSPC, "No space left on device")
            return make(path, *args, **more)

        return made

    def send(raw: bytes, owner: str) -> None:
        for end in (50, 100):
            offset = blobs.offset(digest(raw), owner)
            blobs.append(digest(raw), offset, 100, raw[offset:end], owner=owner)

    with monkeypatch.context() as patch:
        for name in ("touch", "mkdir", "open"):
            patch.setattr(Path, name, bounded(getattr(Path, name)))
        for raw in raws * 2:
            with suppress(BlobRefused):
                send(raw, "device:d")
    kept = [file for folder in ("artifacts", "partial") for file in (tmp_path / folder).rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in kept)
    assert (blobs.used_bytes, blobs._owners.used("device:d")) == (size, size)
    blobs.recount()
    assert (blobs.used_bytes, blobs._owners.used("device:d")) == (size, size)
    marks = {mark.name for mark in (tmp_path / "owners").glob("*/*")}
    assert marks == {file.name for file in kept}


def test_a_count_overlooks_an_upload_that_another_hub_has_finished_meanwhile(
    blobs: FileBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs.put_bytes(b"there")
    blobs.append(digest(b"sent"), 0, 4, b"se", owner="device:d")
    count = Owners.count

    def counted(owners: Owners, name: str, owner: str, size: int) -> None:
        count(owners, name, owner, size)
        for upload in (tmp_path / "partial").iterdir():
            upload.unlink()

    monkeypatch.setattr(Owners, "count", counted)
    blobs.recount()
    assert blobs.used_bytes == len(b"there")


def test_two_devices_sending_the_same_file_do_not_mix(blobs: FileBlobs) -> None:
    raw = bytes(range(256)) * 64
    name = digest(raw)
    faults: list[BaseException] = []

    def send() -> None:
        try:
            while not blobs.has(name):
                offset = blobs.offset(name)
                try:
                    blobs.append(name, offset, len(raw), raw[offset : offset + 500])
                except BlobRefused as error:
                    if error.fault.code is not Code.CONFLICT:
                        raise
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with blobs.open(name) as file:
        assert file.read() == raw
    # A sender that looked just before another one finished has begun the file again.
    assert blobs.used_bytes == len(raw) + blobs.offset(name)


@settings(max_examples=40, deadline=None)
@given(raw=st.binary(max_size=300), cuts=st.lists(st.integers(1, 80), max_size=8))
def test_any_way_of_cutting_gives_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, cuts: list[int]
) -> None:
    blobs = FileBlobs(tmp_path_factory.mktemp("blobs"))
    name, at = digest(raw), 0
    for cut in [*cuts, len(raw) + 1]:
        done = blobs.append(name, at, len(raw), raw[at : at + cut])
        at = min(len(raw), at + cut)
        assert done == (at == len(raw))
        if done:
            break
    with blobs.open(name) as file:
        assert file.read() == raw
