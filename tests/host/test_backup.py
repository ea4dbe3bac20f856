"""`starloom backup` and `restore`: whole, checked, and never over something that is there."""

from __future__ import annotations

import asyncio
import errno
import json
import stat
import subprocess
import tarfile
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom.client.problems import Problem
from starloom.core.state.inputs import HistoryRestored
from starloom.edge.first_run import marks_of_a_restore
from starloom.host import backup
from starloom.host.backup import MANIFEST, back_up, restore, verify
from starloom.host.ports import free_port
from starloom.process.computers import computer_name
from starloom.process.settings import FILE_NAME, VERSION, Settings, load
from starloom.store.file_names import DATABASE_FILE
from starloom.store.opening import open_store
from starloom.store.port import Damaged
from starloom.store.sql.database import open_database
from starloom.store.sql.history import LIVES_APART, read_meta
from tests.installation import Installation
from tests.programs import ran_command
from tests.store.contract import fill
from tests.store.harness import RedisWorld
from tests.store.sql.test_dump import filled, whole
from tests.waiting import SLOWER

BOUND_S = 120 * SLOWER


def settings_of(home: Path) -> Settings:
    return Settings(home=home)


def test_a_folder_without_a_hub_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    empty = tmp_path / "nobody"
    empty.mkdir()
    with pytest.raises(Problem, match=r"no hub has kept anything in .*nobody"):
        back_up(settings_of(empty), tmp_path / "b.tar")
    assert list(empty.iterdir()) == []


def test_a_folder_whose_history_is_in_a_database_elsewhere_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "hub" / "keys").mkdir(parents=True)
    with pytest.raises(Problem, match="in a database that this command is not told of"):
        back_up(settings_of(tmp_path / "hub"), tmp_path / "b.tar")


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """Return a data folder with a history, keys, an artifact, and what a backup leaves out."""
    folder = tmp_path / "home"
    for name, text in {
        "keys/hub.key": "key",
        "blobs/artifacts/ab/cd": "artifact",
        "blobs/partial/x": "half",
        "agents/desk/device.key": "device",
        "agents/desk/ledger.sqlite": "ledger",
        "run/local.json": "{}",
        "run/hub.id": "h-1",
        "logs/hub.log": "log",
        "redis/appendonlydir/a.aof": "redis",
        "tunnels/srv.json": "{}",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "keys/hub.key").chmod(0o600)
    (folder / "keys/elsewhere").symlink_to("/etc/hostname")
    database = await filled(f"sqlite:///{folder / 'starloom.db'}")
    await database.close()
    return folder


