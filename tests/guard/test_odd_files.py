"""A neighbour puts odd files into a granted folder: each call ends, and none passes over a file in silence (T132).

Pipes, sockets, sparse files, names that are no text or steer a terminal, folders without a bottom, links to files
outside. Each tool runs as on a device, in a process of its own.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.messages import Ended
from starloom_protocol.vocabulary import Code, Outcome
from tests.device_agents.played_call import Loop
from tests.device_agents.wire.test_artifacts import Store
from tests.guard.confined import as_a_device, storing
from tests.guard.links import CANARY, Place

SPARSE_BYTES = 1 << 40


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop(warm=True)
    yield made
    made.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    (made.docs / "odd").mkdir()
    return made


@pytest.fixture
def hub(place: Place) -> Iterator[tuple[Store, Path]]:
    with storing(place) as made:
        yield made


def _pipe(at: Path, _: Place) -> None:
    os.mkfifo(at)


def _socket(at: Path, _: Place) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(at))


def _sparse(at: Path, _: Place) -> None:
    with at.open("wb") as file:
        file.truncate(SPARSE_BYTES)


def _no_text(at: Path, _: Place) -> None:
    Path(os.fsdecode(os.fsencode(at) + b"-\xff")).write_text("data", encoding="utf-8")


def _no_text_folder(at: Path, _: Place) -> None:
    folder = Path(os.fsdecode(os.fsencode(at) + b"-\xff"))
    folder.mkdir()
    (folder / "inner").write_text("data", encoding="utf-8")


def _line_break(at: Path, _: Place) -> None:
    at.with_name("x\n\x1b[31mred").write_text("data", encoding="utf-8")


def _bottomless(at: Path, _: Place) -> None:
    at.mkdir()
    folder = os.open(at, os.O_RDONLY)
    for _number in range(100):
        os.mkdir("n" * 100, dir_fd=folder)
        inner = os.open("n" * 100, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("last", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


def _deep(at: Path, _: Place) -> None:
    folder = at.joinpath(*["n"] * 70)
    folder.mkdir(parents=True)
    (folder / "last").write_text("data", encoding="utf-8")


def _hard_link(at: Path, place: Place) -> None:
    outside = place.outside / "secret"
    outside.write_text("theirs", encoding="utf-8")
    at.hardlink_to(outside)


ODD = {
    "pipe": _pipe,
    "socket": _socket,
    "sparse": _sparse,
    "no-text": _no_text,
    "no-text-folder": _no_text_folder,
    "line-break": _line_break,
    "bottomless": _bottomless,
    "deep": _deep,
    "hard-link": _hard_link,
}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "list": ("fs.list", {"path": "odd", "hidden": True}),
    "find": ("fs.find", {"root": "odd", "hidden": True}),
    "words": ("fs.find", {"root": "odd", "words": "data"}),
    "read": ("fs.read", {"path": "odd/x"}),
    "stat": ("fs.stat", {"paths": ["odd/x"]}),
    "log": ("log.search", {"path": "odd", "since": "2020-01-01"}),
    "image": ("image.info", {"files": [{"path": "odd/x"}]}),
    "query": ("sqlite.query", {"path": "odd/x", "sql": "SELECT 1"}),
    "usage": ("disk.usage", {"path": "odd"}),
    "git": ("git.status", {"path": "odd"}),
    "text": ("wait.until", {"what": "text", "path": "odd/x", "contains": "never", "within_s": 0.2}),
    "write": ("fs.write", {"path": "odd/x", "text": "mine"}),
    "trash": ("fs.trash", {"paths": ["odd"]}),
}


@pytest.mark.parametrize("kind", ODD)
def test_t132_every_call_on_an_odd_file_ends(kind: str, loop: Loop, place: Place, hub: tuple[Store, Path]) -> None:
    ODD[kind](place.docs / "odd/x", place)
    before = place.seen_outside()
    for name, (tool, args) in CALLS.items():
        ended: Ended = as_a_device(loop, place, hub[1], tool, args)
        assert ended.outcome in (Outcome.OK, Outcome.ERROR, Outcome.REFUSED), (name, ended)
        assert "Error:" not in ended.detail, (name, ended.detail)
        assert "is not JSON" not in ended.detail, (name, ended.detail)
    assert place.seen_outside() == before, "what lies outside is as it was"


def test_t132_a_name_that_is_no_text_hides_no_folder(place: Place) -> None:
    (place.docs / "odd/good").write_text("data", encoding="utf-8")
    _no_text(place.docs / "odd/x", place)
    found = place.device.call("fs.list", path="odd")
    assert [entry["name"] for entry in found["entries"]] == ["good", "x-\\xff"]


def test_t132_an_entry_that_is_gone_meanwhile_hides_no_folder(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (place.docs / "odd/good").write_text("data", encoding="utf-8")
    (place.docs / "odd/brief").write_text("data", encoding="utf-8")
    context = place.device.context()
    real = context.files.scan

    class Seen:
        """A folder of which one file is removed between the look and the question for its status."""

        def __init__(self, path: Path) -> None:
            self._held = real(path)

        def __enter__(self) -> list[os.DirEntry[str]]:
            found = list(self._held.__enter__())
            (place.docs / "odd/brief").unlink()
            return found

        def __exit__(self, *error: Any) -> Any:
            return self._held.__exit__(*error)

    monkeypatch.setattr(type(context.files), "scan", lambda _self, path: Seen(path))
    found = place.device.call("fs.list", path="odd")
    assert [entry["name"] for entry in found["entries"]] == ["good"]


@pytest.mark.parametrize("name", ["read", "list", "find", "stat", "write", "text"])
def test_t132_a_refusal_that_names_no_text_is_still_a_refusal(
    name: str, loop: Loop, place: Place, hub: tuple[Store, Path]
) -> None:
    """A link that leads out to a place whose name is no text: the words of the refusal have that name."""
    outside = Path(os.fsdecode(os.fsencode(place.outside) + b"/bad-\xff"))
    outside.mkdir()
    (place.docs / "odd").rmdir()
    (place.docs / "odd").symlink_to(outside)
    tool, args = CALLS[name]
    ended = as_a_device(loop, place, hub[1], tool, args)
    assert (ended.outcome, ended.code) == (Outcome.REFUSED, Code.POLICY_REFUSED), ended.detail
    assert "bad-\\udcff" in ended.detail


@pytest.mark.parametrize("kind", ["no-text", "no-text-folder", "bottomless", "deep"])
def test_t132_a_copy_that_would_be_incomplete_is_none(kind: str, place: Place) -> None:
    (place.docs / "odd/good").write_text("data", encoding="utf-8")
    ODD[kind](place.docs / "odd/x", place)
    with pytest.raises(ToolFailed, match="nothing was copied") as refused:
        place.device.call("fs.copy", path="odd", to="copied")
    assert refused.value.code is Code.TOOL_FAILED
    assert refused.value.effect is False
    assert not (place.docs / "copied").exists()


@pytest.mark.parametrize("kind", ["no-text", "no-text-folder", "bottomless", "deep"])
def test_t132_a_search_that_leaves_something_out_says_so(kind: str, place: Place) -> None:
    ODD[kind](place.docs / "odd/x", place)
    found = place.device.call("fs.find", root="odd")
    assert found["unreadable"] == len(found["left_out"]) >= 1
    packed = place.device.call("archive.pack", path="odd")
    if kind.startswith("no-text"):
        # An archive can carry such a name, and the file with it.
        assert (packed["files"], packed["unreadable_count"]) == (1, 0)
    else:
        assert packed["unreadable_count"] == len(packed["unreadable"]) >= 1


def test_t132_a_file_that_grows_while_it_is_sent_is_sent_as_it_was(
    loop: Loop, place: Place, hub: tuple[Store, Path]
) -> None:
    """Or it is refused with its reason: never a hash of other bytes."""
    store, connection = hub
    growing = place.docs / "odd/x"
    growing.write_bytes(b"line\n" * 100_000)
    writer = os.fork()
    if writer == 0:
        with growing.open("ab", buffering=0) as file:
            for _number in range(10_000):
                file.write(b"line\n" * 1000)
        signal.pause()
    try:
        ended = as_a_device(loop, place, connection, "artifact.put", {"paths": ["odd/x"]})
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    assert ended.outcome in (Outcome.OK, Outcome.ERROR)
    for data in store.whole.values():
        assert data.startswith(b"line\n")
    assert CANARY not in ended.detail
