"""The port before the present one is kept, and told for devices that were not seen since."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from starloom.host import ports, supervisor
from starloom.host.examination.doctor import examine
from starloom.host.former_port import FILE, FormerPort, former_port, note
from starloom.host.supervisor import UpOptions, serve
from tests.cli.test_commands import StubHub
from tests.host.test_ports_taken import Ran

CHANGED_S = 1_795_600_000.0
BEFORE, AFTER = "2026-11-01T00:00:00Z", "2026-11-28T00:00:00Z"


def device(name: str, link: str = "offline", since: str | None = BEFORE, **more: object) -> Any:
    return {"name": name, "link": link, "link_since": since, "revoked": False, "profile": "work", **more}


def test_a_start_on_another_port_keeps_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "Service", Ran)
    monkeypatch.delenv("STARLOOM_PORT", raising=False)
    first = ports.free_port()
    second = ports.free_near("127.0.0.1", first)
    assert second is not None
    for port in (first, first, second):
        assert serve(UpOptions(home=tmp_path, port=port)) == 0
    found = former_port(tmp_path, second)
    assert found is not None
    assert (found.port, found.present) == (first, second)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert former_port(tmp_path, first) is None, "with the old port again, nobody looks elsewhere"


def test_the_devices_not_seen_since_are_named_with_both_ways_out() -> None:
    rows = [
        device("attic"),
        device("new", link="online"),
        device("seen", since=AFTER),
        device("gone", revoked=True),
        device("never", since=None),
    ]
    told = FormerPort(8470, 8480, CHANGED_S).warning(rows)
    assert told is not None
    assert "not seen since: attic, never." in told[0]
    assert "starloom up --port 8470" in told[1]
    assert "starloom-agent start --hub http://127.0.0.1:8480" in told[1]
    assert FormerPort(8470, 8480, CHANGED_S).warning([device("new", link="online")]) is None


def test_a_link_in_the_place_of_the_file_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / FILE).symlink_to(tmp_path / "mine")
    assert former_port(tmp_path, 8480) is None
    note(tmp_path, 8470)
    assert (tmp_path / "mine").read_text() == "mine"
    assert former_port(tmp_path, 8480) is not None


def test_the_doctor_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = StubHub()
    hub.answers["GET", "/devices"] = (200, {"items": [device("attic")]})
    monkeypatch.setattr("starloom.host.examination.doctor.home_of", lambda _: tmp_path)
    note(tmp_path, 8470)
    os.utime(tmp_path / FILE, (CHANGED_S, CHANGED_S))
    try:
        found = [one for one in examine(hub.url, tmp_path) if one.subject == "port" and "attic" in one.words]
    finally:
        hub.close()
    assert [(one.good, "starloom up --port 8470" in one.fix) for one in found] == [(False, True)]