KEPT = {"keys/hub.key", "blobs/artifacts/ab/cd", "agents/desk/device.key", "run/hub.id", "tunnels/srv.json"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[RedisWorld]:
    async with RedisWorld(tmp_path / "world") as world:
        yield world


async def history_of(home: Path) -> dict[str, Any]:
    database = open_database(f"sqlite:///{home / 'starloom.db'}", read_only=True)
    try:
        return await database.read(whole)
    finally:
        await database.close()


def taken_apart(archive: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the members of an archive but its manifest, and that."""
    with tarfile.open(archive) as read:
        members = [(member, read.extractfile(member)) for member in read]
        raw = {member.name: file.read() for member, file in members if file is not None}
    return raw, json.loads(raw.pop(MANIFEST))


def put_together(archive: Path, raw: dict[str, bytes], manifest: dict[str, Any]) -> None:
    with tarfile.open(archive, "w:") as written:
        for name, content in {**raw, MANIFEST: json.dumps(manifest).encode()}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            written.addfile(info, BytesIO(content))


def files_of(home: Path) -> set[str]:
    found = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    return {name for name in found if not name.startswith("starloom.db")}


def test_a_backup_is_restored_whole(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    restore(settings_of(other), archive)
    assert files_of(other) == KEPT | {"run/backups", "run/restored"}
    assert stat.S_IMODE((other / "keys/hub.key").stat().st_mode) == 0o600
    assert not [path.name for path in (*tmp_path.iterdir(), *other.iterdir()) if path.name.startswith(".starloom")]


async def test_a_restored_history_is_the_same(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    await asyncio.to_thread(back_up, settings_of(home), archive)
    await asyncio.to_thread(restore, settings_of(other), archive)
    then, now = await history_of(home), await history_of(other)
    assert {**now, "meta": []} == {**then, "meta": []}


def test_nothing_is_overwritten(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.starloom"
    back_up(settings_of(home), archive)
    before = archive.read_bytes()
    with pytest.raises(Problem, match="a backup overwrites nothing"):
        back_up(settings_of(home), archive)
    assert archive.read_bytes() == before
    with pytest.raises(Problem, match="has a history already"):
        restore(settings_of(home), archive)
    assert "redis/appendonlydir/a.aof" in files_of(home)


def test_a_restore_into_a_database_leaves_the_mark_or_no_history(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that finds the history without the mark would open again what was revoked since the backup."""
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    place = Settings(home=other, database_url=f"sqlite:///{tmp_path / 'elsewhere.db'}")

    def cut_off(_home: Path, _mark: bytes | None) -> None:
        raise OSError("the power is gone")

    with monkeypatch.context() as patched:
        patched.setattr(backup, "_put_mark", cut_off)
        with pytest.raises(Problem, match="the power is gone"):
            restore(place, archive)
    assert not (other / "run/restored").exists()
    restore(place, archive)
    assert files_of(other) == KEPT | {"run/backups", "run/restored"}
    assert not list(other.glob("starloom.db*"))
    with pytest.raises(Problem, match="there is a history already"):
        restore(place, archive)


def test_the_mark_of_a_restore_is_found_by_each_hub_of_the_history(home: Path, tmp_path: Path) -> None:
    """Each hub has a home of its own, and any of them may be the first to start."""
    archive, shared = tmp_path / "a.starloom", tmp_path / "shared"
    shared.mkdir()
    back_up(settings_of(home), archive)
    first, second = (
        Settings(home=tmp_path / name, shared=shared, database_url=f"sqlite:///{tmp_path / 'both.db'}")
        for name in ("one", "two")
    )
    restore(first, archive)
    assert [mark.made_ms > 0 for mark in marks_of_a_restore([second.shared_home, second.home])] == [True]


def test_what_an_agent_knows_already_stays(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    (other / "agents/desk").mkdir(parents=True)
    (other / "agents/desk/device.key").write_text("newer")
    (other / "agents/desk/ledger.sqlite").write_text("newer")
    restore(settings_of(other), archive)
    assert (other / "agents/desk/device.key").read_text() == "newer"
    assert (other / "agents/desk/ledger.sqlite").read_text() == "newer"


@pytest.mark.parametrize("at", [0.02, 0.5, 0.9, 0.999])
def test_a_damaged_archive_is_refused_before_anything_is_made(home: Path, tmp_path: Path, at: float) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    raw = bytearray(archive.read_bytes())
    with tarfile.open(archive) as file:
        members = [member for member in file if member.size]
    member = members[int(at * len(members))]
    raw[member.offset_data] ^= 0xFF
    archive.write_bytes(raw)
    with pytest.raises(Problem, match="cannot be used"):
        restore(settings_of(other), archive)
    assert not other.exists()


@pytest.mark.parametrize("part", [0.0, 0.3, 0.97])
def test_an_archive_that_is_cut_short_is_refused(home: Path, tmp_path: Path, part: float) -> None:
    archive = tmp_path / "a.starloom"
    back_up(settings_of(home), archive)
    raw = archive.read_bytes()
    archive.write_bytes(raw[: int(len(raw) * part)])
    with pytest.raises(Problem, match="cannot be used"):
        verify(archive)


@pytest.mark.parametrize("path", ["../outside", "/etc/outside", "a/../../outside"])
def test_an_archive_cannot_name_a_place_outside(home: Path, tmp_path: Path, path: str) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    raw, manifest = taken_apart(archive)
    moved = manifest["files"][0]
    raw[f"{moved['place']}/{path}"] = raw.pop(f"{moved['place']}/{moved['path']}")
    moved["path"] = path
    put_together(archive, raw, manifest)
    with pytest.raises(Problem, match="no place of a hub"):
        restore(settings_of(other), archive)
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"format": 2, "release": "9.1"},
            "reads 1: Starloom 9.1 wrote it and reads it; install that one",
        ),
        ({"format": 0, "release": ""}, "reads 1: the release that wrote it reads it; install that one"),
        ({"dump": {"schema": "9999"}, "release": "9.1"}, "newer version (Starloom 9.1 wrote it and reads it; install"),
    ],
    ids=["newer", "older", "a newer schema"],
)
def test_a_backup_of_another_release_names_who_reads_it(
    home: Path, tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    assert back_up(settings_of(home), archive).manifest.release == VERSION
    raw, manifest = taken_apart(archive)
    manifest["dump"] |= changed.pop("dump", {})
    put_together(archive, raw, manifest | changed)
    with pytest.raises(Problem) as refused:
        restore(settings_of(other), archive)
    assert told in refused.value.reason
    assert not (other / DATABASE_FILE).exists()


def test_a_backup_from_before_releases_were_named_is_restored(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.starloom"
    back_up(settings_of(home), archive)
    raw, manifest = taken_apart(archive)
    del manifest["release"]
    put_together(archive, raw, manifest)
    assert restore(settings_of(tmp_path / "other"), archive).archive.manifest.release == ""


WAITS = """
starloom: 1
name: waits for a grant
tasks:
  - {id: once, tool: shell.run, args: {argv: [date]}}
policy: {approval: never}
"""


async def test_a_restored_history_begins_above_its_copy(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    await asyncio.to_thread(back_up, settings_of(home), archive)
    await asyncio.to_thread(restore, settings_of(other), archive)
    lives = []
    for folder in (home, other):
        database = open_database(f"sqlite:///{folder / 'starloom.db'}", read_only=True)
        lives.append((await database.read(read_meta)).incarnation)
        await database.close()
    assert lives[1] - lives[0] == LIVES_APART
    told = msgspec.json.decode((other / "run" / "restored").read_bytes(), type=HistoryRestored)
    assert told.made_ms == verify(archive).manifest.made_ms
    assert told.ended is not None


async def test_a_second_restore_begins_above_the_first(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    await asyncio.to_thread(back_up, settings_of(home), archive)
    lives = []
    for _ in range(2):
        await asyncio.to_thread(restore, settings_of(other), archive, replace=True)
        database = open_database(f"sqlite:///{other / 'starloom.db'}", read_only=True)
        lives.append((await database.read(read_meta)).incarnation)
        await database.close()
    assert lives[1] - lives[0] == LIVES_APART


def test_a_replaced_history_is_moved_aside_whole(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.starloom"
    back_up(settings_of(home), archive)
    (home / "run/history.id").write_text("h-before")
    before = (home / DATABASE_FILE).read_bytes()
    made = restore(settings_of(home), archive, replace=True)
    assert made.aside is not None
    assert made.aside.parent == home / "replaced"
    assert (made.aside / DATABASE_FILE).read_bytes() == before
    assert (made.aside / "redis/appendonlydir/a.aof").read_text() == "redis"
    assert not (home / "redis").exists()
    assert not (home / "run/history.id").exists(), "open pages must see that it is another history"
    later = back_up(settings_of(home), tmp_path / "b.starloom")
    assert not [entry.path for entry in later.manifest.files if entry.path.startswith("replaced/")]


def test_a_history_that_cannot_be_read_is_said_and_moved_aside(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.starloom"
    back_up(settings_of(home), archive)
    (home / DATABASE_FILE).write_bytes(b"no database at all")
    made = restore(settings_of(home), archive, replace=True)
    assert made.until.shard is None
    assert made.until.why
    assert made.aside is not None
    assert asyncio.run(history_of(home))["commits"]


def test_the_history_until_now_is_a_folder_with_one(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    with pytest.raises(Problem, match="has no history"):
        restore(settings_of(other), archive, until=str(tmp_path))
    assert not (other / DATABASE_FILE).exists()
    assert restore(settings_of(other), archive, until=str(home)).until.place == str(home)


def test_t326_lines_of_other_places_in_a_restored_settings_file_are_comments(home: Path, tmp_path: Path) -> None:
    """The hub of the new folder would run on the database of the living one, and take the shard from it."""
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    (home / FILE_NAME).write_text(
        'port = 8555\ndatabase_url = "postgresql://hub:pw@db/hub"\n  "redis_url"="redis://db"\nshared = "~/all"\n'
    )
    back_up(settings_of(home), archive)
    restored = restore(settings_of(other), archive)
    assert set(restored.settings.left_out) == {"database_url", "redis_url", "shared"}
    assert restored.place == str(other / DATABASE_FILE)
    laid = load({"home": other}, environment={}).settings
    assert (laid.port, laid.database_url, laid.redis_url, laid.shared) == (8555, None, None, None)
    assert "# database_url" in (other / FILE_NAME).read_text()


def test_a_line_that_cannot_be_left_out_refuses_the_archive(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    (home / FILE_NAME).write_text('redis_url = """\nredis://db"""\n')
    back_up(settings_of(home), archive)
    with pytest.raises(Problem, match="redis_url in a form that cannot be left out"):
        restore(settings_of(other), archive)
    assert not files_of(other)
    assert not (other / DATABASE_FILE).exists()


def test_the_settings_file_by_which_a_restore_works_stays(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    (home / FILE_NAME).write_text('database_url = "postgresql://hub@db/hub"\n')
    back_up(settings_of(home), archive)
    other.mkdir()
    own = f'database_url = "sqlite:///{tmp_path / "own.db"}"\n'
    (other / FILE_NAME).write_text(own)
    restored = restore(load({"home": other}, environment={}).settings, archive)
    assert (other / FILE_NAME).read_text() == own
    assert restored.settings.beside is not None
    assert "postgresql" in restored.settings.beside.read_text()
    assert restored.place.endswith("own.db")
    assert (tmp_path / "own.db").exists()


def test_the_log_of_before_is_moved_aside_where_the_history_is_in_a_database(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    (other / "redis").mkdir(parents=True)
    (other / "redis/a.aof").write_text("later")
    restored = restore(Settings(home=other, database_url=f"sqlite:///{tmp_path / 'own.db'}"), archive)
    assert restored.aside is not None
    assert (restored.aside / "redis/a.aof").read_text() == "later"
    assert not (other / "redis").exists()


@pytest.mark.parametrize("lives", [True, False])
async def test_a_redis_with_a_log_is_refused_before_anything_is_changed(
    home: Path, tmp_path: Path, world: RedisWorld, lives: bool
) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    await asyncio.to_thread(back_up, settings_of(home), archive)
    place = Settings(home=other, redis_url=world.embedded.url, database_url=f"sqlite:///{tmp_path / 'own.db'}")
    store = await world.store()
    own = await store.take("hub-a", 1)
    await fill(store, own, 3)
    if not lives:
        await store.leave(release=True)
    with pytest.raises(Problem, match="hub-a runs on Redis" if lives else "has the log of a hub up to commit 3"):
        await asyncio.to_thread(restore, place, archive)
    assert not (tmp_path / "own.db").exists()
    assert not other.exists()
    await world.direct("FLUSHDB")
    await asyncio.to_thread(restore, place, archive)


async def test_a_redis_that_does_not_answer_is_refused(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    await asyncio.to_thread(back_up, settings_of(home), archive)
    place = Settings(home=other, redis_url=f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(Problem, match="cannot be used"):
        await asyncio.to_thread(restore, place, archive)
    assert not other.exists()


def test_a_full_disk_of_the_archive_is_named(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database takes errors of the system for its own, and its disk would be named."""

    def no_room(_connection: object, _folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(backup, "write_dump", no_room)
    (tmp_path / "nas").mkdir()
    with pytest.raises(Problem, match=r"the disk of .*/nas is full"):
        back_up(settings_of(home), tmp_path / "nas/a.starloom")
    assert list((tmp_path / "nas").iterdir()) == []


async def test_t326_a_hub_does_not_start_on_another_history_than_the_restored_one(
    home: Path, tmp_path: Path, world: RedisWorld
) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    await asyncio.to_thread(back_up, settings_of(home), archive)
    await asyncio.to_thread(restore, settings_of(other), archive)
    (mark,) = marks_of_a_restore([other])
    living = f"sqlite:///{home / DATABASE_FILE}"
    with pytest.raises(Damaged, match="is not the history that came of it"):
        await open_store(world.embedded.url, living, restored=mark.incarnation)
    restored = f"sqlite:///{other / DATABASE_FILE}"
    store = await open_store(world.embedded.url, restored, restored=mark.incarnation)
    await store.close()


class Service:
    """One installation and its commands."""

    def __init__(self, home: Path) -> None:
        self.installation = Installation(home)
        self.installation.up()
        self.installation.until_online(computer_name())

    def starloom(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return ran_command(self.installation.home, *arguments, timeout=BOUND_S)


@pytest.fixture
def services() -> Iterator[list[Service]]:
    made: list[Service] = []
    yield made
    for service in made:
        service.installation.close()


def test_a_hub_goes_on_from_a_backup_in_another_home(services: list[Service], tmp_path: Path) -> None:
    services.append(first := Service(tmp_path / "first"))
    assert first.starloom("submit", "how are my machines", "--wait").returncode == 0
    waits = tmp_path / "waits.yaml"
    waits.write_text(WAITS)
    waiting = json.loads(first.starloom("submit", "-f", str(waits), "--json").stdout)["id"]
    made = json.loads(first.starloom("ls", "--json").stdout)["items"]
    archive = tmp_path / "night.starloom"
    done = first.starloom("backup", str(archive))
    assert done.returncode == 0, done.stderr
    assert "keep it where you keep other keys" in done.stdout
    refused = first.starloom("restore", str(archive))
    assert (refused.returncode, "already runs" in refused.stderr) == (2, True)
    first.installation.close()

    told = first.starloom("restore", str(archive), "--home", str(tmp_path / "elsewhere"))
    assert "it is not known who was revoked since the backup" in told.stdout, told.stderr
    second_home = tmp_path / "second"
    done = first.starloom("restore", str(archive), "--home", str(second_home), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["commits"] > 0
    services.append(second := Service(second_home))
    found = json.loads(second.starloom("ls", "--json").stdout)["items"]
    states = [(item["id"], "paused" if item["id"] == waiting else item["state"]) for item in made]
    assert [(item["id"], item["state"]) for item in found] == states
    assert "This history was restored from a backup" in second.starloom("why", waiting).stdout
    assert second.starloom("resume", waiting).returncode == 0
    assert "restored" not in second.starloom("why", waiting).stdout
    assert not (second_home / "run" / "restored").exists()
    assert second.starloom("audit", "verify").returncode == 0
    assert second.starloom("submit", "how are my machines", "--wait").returncode == 0
