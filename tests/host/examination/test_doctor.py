"""`starloom doctor`: the history of this computer's hub, which it only reads."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection

from starloom.client.discovery import HubAddress, OwnHub
from starloom.client.own_homes import note
from starloom.host.examination import doctor
from starloom.host.examination.doctor import Finding, examine
from starloom.host.ports import free_port
from starloom.host.servers import tunnels
from starloom.process.settings import Settings
from starloom.store.file_names import DATABASE_FILE
from starloom.store.sql.database import newest_revision, open_database
from tests.cli.test_commands import StubHub
from tests.store.harness import RedisWorld
from tests.store.sql.old_history import migrate_to


def history_in(home: Path) -> Finding:
    (found,) = [finding for finding in examine("http://127.0.0.1:9", home) if finding.subject == "history"]
    return found


def written(home: Path, *, revision: str, named: str) -> None:
    """Make a history of one schema that says it has another."""

    def write(connection: Connection) -> None:
        migrate_to(connection, revision)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = ?", (named,))

    async def run() -> None:
        database = open_database(f"sqlite:///{home / DATABASE_FILE}")
        await database.write(write)
        await database.close()

    asyncio.run(run())


def test_a_home_without_a_history_is_sound(tmp_path: Path) -> None:
    assert history_in(tmp_path).good
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("named", "good", "told"), [("0004", True, "brought up to date"), ("0999", False, "newer")])
def test_the_version_of_a_history_is_compared(tmp_path: Path, named: str, good: bool, told: str) -> None:
    written(tmp_path, revision="0004", named=named)
    found = history_in(tmp_path)
    assert (found.good, told in found.words) == (good, True)


@pytest.mark.parametrize(
    ("days", "told"), [("", "nothing is pruned (history_keep_days"), ("90", "ended more than 90 days ago goes")]
)
def test_the_size_and_the_rule_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: str, told: str) -> None:
    monkeypatch.setenv("STARLOOM_HISTORY_KEEP_DAYS", days)
    written(tmp_path, revision="head", named=newest_revision())
    found = history_in(tmp_path)
    assert found.good
    assert " in 0 constellations" in found.words
    assert told in found.words


def test_a_file_that_is_no_history_is_told(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes(b"no database" * 1000)
    found = history_in(tmp_path)
    assert (found.good, "SQLite" in found.words) == (False, True)


def test_the_data_folder_is_that_of_the_hub_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / ".starloom"
    (home / "run").mkdir(parents=True)
    home.chmod(0o700)
    own = {"url": "http://127.0.0.1:9", "socket": str(home / "s"), "pid": 1, "started_s": 1.0}
    own["tunnel"] = {"socket": str(home / "t"), "pin": "p"}
    (home / "run" / "local.json").write_text(json.dumps(own))
    note(home, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("STARLOOM_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    (found,) = [finding for finding in examine(None, None) if finding.subject == "data folder"]
    assert found.words == str(home)


SPENT = {"calls": 0, "dollars": 0.0, "tokens": 0}
STATE: dict[str, Any] = {"parts": [], "set": True, "given": True, "spent_today": SPENT, "model": "large", "host": "a:1"}
SMALL = {"role": "small", "model": "tiny", "host": "a:1"}
JUDGE = {"role": "judge", "model": "strict", "host": "b:2"}
LACKING = {"reason": "the libraries are not installed", "hint": "pip install them"}


@pytest.mark.parametrize(
    ("state", "good", "told"),
    [
        (STATE, True, "the hub uses large at a:1; goals: large at a:1"),
        ({**STATE, "others": [SMALL]}, True, "goals: tiny at a:1 first, then large at a:1"),
        ({**STATE, "others": [JUDGE]}, True, "; judge: strict at b:2"),
        ({**STATE, "fault": LACKING}, False, "It cannot be asked: the libraries are not installed"),
        ({**STATE, "set": False, "fault": LACKING}, False, "the libraries are not installed"),
    ],
)
def test_the_model_is_the_one_that_the_hub_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: dict[str, Any], good: bool, told: str
) -> None:
    monkeypatch.delenv("STARLOOM_LLM_URL", raising=False)
    found = model_of(tmp_path, state)
    assert (found.good, told in found.words) == (good, True), found


def test_a_model_of_this_terminal_alone_is_told_as_one_that_the_hub_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARLOOM_LLM_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("STARLOOM_LLM_MODEL", "mine")
    found = model_of(tmp_path, {**STATE, "set": False})
    assert (found.good, found.words.startswith("the hub uses none; set here: mine at")) == (False, True)
    assert "Start the hub again" in found.fix


def model_of(home: Path, state: dict[str, Any]) -> Finding:
    hub = StubHub()
    hub.answers["GET", "/model"] = (200, state)
    try:
        (found,) = [finding for finding in examine(hub.url, home) if finding.subject == "model"]
    finally:
        hub.close()
    return found


def test_a_device_that_is_away_behind_its_tunnel_is_told_with_the_line_to_type(tmp_path: Path) -> None:
    file = tmp_path / "run" / "local.json"
    file.parent.mkdir()
    file.write_text("{}")
    told = tunnels.Condition(
        state="up", since_s=1, starts=1, agent="given up", fault="try 8 of 8", hint="ssh far", name="web 1"
    )
    (tmp_path / tunnels.STATE_FILE).write_bytes(msgspec.json.encode({"dev-1": told}))
    own = OwnHub(file, file, file, "", 1, 0.0)
    address = HubAddress("http://10.0.0.9:8470", None, "test", own=own)
    (found,) = doctor._tunnels(address, ["web 1"])
    assert (found.good, found.words) == (False, "web 1: its tunnel is up, its agent given up: try 8 of 8")
    assert found.fix == "ssh far"
    assert list(doctor._tunnels(address, ["other"])) == []
    assert list(doctor._tunnels(HubAddress("http://10.0.0.9:8470", None, "test"), ["web 1"])) == []


def test_agents_that_are_older_than_the_hub_are_named_with_the_line(tmp_path: Path) -> None:
    hub = StubHub()
    device = {"name": "nas", "link": "online", "profile": "work", "version": "0.1.0", "revoked": False}
    rows = [{**device, "older_than": "0.2.0"}, {**device, "name": "new", "older_than": ""}]
    hub.answers["GET", "/devices"] = (200, {"items": rows})
    try:
        found = [finding.words for finding in examine(hub.url, tmp_path) if finding.subject == "agents"]
    finally:
        hub.close()
    assert found == ["older than this hub: nas 0.1.0. Type there: starloom-agent upgrade"]


@pytest.mark.parametrize(("away", "where"), [("", "of this hub's computer"), ("3600", "there")])
def test_clocks_that_are_off_are_named_with_what_follows(tmp_path: Path, away: str, where: str) -> None:
    hub = StubHub()
    device = {"link": "online", "profile": "work", "version": "0.1.0", "revoked": False, "older_than": ""}
    clocks = {"nas": "3600", "desk": "3500" if not away else "", "own": ""}
    rows = [{**device, "name": name, "condition": {"clock": ahead}} for name, ahead in clocks.items()]
    rows.append({**device, "name": "off", "link": "offline", "condition": {"clock": away}})
    hub.answers["GET", "/devices"] = (200, {"items": rows})
    try:
        (found,) = [finding for finding in examine(hub.url, tmp_path) if finding.subject == "clocks"]
    finally:
        hub.close()
    assert not found.good
    assert found.words.startswith("nas has a clock that is 1 h 0 min ahead of the hub's: times of its files and logs")
    assert ("desk has a clock" in found.words, "off has" in found.words) == (not away, False)
    assert found.fix.startswith(f"Set the clock {where}")


def agents_beside(home: Path, link: str, refused: str) -> list[Finding]:
    hub = StubHub()
    device = {"name": "nas", "link": link, "profile": "work", "version": "0.1.0", "revoked": False, "older_than": ""}
    hub.answers["GET", "/devices"] = (200, {"items": [{**device, "refused": refused}]})
    try:
        return [finding for finding in examine(hub.url, home) if finding.subject == "agents"]
    finally:
        hub.close()


def test_an_agent_that_speaks_no_version_of_the_hub_is_named(tmp_path: Path) -> None:
    (found,) = agents_beside(tmp_path, "offline", "agent_too_old")
    assert (found.good, found.words) == (False, "The agent is too old for this hub: nas")
    assert "starloom-agent upgrade" in found.fix
    assert agents_beside(tmp_path, "online", "agent_too_old") == []
    assert agents_beside(tmp_path, "offline", "") == []


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[RedisWorld]:
    async with RedisWorld(tmp_path) as world:
        yield world


async def test_a_redis_of_the_owner_is_asked_and_its_settings_are_named(world: RedisWorld) -> None:
    def look(url: str) -> Finding:
        return doctor._redis(Settings(redis_url=url))

    assert (await asyncio.to_thread(look, world.embedded.url)).good
    await world.direct("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru", "appendonly", "no")
    found = await asyncio.to_thread(look, world.embedded.url)
    assert not found.good
    assert "throws keys away when its memory is full (allkeys-lru)" in found.words
    assert "no append-only file" in found.words
    found = await asyncio.to_thread(look, f"redis://:pw@127.0.0.1:{free_port()}/0")
    assert (found.good, "cannot be used" in found.words, "pw" in found.words) == (False, True, False)


@pytest.mark.parametrize(
    ("version", "first"),
    [((3, 11, 2), "3.11.10"), ((3, 11, 9), "3.11.10"), ((3, 12, 5), "3.12.6"), ((3, 11, 10), ""), ((3, 13, 0), "")],
)
def test_a_python_with_known_faults_is_named_and_serves(
    version: tuple[int, int, int], first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    found = doctor._python()
    assert found.good
    assert ("CVE-2024-7592" in found.words) == bool(first)
    assert first in found.words
