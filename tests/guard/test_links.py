"""Links in granted folders: no file tool reads, writes or moves anything outside through one (T27).

Each attack here was carried out against tools that check a path and then use it by name.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from starloom_agent.toolkit.interface import Sent, way_out
from starloom_agent.toolkit.results import Stored
from tests.guard.links import CANARY, TEXT, Place
from tests.waiting import PATIENCE_S


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    (made.outside / "sub").mkdir()
    for name in ("id_rsa", "app.log", "sub/rc"):
        (made.outside / name).write_text(TEXT, encoding="utf-8")
    return made


def test_copy_writes_nothing_through_a_folder_link(place: Place) -> None:
    place.device.write("src/sub/rc", "attack")
    (place.docs / "dst").mkdir()
    (place.docs / "dst/sub").symlink_to(place.outside / "sub")
    before = place.seen_outside()
    said = place.call("fs.copy", path="src", to="dst", on_clash="replace")
    assert place.seen_outside() == before
    assert "link" in said


def test_an_upload_keeps_the_file_that_was_checked(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.device.write("big.bin", b"\0" * 100_000)
    place.device.write("d/id_rsa", "mine")
    stored = place.device.store.put

    def swap_while_sending(file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        if name == "big.bin":
            (place.docs / "d").rename(place.docs / "e")
            (place.docs / "d").symlink_to(place.outside)
        return stored(file, name=name, media=media, sent=sent)

    monkeypatch.setattr(place.device.store, "put", swap_while_sending)
    place.call("artifact.put", paths=["big.bin", "d/id_rsa"])
    assert place.leaked() == []


@pytest.mark.parametrize("tool", ["fs.write", "artifact.get"])
def test_a_half_written_file_follows_no_link(place: Place, tool: str) -> None:
    (place.docs / f".rc.1.1-{os.getpid()}.part").symlink_to(place.outside / "sub/rc")
    before = place.seen_outside()
    if tool == "fs.write":
        place.call(tool, path="rc", text="attack")
    else:
        place.call(tool, artifact=place.device.store.take(b"attack"), to="rc")
    assert place.seen_outside() == before
    assert (place.docs / "rc").read_text(encoding="utf-8") == "attack"


def test_log_search_follows_no_link_out(place: Place) -> None:
    (place.docs / "x.log").symlink_to(place.outside / "app.log")
    place.device.write("y.log", "2026-11-24 10:00:00 error mine\n")
    found = place.call("log.search", path=".", since="2020-01-01")
    assert CANARY not in str(found)
    assert "mine" in str(found)


def test_a_linked_trash_moves_nothing_out(place: Place) -> None:
    place.device.write("a.txt", "mine")
    (place.docs / ".starloom-trash").symlink_to(place.outside)
    before = place.seen_outside()
    said = place.call("fs.trash", paths=["a.txt"])
    assert place.seen_outside() == before
    assert (place.docs / "a.txt").exists()
    assert "link" in said


def test_git_archive_stores_only_what_git_wrote(place: Place) -> None:
    made = place.device.workdir / "git/archive.tar"
    filter_of = f"cat >/dev/null; ln -sf {place.outside / 'id_rsa'} {made}; echo x"
    place.device.write("p/.gitattributes", "a.txt filter=f\n")
    place.device.write("p/a.txt", "mine")
    someone = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for argv in (
        ["init", "-q"],
        ["config", "filter.f.clean", "cat"],
        ["config", "filter.f.smudge", filter_of],
        ["add", "-A"],
        [*someone, "commit", "-qm", "one"],
    ):
        subprocess.run(["git", "-C", str(place.docs / "p"), *argv], check=True, timeout=PATIENCE_S)
    place.call("git.archive", path="p", ref="HEAD")
    assert place.leaked() == []


@pytest.mark.parametrize("tool", ["fs.read", "fs.hash", "artifact.put", "archive.pack", "sqlite.query", "image.info"])
def test_a_link_that_leads_out_is_refused_in_words(place: Place, tool: str) -> None:
    (place.docs / "out").symlink_to(place.outside)
    file = "out/id_rsa"
    all_args: dict[str, dict[str, Any]] = {
        "fs.read": {"path": file},
        "fs.hash": {"paths": [file]},
        "artifact.put": {"paths": [file]},
        "archive.pack": {"path": "out"},
        "sqlite.query": {"path": file},
        "image.info": {"files": [{"path": file}]},
    }
    assert "outside the folders" in place.call(tool, **all_args[tool])


def test_a_link_inside_the_grant_may_be_read_through(place: Place) -> None:
    place.device.write("real/a.txt", "mine")
    (place.docs / "short").symlink_to("real")
    assert place.call("fs.read", path="short/a.txt")["text"] == "mine"


@pytest.mark.parametrize("place", ["/etc", "/usr/lib", "/", "/home/ann/.ssh"])
def test_a_refusal_has_no_line_that_opens_a_folder_of_the_system(place: str) -> None:
    assert "starloom-agent grant" not in way_out("files:read", Path(place))
    assert way_out("files:read", Path("/home/ann/notes")).endswith("starloom-agent grant files:read /home/ann/notes")
