"""Logs of attempts: tail first, ranges, search, the limit with its stated loss, holes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom.store.blobs.artifacts import BlobRefused
from starloom.store.blobs.logs import SEGMENTS_MOST, AttemptLogs

pytestmark = pytest.mark.short

AT = ("c1", "fetch.3", 1)


@pytest.fixture
def logs(tmp_path: Path) -> AttemptLogs:
    return AttemptLogs(tmp_path, bytes_most=1600)


def test_output_is_read_back_in_ranges_and_from_the_end(logs: AttemptLogs) -> None:
    logs.append(*AT, 0, "one\ntwo\n")
    logs.append(*AT, 8, "three\n")
    part = logs.read(*AT, 0, 100)
    assert (part.text, part.offset, part.next, part.end, part.lost) == ("one\ntwo\nthree\n", 0, 14, 14, [])
    assert logs.read(*AT, 4, 4).text == "two\n"
    assert logs.read(*AT, None, 6).text == "three\n"
    assert logs.read(*AT, 14, 6).text == ""
    assert logs.read(*AT, 99, 6).next == 14


def test_an_attempt_without_output_has_an_empty_log(logs: AttemptLogs) -> None:
    part = logs.read("c1", "quiet", 1)
    assert (part.text, part.end, part.lost) == ("", 0, [])
    assert logs.search("c1", "quiet", 1, "x") == []


def test_what_came_before_is_not_written_twice(logs: AttemptLogs) -> None:
    logs.append(*AT, 0, "abcdef")
    logs.append(*AT, 0, "abcdef")
    logs.append(*AT, 3, "defghi")
    assert logs.read(*AT, 0, 100).text == "abcdefghi"


def test_a_hole_is_stated(logs: AttemptLogs) -> None:
    logs.append(*AT, 0, "abc")
    logs.append(*AT, 10, "xyz")
    part = logs.read(*AT, 0, 100)
    assert (part.text, part.lost, part.end) == ("abcxyz", [(3, 10)], 13)
    assert logs.read(*AT, 5, 100).lost == [(5, 10)]
    logs.append(*AT, 5, "late")
    assert logs.read(*AT, 0, 100).lost == [(3, 10)]


def test_head_and_tail_are_kept_and_the_loss_is_stated(logs: AttemptLogs, tmp_path: Path) -> None:
    text = "".join(f"{number:09d}\n" for number in range(1000))
    for at in range(0, len(text), 70):
        logs.append(*AT, at, text[at : at + 70])
    part = logs.read(*AT, 0, 100_000)
    assert part.end == 10_000
    ((gone_from, gone_to),) = part.lost
    assert gone_from == 800
    assert part.text == text[:800] + text[gone_to:]
    assert 600 <= part.end - gone_to <= 800
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.log")) <= 1600
    assert logs.read(*AT, None, 50).text == text[-50:]


def test_one_huge_chunk_is_cut_alike(logs: AttemptLogs) -> None:
    text = "x" * 100_000
    logs.append(*AT, 0, text)
    part = logs.read(*AT, 0, 1_000_000)
    assert part.end == 100_000
    assert len(part.text) <= 1600
    assert part.lost[0][0] == 800


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    text = "".join(f"{number:09d}\n" for number in range(300))
    for at in range(0, len(text), 100):
        AttemptLogs(tmp_path, bytes_most=1600).append(*AT, at, text[at : at + 100])
    part = AttemptLogs(tmp_path, bytes_most=1600).read(*AT, 0, 100_000)
    assert part.end == 3000
    assert part.text == text[:800] + text[part.lost[0][1] :]


def test_ranges_do_not_break_characters(logs: AttemptLogs) -> None:
    text = "aé€😀z"
    logs.append(*AT, 0, text)
    size = len(text.encode())
    for start in range(size + 1):
        part = logs.read(*AT, start, size)
        assert "\ufffd" not in part.text
        assert text.endswith(part.text)
    seen, at = "", 0
    while at < size:
        part = logs.read(*AT, at, 5)
        seen += part.text
        assert part.next > at
        at = part.next
    assert seen == text


def test_search_finds_lines_with_their_offsets(logs: AttemptLogs) -> None:
    logs.append(*AT, 0, "start\nAn Error here\nfi")
    logs.append(*AT, 22, "ne\nerror again\n")
    found = logs.search(*AT, "ERROR")
    assert [(line.offset, line.text) for line in found] == [(6, "An Error here"), (25, "error again")]
    assert logs.read(*AT, found[1].offset, 5).text == "error"
    assert [line.text for line in logs.search(*AT, "fine")] == ["fine"]
    assert len(logs.search(*AT, "r", most=2)) == 2
    assert logs.search(*AT, "absent") == []


def test_many_holes_stay_within_their_number(logs: AttemptLogs, tmp_path: Path) -> None:
    for number in range(SEGMENTS_MOST + 100):
        logs.append(*AT, 10_000 + number * 10, "x")
    assert len(list(tmp_path.rglob("*.log"))) <= SEGMENTS_MOST
    assert logs.read(*AT, None, 1).text == "x"


def test_attempts_do_not_mix_and_a_constellation_is_removed_whole(logs: AttemptLogs, tmp_path: Path) -> None:
    logs.append("c1", "a", 1, 0, "first")
    logs.append("c1", "a", 2, 0, "second")
    logs.append("c2", "a", 1, 0, "other")
    assert logs.read("c1", "a", 1).text == "first"
    logs.remove("c1")
    logs.remove("c1")
    assert logs.read("c1", "a", 2).text == ""
    assert logs.read("c2", "a", 1).text == "other"
    logs.append("c1", "a", 1, 0, "again")
    assert logs.read("c1", "a", 1).text == "again"


def test_a_hole_behind_every_byte_makes_no_more_files_than_allowed_and_the_tail_stays_whole(tmp_path: Path) -> None:
    logs = AttemptLogs(tmp_path, bytes_most=64 * 1024)
    for number in range(2 * SEGMENTS_MOST):
        logs.append(*AT, 2 * number, "x")
    assert len(list(tmp_path.rglob("*.log"))) == SEGMENTS_MOST
    assert logs.read(*AT, 0, 4).text.startswith("x"), "the head is kept"
    at = 4 * SEGMENTS_MOST
    for _ in range(100):
        logs.append(*AT, at, "y" * 1024)
        at += 1024
    assert len(list(tmp_path.rglob("*.log"))) <= SEGMENTS_MOST
    assert len(logs.read(*AT, None, 64 * 1024).text.strip("x")) >= 24 * 1024


def test_logs_expire_while_their_oldest_segments_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = AttemptLogs(tmp_path)
    logs.append(*AT, 0, "a")
    logs.append(*AT, 5, "b")
    listed = Path.rglob

    def found(folder: Path, pattern: str) -> Iterator[Path]:
        for number, path in enumerate(list(listed(folder, pattern))):
            if number == 0:
                path.unlink()
            yield path

    monkeypatch.setattr(Path, "rglob", found)
    assert logs.expire(0, 1 << 20, set()) == 0


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\\b", "x" * 300, "-x", "a\x00"])
def test_a_name_cannot_leave_the_directory(logs: AttemptLogs, name: str) -> None:
    with pytest.raises(BlobRefused):
        logs.append(name, "a", 1, 0, "x")
    with pytest.raises(BlobRefused):
        logs.read("c1", name, 1)
    with pytest.raises(BlobRefused):
        logs.remove(name)


@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(st.tuples(st.integers(0, 3), st.text(max_size=200)), max_size=30), limit=st.integers(8, 400))
def test_reading_on_gives_every_kept_byte_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[int, str]], limit: int
) -> None:
    logs = AttemptLogs(tmp_path_factory.mktemp("logs"), bytes_most=1600)
    at = 0
    for skip, text in pieces:
        at += skip
        logs.append(*AT, at, text)
        at += len(text.encode("utf-8", "replace"))
    whole = logs.read(*AT, 0, 1 << 20)
    assert whole.end == logs.read(*AT, None, 1).end
    seen, lost, position = "", [], 0
    while position < whole.end:
        part = logs.read(*AT, position, limit)
        assert part.next > position
        seen, position = seen + part.text, part.next
        lost.extend(part.lost)
    assert lost == whole.lost
    if not lost:
        assert seen == whole.text == "".join(text for _, text in pieces)
