"""A backup that somebody has altered (T171, T214, T244), and one restore after another before the hub starts (T172)."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from starloom.client.problems import Problem
from starloom.host import backup
from starloom.host.backup import MADE, MANIFEST, Archive, back_up, restore, verify
from starloom.store.file_names import DATABASE_FILE
from tests.host.test_backup import home as home
from tests.host.test_backup import settings_of


def altered(
    archive: Path,
    *,
    move: dict[str, str] | None = None,
    add: dict[str, bytes] | None = None,
    put: tuple[bytes, bytes] = (b"", b""),
) -> None:
    """Write an archive again whose manifest fits: members have other names or words, or there are more of them."""
    with tarfile.open(archive) as read:
        raw = {member.name: file.read() for member in read if (file := read.extractfile(member)) is not None}
    manifest: dict[str, Any] = json.loads(raw.pop(MANIFEST))
    for table in manifest["dump"]["tables"]:
        name = (move or {}).get(table["name"])
        if name is not None:
            raw[f"history/{name}"] = raw.pop(f"history/{table['name']}")
            table["name"] = name
        place = f"history/{table['name']}"
        raw[place] = raw[place].replace(*put) if put[0] else raw[place]
        table["sha256"] = hashlib.sha256(raw[place]).hexdigest()
    like = manifest["files"][0]
    for path, content in (add or {}).items():
        raw[f"home/{path}"] = content
        digest = hashlib.sha256(content).hexdigest()
        manifest["files"].append({**like, "place": "home", "path": path, "bytes": len(content), "sha256": digest})
    with tarfile.open(archive, "w:") as written:
        for name, content in {**raw, MANIFEST: json.dumps(manifest).encode()}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            written.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("name", ["../../../outside", "../home/keys/hub.key", "a/../../../outside"])
def test_t171_a_table_of_an_altered_backup_names_no_place_outside(home: Path, tmp_path: Path, name: str) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    altered(archive, move={"commits": name})
    with pytest.raises(Problem, match="no place of a hub"):
        restore(settings_of(other), archive)
    assert not list(tmp_path.glob("**/outside"))
    assert not (other / DATABASE_FILE).exists()


@pytest.mark.parametrize(
    "path",
    [
        "run/restored",
        "./run/restored",
        "RUN/Restored",
        "run//history.id",
        f"{DATABASE_FILE}-wal",
        "redis/a.aof",
        "up.lock",
        "",
    ],
)
def test_t171_an_altered_backup_brings_no_file_that_none_keeps(home: Path, tmp_path: Path, path: str) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    altered(archive, add={path: b"1"})
    with pytest.raises(Problem, match=r"no backup holds|no place of a hub"):
        restore(settings_of(other), archive)
    assert not (other / path).is_file()


def test_t171_no_other_user_reads_what_an_altered_backup_opens(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    (home / "keys/hub.key").chmod(0o4777)
    back_up(settings_of(home), archive)
    restore(settings_of(other), archive)
    assert stat.S_IMODE((other / "keys/hub.key").stat().st_mode) & 0o7077 == 0


def _sparse(name: str, size: int) -> bytes:
    """Return a member of the old GNU form that holds nothing and says that it is `size` bytes of zeros."""
    info = tarfile.TarInfo(name)
    info.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[483:495] = b"\x80" + size.to_bytes(11, "big")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


@pytest.mark.parametrize("name", [MANIFEST, "home/keys/hub.key"])
def test_t171_a_small_backup_is_no_terabyte_of_zeros(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "a.starloom"
    archive.write_bytes(_sparse(name, 1 << 40) + b"\0" * 10240)
    with tarfile.open(archive) as read:
        (member,) = read
        assert (member.isreg(), member.size) == (True, 1 << 40), "the archive says what it should"
    with pytest.raises(Problem, match="cannot be used"):
        verify(archive)


def test_t179_a_backup_of_another_hub_takes_no_key_away(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.starloom"
    back_up(settings_of(home), archive)
    (home / "keys/hub.key").write_text("of this hub")
    (home / "keys/more.key").write_text("of this hub alone")
    made = restore(settings_of(home), archive, replace=True)
    assert (home / "keys/hub.key").read_text() == "key"
    assert (home / "keys/more.key").read_text() == "of this hub alone"
    assert made.aside is not None
    assert (made.aside / "home/keys/hub.key").read_text() == "of this hub"
    assert not (made.aside / "home/blobs").exists(), "what is equal stays where it is"


def test_t179_keys_without_a_history_are_kept_too(home: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    (other / "keys").mkdir(parents=True)
    (other / "keys/hub.key").write_text("of another hub")
    made = restore(settings_of(other), archive)
    assert made.aside is not None
    assert (made.aside / "home/keys/hub.key").read_text() == "of another hub"


@pytest.mark.parametrize(
    "path",
    [
        "wheels/starloom_agent-99.0.0-py3-none-any.whl",
        "Wheels/starloom_agent-99.0.0-py3-none-any.whl",
        "agents/desk/ledger.sqlite",
        "agents/desk/run/agent.lock",
    ],
)
def test_t214_an_altered_backup_brings_no_agent_and_no_memory_of_one(home: Path, tmp_path: Path, path: str) -> None:
    """The hub hands the newest wheel of its folder to each device that joins or is upgraded."""
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)
    altered(archive, add={path: b"1"})
    with pytest.raises(Problem, match="no backup holds"):
        restore(settings_of(other), archive)
    assert not (other / path).exists()


@pytest.fixture
def swapped(home: Path, tmp_path: Path) -> Path:
    """Return a backup of a home in which the history says something else, in as many bytes."""
    archive = tmp_path / "a.starloom"
    back_up(settings_of(home), archive)
    altered(archive, put=(b"ready", b"later"))
    assert b"later" in archive.read_bytes()
    return archive


def test_t244_an_altered_history_replaces_none(home: Path, tmp_path: Path, swapped: Path) -> None:
    before = (home / DATABASE_FILE).read_bytes()
    with pytest.raises(Problem, match="was altered"):
        restore(settings_of(home), swapped, replace=True)
    with pytest.raises(Problem, match="was altered"):
        restore(settings_of(tmp_path / "other"), swapped, until=str(home))
    assert (home / DATABASE_FILE).read_bytes() == before
    assert not (tmp_path / "other").exists()


def test_t244_a_sum_kept_elsewhere_proves_a_backup(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.starloom"
    made = back_up(settings_of(home), archive).sum
    restore(settings_of(tmp_path / "other"), archive, known_sum=made)
    altered(archive, add={"tunnels/more.json": b"{}"})
    with pytest.raises(Problem, match="the sum of"):
        restore(settings_of(tmp_path / "third"), archive, known_sum=made)
    assert not (tmp_path / "third").exists()
    restore(settings_of(home), archive, replace=True, known_sum=verify(archive).sum)


def test_t244_no_backup_vouches_for_itself(home: Path, tmp_path: Path) -> None:
    back_up(settings_of(home), tmp_path / "a.starloom")
    later = back_up(settings_of(home), tmp_path / "b.starloom")
    assert not [entry.path for entry in later.manifest.files if entry.path == str(MADE)]
    altered(tmp_path / "b.starloom", add={str(MADE): b"00"})
    with pytest.raises(Problem, match="no backup holds"):
        verify(tmp_path / "b.starloom")


def test_t244_bytes_that_change_between_two_reads_are_seen(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share in the network may answer each reader otherwise."""
    archive, other = tmp_path / "a.starloom", tmp_path / "other"
    back_up(settings_of(home), archive)

    def verified_once(path: Path) -> Archive:
        found = verify(path)
        altered(path, put=(b"ready", b"later"))
        return found

    monkeypatch.setattr(backup, "verify", verified_once)
    with pytest.raises(Problem, match="is not as it was written"):
        restore(settings_of(other), archive)
    assert not (other / DATABASE_FILE).exists()
