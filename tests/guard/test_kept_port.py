"""T144: the file with the hub's port stops no start, whatever is in its place, and a start writes through no link."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from starloom.host import ports, supervisor
from starloom.host.supervisor import UpOptions, serve
from starloom.process.settings import PORT_FILE, load
from tests.host.test_ports_taken import Ran

Lay = Callable[[Path], object]
ODD: dict[str, Lay] = {
    "bytes": lambda file: file.write_bytes(b"\xff\xfe9000"),
    "another script": lambda file: file.write_text("٨٤٧٠", encoding="utf-8"),
    "negative": lambda file: file.write_text("-1", encoding="utf-8"),
    "words": lambda file: file.write_text("9000\nhost = 0.0.0.0", encoding="utf-8"),
    "too high": lambda file: file.write_text("65536", encoding="utf-8"),
    "pipe": lambda file: os.mkfifo(file),
    "device": lambda file: file.symlink_to("/dev/zero"),
    "folder": lambda file: file.mkdir(),
    "link in a circle": lambda file: file.symlink_to(file),
}


@pytest.mark.parametrize("odd", ODD)
def test_t144_an_odd_file_is_no_port(tmp_path: Path, odd: str) -> None:
    ODD[odd](tmp_path / PORT_FILE)
    assert load({"home": tmp_path}, environment={}).settings.port == 8470


@pytest.mark.parametrize("odd", [name for name in ODD if name != "folder"])
def test_t144_a_start_replaces_an_odd_file(tmp_path: Path, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "Service", Ran)
    monkeypatch.delenv("STARLOOM_PORT", raising=False)
    ODD[odd](tmp_path / PORT_FILE)
    port = ports.free_port()
    assert serve(UpOptions(home=tmp_path, port=port)) == 0
    assert (tmp_path / PORT_FILE).read_text() == f"{port}\n"
    assert (tmp_path / PORT_FILE).lstat().st_mode & 0o777 == 0o600


def test_t144_a_folder_there_stops_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "Service", Ran)
    (tmp_path / PORT_FILE / "mine").mkdir(parents=True)
    assert serve(UpOptions(home=tmp_path, port=ports.free_port())) == 0
    assert [path.name for path in tmp_path.glob("*port*")] == [PORT_FILE]
    assert (tmp_path / PORT_FILE / "mine").is_dir()


def test_t144_a_start_writes_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "Service", Ran)
    monkeypatch.delenv("STARLOOM_PORT", raising=False)
    home, target, absent = tmp_path / "home", tmp_path / "target", tmp_path / "absent"
    target.write_text("mine")
    for where in (target, absent):
        home.mkdir(exist_ok=True)
        (home / PORT_FILE).unlink(missing_ok=True)
        (home / PORT_FILE).symlink_to(where)
        assert serve(UpOptions(home=home, port=ports.free_port())) == 0
    assert (target.read_text(), absent.exists()) == ("mine", False)
