"""`starloom backup FILE` and `starloom restore FILE`: one archive with all that a hub needs to continue elsewhere.

It holds the history, the keys, the artifacts, the output of attempts and the identities of the local agents. Redis is
not in it: a hub rebuilds it from the history. Works on the files and the database of this computer, not through the
hub; a backup may be made while the service runs, a restore only while it does not.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import stat
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from fnmatch import fnmatch, fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, TypeVar

import msgspec
from sqlalchemy import Connection

from starloom.client.exits import Exit
from starloom.client.own_homes import MARK_FILE
from starloom.client.problems import Problem, here, usage
from starloom.core.rights.restored_rights import among, with_those_of
from starloom.core.state.inputs import EndedRights, HistoryRestored
from starloom.core.state.model import Shard
from starloom.host.rights import Until, compared, read_until, rights_of
from starloom.process.settings import FILE_NAME, VERSION, Settings, shown_setting
from starloom.store.faults import full, has_no_room
from starloom.store.file_names import DATABASE_FILE
from starloom.store.port import Damaged, Unavailable
from starloom.store.redis.link import REDIS_LOOK_S, ReplyError, open_link, place_of
from starloom.store.redis.takeover import standing
from starloom.store.sql.database import Database, open_database
from starloom.store.sql.dump import HISTORY_ID_FILE, RESTORED_FILE, Dump, read_dump, write_dump
from starloom.store.sql.history import begin_new_lives, read_meta
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.text.wording import escaped

T = TypeVar("T")
FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
HISTORY: Final = "history"
MADE: Final = Path("run") / "backups"
"""The file in the data folder with the sum of each backup that was made there or restored into it, one a line.

It is in no backup: who can alter one has its keys, and could let it vouch for itself.
"""
REPLACED: Final = "replaced"
"""The folder in the data folder for histories that a restore has moved aside."""
LEFT_OUT: Final = (
    "redis/*", f"{REPLACED}/*", "logs/*", "run/*", "wheels/*", "demo/*", "files/*", "lab/*", "blobs/partial/*",
    f"{DATABASE_FILE}*", "up.lock", MARK_FILE, "keys/local.json", "*.part", "agents/*/ledger*", "agents/*/work/*",
    "agents/*/workspace/*", "agents/*/run/*",
)  # fmt: skip
"""Patterns of files that a hub or an agent makes again, or that describe a running process.

The ledger of an agent is the memory of its device: an old copy would lack work that was done since.
"""
KEPT: Final = ("run/hub.id",)
"""Exceptions from `LEFT_OUT`."""
_NEVER_KEPT: Final = (
    "redis/*", "run/*", f"{DATABASE_FILE}*", "up.lock", MARK_FILE, "wheels/*", "agents/*/ledger*", "agents/*/work/*",
    "agents/*/workspace/*", "agents/*/run/*",
)  # fmt: skip
"""Files of `LEFT_OUT` that no version has kept: they would take the place of what a restore itself puts there, be the
agent that the hub hands to other devices, or what an agent here remembers."""
PLACES: Final = ("broker_url", "database_url", "redis_url", "shared")
"""The settings that say where history, log and keys are: after a restore they are those that it has worked by."""
BESIDE_SETTINGS: Final = f"{FILE_NAME}.of-backup"
"""The name for the settings file of an archive beside one that stays."""
_OWNER_ALONE: Final = 0o700
"""The bits of a mode that a restore gives back: a hub's home is that of one user, and none of its files a way to be
another."""
_CHUNK_BYTES: Final = 1024 * 1024


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file: `place` is `home` or `shared`, `path` is relative to it."""

    place: str
    path: str
    mode: int
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The last member of an archive; all others are named in it, each with the hash of what was written."""

    format: int
    made_ms: int
    dump: Dump
    files: list[Entry]
    release: str = ""
    """The release that wrote it; empty: one from before it said so."""

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.files)


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A verified archive; `sum` is the SHA-256 of its manifest, which has those of all else in it."""

    manifest: Manifest
    sum: str


def back_up(settings: Settings, target: Path) -> Archive:
    """Write the archive to `target`, readable by its owner only, and read it back.

    The history is copied first: every file that it names was there before it, and files are copied after it. The data
    folder keeps the sum of the archive.

    Raises:
        Problem: the target exists, or something could not be read or written; nothing is left at `target`.
    """
    if target.exists():
        raise usage(f"{target} exists, and a backup overwrites nothing", "Name another file, or move it away.")
    history = settings.home / DATABASE_FILE
    if settings.database_url is None and not history.exists():
        # To open it would make it, and a restore would find a history there.
        if (settings.home / "keys").is_dir():
            reason = f"the hub of {settings.home} keeps its history in a database that this command is not told of"
            raise usage(reason, "Give it the STARLOOM_DATABASE_URL of the hub, or write it into starloom.toml there.")
        way_out = (
            "Name the data folder: --home FOLDER, or --hub; `starloom doctor` says where the hub of this folder is."
        )
        raise usage(f"no hub has kept anything in {settings.home}", way_out)
    if not target.parent.is_dir():
        raise usage(f"there is no folder {target.parent}", "Make it, or name a file in another folder.")
    part = target.with_name(target.name + ".part")
    try:
        with tempfile.TemporaryDirectory(prefix=".starloom-backup-", dir=target.parent) as name:
            folder = Path(name)
            try:
                dump = asyncio.run(_with_database(settings, lambda database: database.read(_dumped, folder)))
                _write_archive(part, dump, folder, settings)
            except (OSError, _NotWritten) as error:
                cause = error.cause if isinstance(error, _NotWritten) else error
                raise OSError(str(full(target.parent)) if has_no_room(cause) else str(cause)) from error
        archive = verify(part)
        _note_made(settings.home, archive.sum)
        part.rename(target)
    except (OSError, Unavailable) as error:
        raise _failed(f"the backup could not be made: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return archive


class _NotWritten(Exception):
    """A file of a dump could not be written; a database takes errors of the system for its own."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _dumped(connection: Connection, folder: Path) -> Dump:
    try:
        return write_dump(connection, folder)
    except OSError as error:
        raise _NotWritten(error) from error


def verify(path: Path) -> Archive:
    """Return the manifest of an archive and its sum after comparing every member with it.

    Raises:
        Problem: it is no backup, is of a newer format, or is damaged; the first damaged member is named.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            raw, hashes = _read_through(archive)
        manifest = _manifest(raw)
        _compare(hashes, _hashes(manifest))
    except (tarfile.TarError, msgspec.DecodeError, EOFError) as error:
        raise _unusable(path, f"it is no backup, or it is cut short ({error})") from error
    except Damaged as damaged:
        raise _unusable(path, str(damaged)) from damaged
    except OSError as error:
        raise usage(
            f"{path} cannot be read: {error.strerror}", "Name the file that `starloom backup` wrote."
        ) from error
    return Archive(manifest=manifest, sum=hashlib.sha256(raw).hexdigest())


class LaidSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings file of an archive after a restore: lines that are comments in it, or the place beside one that
    stays."""

    beside: Path | None = None
    left_out: tuple[str, ...] = ()


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """A finished restore. `place` is that of the history now, `until` the history that it replaced, `aside` the place
    to which that was moved."""

    archive: Archive
    aside: Path | None = None
    backup: Shard
    ended: EndedRights
    place: str
    settings: LaidSettings
    until: Until


def restore(
    settings: Settings, source: Path, *, replace: bool = False, until: str | None = None, known_sum: str | None = None
) -> Restored:
    """Put an archive into an empty home and an empty database; the caller holds the lock of the home.

    With `replace` the history of the home is moved aside first. That one, or the history at the place `until`, tells
    which rights of the backup have ended. Files that an agent has there already stay: its ledger knows what was done
    after the backup. Where there is a history, the archive was made there, or has the sum that a person knows.

    The hub must find the history where this puts it: a settings file that is there stays, and lines of the archive's
    one that name other places become comments.

    Raises:
        Problem: the archive is damaged or another one, there is a history already, or Redis has a log; nothing is
            changed then.
    """
    archive = verify(source)
    manifest = archive.manifest
    _check_place(settings, until, replace=replace)
    if settings.redis_url is not None:
        asyncio.run(_check_redis(settings.redis_url))
    place = until or (str(settings.home) if (settings.home / DATABASE_FILE).exists() else "")
    _check_maker(source, archive.sum, known_sum, [settings.home, Path(place)] if place else [])
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    until_rights = asyncio.run(read_until(place)) if place else Until(why="there is none here")
    unread_ends = _unread_ends({settings.home, settings.shared_home} if until is None else {Path(until)})
    try:
        with tempfile.TemporaryDirectory(prefix=".starloom-restore-", dir=settings.home) as name:
            folder = Path(name)
            _extract(source, manifest, folder)
            laid = _settings_laid(settings, folder / "home" / FILE_NAME)
            incarnation = until_rights.incarnation
            backup, new_incarnation = asyncio.run(
                _read_history(settings.home, manifest.dump, folder / HISTORY, incarnation)
            )
            ended, until_rights = compared(backup, until_rights)
            note = partial(
                _note_restored, settings, manifest.made_ms, with_those_of(unread_ends, ended), new_incarnation
            )
            aside = settings.home / REPLACED / time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
            # The mark before the history is at its place: a hub that finds it must know what has ended.
            if settings.database_url is None:
                earlier_mark = note()
                try:
                    _place_history(settings.home, aside)
                except OSError:
                    _put_mark(settings.shared_home, earlier_mark)
                    raise
            else:
                _part_of(settings.home).unlink()
                asyncio.run(_fill_database(settings.database_url, manifest.dump, folder / HISTORY, incarnation, note))
                _move_aside([settings.home / "redis"], aside)
            _place_files(settings, manifest, folder, aside)
            _note_made(settings.home, archive.sum)
    except (OSError, tarfile.TarError, Unavailable, Damaged) as error:
        release_words = f" ({_reader_of(manifest.release)})" if manifest.release not in ("", VERSION) else ""
        raise _failed(f"the backup could not be restored: {error}{release_words}") from error
    ended = among(with_those_of(unread_ends, ended), backup)
    moved = aside if aside.exists() else None
    file = str(settings.home / DATABASE_FILE)
    kept_in = file if settings.database_url is None else shown_setting(settings.database_url)
    return Restored(
        archive=archive,
        aside=moved,
        backup=backup,
        ended=ended,
        place=kept_in,
        settings=laid,
        until=until_rights,
    )


def _check_place(settings: Settings, until: str | None, *, replace: bool) -> None:
    file = settings.home / DATABASE_FILE
    if replace and settings.database_url is not None:
        raise usage(
            "--replace moves files of the data folder aside, and this hub keeps its history in a database",
            "Make an empty database, and name the one until now: --until postgresql://...",
        )
    if until is not None and "://" not in until and not (Path(until) / DATABASE_FILE).exists():
        raise usage(f"{until} has no history", f"Name the folder with its {DATABASE_FILE}.")
    if settings.database_url is None and file.exists() and not replace:
        raise usage(
            f"{settings.home} has a history already, and a restore overwrites nothing",
            "Add --replace: it moves that history aside, and who was revoked since the backup stays revoked. "
            "Or set STARLOOM_HOME to an empty folder.",
        )


async def _check_redis(url: str) -> None:
    """Refuse a Redis with a log: the hub would play it onto the restored history, or it is that of a living hub."""
    try:
        link = await open_link(url, connect_within_s=REDIS_LOOK_S, reply_within_s=REDIS_LOOK_S)
        try:
            log = await standing(link)
        finally:
            link.close()
    except (ReplyError, Unavailable) as error:
        way_out = "Nothing was changed. Start it, or set STARLOOM_REDIS_URL; a hub without one has its own."
        raise usage(str(error), way_out) from error
    trial = "For a trial beside it, name another Redis, or leave redis_url out: the hub then has its own."
    if log.holder:
        reason = f"the hub {log.holder} runs on Redis at {place_of(url)}"
        raise usage(reason, f"Nothing was changed. Stop every hub on it before a restore. {trial}")
    if log.pos:
        raise usage(
            f"Redis at {place_of(url)} has the log of a hub up to commit {log.pos}, which would be played onto the "
            "restored history",
            f"Nothing was changed. Empty it first: redis-cli -u ADDRESS FLUSHDB. {trial}",
        )


def _settings_laid(settings: Settings, source: Path) -> LaidSettings:
    """Make the settings file of an archive fit the place of this restore; return what became of it."""
    own_file = settings.home / FILE_NAME
    if not source.exists():
        return LaidSettings()
    if own_file.exists():
        is_same = own_file.read_bytes() == source.read_bytes()
        return LaidSettings(beside=None if is_same else own_file.with_name(BESIDE_SETTINGS))
    try:
        text = source.read_text(encoding="utf-8")
        lines = tomllib.loads(text)
    except ValueError:  # no hub starts on it, and that start says where the fault is
        return LaidSettings()
    places = Settings.model_construct(**{name: lines[name] for name in PLACES if name in lines})
    others = [name for name in PLACES if name in lines and _place(places, name) != _place(settings, name)]
    if not others:
        return LaidSettings()
    laid = re.sub(rf"^(?=[ \t]*[\"']?({'|'.join(others)})[\"']?[ \t]*=)", "# ", text, flags=re.MULTILINE)
    try:
        is_left_out = not tomllib.loads(laid).keys() & set(others)
    except tomllib.TOMLDecodeError:
        is_left_out = False
    if not is_left_out:
        raise Damaged(f"its {FILE_NAME} names {', '.join(others)} in a form that cannot be left out")
    source.write_text(laid, encoding="utf-8")
    return LaidSettings(left_out=tuple(others))


def _place(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    return str(Path(value).expanduser().absolute() if name == "shared" and value is not None else value)


def _check_maker(source: Path, archive_sum: str, known_sum: str | None, homes: list[Path]) -> None:
    """Refuse an archive that is not the known one, or that no hub of these data folders has made."""
    if known_sum is not None and archive_sum != known_sum.lower():
        raise usage(
            f"the sum of {source} is {archive_sum}, and not {known_sum}", "Nothing was changed. Take another backup."
        )
    if known_sum is None and homes and not any(archive_sum in _made_in(home) for home in homes):
        way_out = (
            "Nothing was changed. If another data folder or an earlier release made it, compare this sum with the one "
            "that `starloom backup` printed, or see that nobody else could write to the file, and add --sum SUM."
        )
        raise usage(
            f"{source} was altered, or not made by the hub of {homes[0]}, which does not know its sum {archive_sum}",
            way_out,
        )


def _made_in(home: Path) -> list[str]:
    try:
        return (home / MADE).read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []


def _note_made(home: Path, archive_sum: str) -> None:
    path = home / MADE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("a") as file:
        file.write(f"{archive_sum}\n")


async def _read_history(home: Path, dump: Dump, folder: Path, incarnation: int) -> tuple[Shard, int]:
    """Make a SQLite file beside its place; return the rights that the history gives, and its incarnation."""
    part = _part_of(home)
    part.unlink(missing_ok=True)
    database = open_database(f"sqlite:///{part}")
    try:
        await database.write(_fill, dump, folder, incarnation)
        await database.migrate()
        return await rights_of(database), (await database.read(read_meta)).incarnation
    finally:
        await database.close()


async def _fill_database(url: str, dump: Dump, folder: Path, incarnation: int, note: Callable[[], object]) -> None:
    """Fill an empty database in one transaction; `note` leaves the mark while nothing of it counts yet."""

    def fill(connection: Connection) -> None:
        _fill(connection, dump, folder, incarnation)
        note()

    database = open_database(url)
    try:
        await database.write(fill)
        await database.migrate()
    finally:
        await database.close()


def _fill(connection: Connection, dump: Dump, folder: Path, incarnation: int) -> None:
    read_dump(connection, dump, folder)
    begin_new_lives(connection, incarnation)


def _part_of(home: Path) -> Path:
    return home / f"{DATABASE_FILE}.restoring"


def _place_history(home: Path, aside: Path) -> None:
    """Move a history that stands in the way aside, then the restored one to its place."""
    part = _part_of(home)
    old = [path for path in (*home.glob(f"{DATABASE_FILE}*"), home / "redis") if path.exists()]
    old = [path for path in old if not path.name.startswith(part.name)]
    _move_aside(old, aside)
    part.replace(home / DATABASE_FILE)


def _move_aside(paths: Iterable[Path], aside: Path) -> None:
    for path in paths:
        if path.exists():
            aside.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.rename(aside / path.name)


def _unread_ends(homes: set[Path]) -> EndedRights:
    """Return what has ended by a restore since which no hub has started: the history there does not know it yet."""
    ended = EndedRights()
    for home in sorted(homes):
        try:
            raw = (home / RESTORED_FILE).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            mark = msgspec.json.decode(raw, type=HistoryRestored | int)
        except msgspec.DecodeError as error:
            way_out = "Name the history that it replaced: --until FOLDER, which is in the folder `replaced` there."
            raise usage(f"{home / RESTORED_FILE}, the mark of an earlier restore, is damaged", way_out) from error
        if not isinstance(mark, int) and mark.ended is not None:
            ended = with_those_of(ended, mark.ended)
    return ended


def _note_restored(settings: Settings, made_ms: int, ended: EndedRights, incarnation: int) -> bytes | None:
    """Leave the mark that tells the hub at its first start that work may have run since the backup, and what ended;
    return the mark that was there. Of the hubs that share a history, any may be the first to start.
    """
    path = settings.shared_home / RESTORED_FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    earlier = path.read_bytes() if path.exists() else None
    name = f"restored-{made_ms}"
    item = HistoryRestored(by=ENGINE, ended=ended, id=name, incarnation=incarnation, made_ms=made_ms, scope="local")
    _put_mark(settings.shared_home, msgspec.json.encode(item))
    (settings.shared_home / HISTORY_ID_FILE).unlink(missing_ok=True)
    return earlier


def _put_mark(home: Path, mark: bytes | None) -> None:
    """Put a mark there whole, or take it away."""
    path = home / RESTORED_FILE
    if mark is None:
        path.unlink(missing_ok=True)
        return
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(mark)
    part.replace(path)


def _places(settings: Settings) -> dict[str, Path]:
    places = {"home": settings.home}
    if settings.shared_home != settings.home:
        places["shared"] = settings.shared_home
    return places


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the regular files that a backup keeps, by relative path; links and sockets are never followed."""
    for folder, names, files in os.walk(root):
        relative = Path(folder).relative_to(root)
        names[:] = sorted(name for name in names if not name.startswith(".starloom-"))
        for name in sorted(files):
            path = (relative / name).as_posix()
            left_out = any(fnmatch(path, pattern) for pattern in LEFT_OUT) and path not in KEPT
            if not left_out and (root / path).is_file() and not (root / path).is_symlink():
                yield path, root / path


class _Hashed:
    """A file that is read once; its hash is that of exactly the bytes that were read, even if the file grows."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        raw = self._file.read(size)
        self._digest.update(raw)
        return raw

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _write_archive(target: Path, dump: Dump, folder: Path, settings: Settings) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:") as archive:
            for table in dump.tables:
                archive.add(folder / table.name, f"{HISTORY}/{table.name}")
            entries = [
                entry
                for place, root in _places(settings).items()
                for path, source in _files(root)
                if (entry := _add(archive, place, path, source)) is not None
            ]
            manifest = Manifest(
                format=FORMAT, made_ms=int(time.time() * 1000), dump=dump, files=entries, release=VERSION
            )
            (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))
            archive.add(folder / MANIFEST, MANIFEST)
        file.flush()
        os.fsync(file.fileno())


def _add(archive: tarfile.TarFile, place: str, path: str, source: Path) -> Entry | None:
    """Add one file in its current state; None if it is gone, like an expired artifact."""
    try:
        file = source.open("rb")
    except FileNotFoundError:
        return None
    with file:
        info = archive.gettarinfo(arcname=f"{place}/{path}", fileobj=file)
        hashed = _Hashed(file)
        archive.addfile(info, hashed)
        mode = stat.S_IMODE(info.mode)
        return Entry(place=place, path=path, mode=mode, bytes=info.size, sha256=hashed.hexdigest())


def _read_through(archive: tarfile.TarFile) -> tuple[bytes, dict[str, str]]:
    """Return the bytes of the manifest and the hash of every other member.

    Raises:
        Damaged: there is no manifest at the end, or something that no backup holds.
    """
    hashes: dict[str, str] = {}
    manifest: bytes | None = None
    for member in archive:
        # A sparse member says how many zeros it is, so that a small archive could be read for days.
        file = archive.extractfile(member) if member.isreg() and not member.issparse() else None
        if file is None or manifest is not None or member.name in hashes:
            raise Damaged(f"it holds {member.name}, which no backup holds there")
        if member.name == MANIFEST:
            manifest = file.read()
        else:
            hashes[member.name] = _hash_of(file)
    if manifest is None:
        raise Damaged("it does not end with its manifest")
    return manifest, hashes


def _hash_of(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while raw := file.read(_CHUNK_BYTES):
        digest.update(raw)
    return digest.hexdigest()


def _compare(hashes: dict[str, str], expected: dict[str, str]) -> None:
    for name in sorted(hashes.keys() | expected.keys()):
        if name not in hashes:
            raise Damaged(f"{name} is missing")
        if hashes[name] != expected.get(name):
            raise Damaged(f"{name} is not as it was written")


def _manifest(raw: bytes) -> Manifest:
    fields = msgspec.json.decode(raw, type=dict[str, Any])
    version = fields.get("format")
    if version != FORMAT:
        reader = _reader_of(str(fields.get("release") or ""))
        raise Damaged(f"it has format {version}, and Starloom {VERSION} reads {FORMAT}: {reader}")
    return msgspec.json.decode(raw, type=Manifest)


def _reader_of(release: str) -> str:
    """Return which release reads a backup that this one does not read."""
    reader = f"Starloom {escaped(release)} wrote it and reads it" if release else "the release that wrote it reads it"
    return f"{reader}; install that one, restore there, and upgrade it then"


def _hashes(manifest: Manifest) -> dict[str, str]:
    hashes = {}
    for table in manifest.dump.tables:
        if not _is_below(table.name):
            raise Damaged(f"it names {HISTORY}/{table.name}, which is no place of a hub")
        hashes[f"{HISTORY}/{table.name}"] = table.sha256
    for entry in manifest.files:
        if entry.place not in ("home", "shared") or not _is_below(entry.path):
            raise Damaged(f"it names {entry.place}/{entry.path}, which is no place of a hub")
        # Some file systems take names that differ in case for one.
        name = entry.path.casefold()
        if name not in KEPT and any(fnmatchcase(name, pattern) for pattern in _NEVER_KEPT):
            raise Damaged(f"it holds {entry.path}, which no backup holds")
        hashes[f"{entry.place}/{entry.path}"] = entry.sha256
    return hashes


def _is_below(name: str) -> bool:
    """Tell whether a name of a manifest is that of a file below its folder, written in the one way for it."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and path.as_posix() == name


def _extract(source: Path, manifest: Manifest, folder: Path) -> None:
    hashes = _hashes(manifest)
    with tarfile.open(source, "r:") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name in hashes else None
            if file is None:
                continue
            path = folder / member.name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            hashed = _Hashed(file)
            with path.open("xb") as out:
                shutil.copyfileobj(hashed, out, _CHUNK_BYTES)
            # Its disk may be another computer's, which gives other bytes to the second reader.
            _compare({member.name: hashed.hexdigest()}, {member.name: hashes[member.name]})


def _place_files(settings: Settings, manifest: Manifest, folder: Path, aside: Path) -> None:
    """Put the files of an archive to their places; other contents there go aside, as nothing else could open what the
    history until now holds: they may be the keys of another hub.
    """
    places = {"home": settings.home, "shared": settings.shared_home}
    for entry in manifest.files:
        target = places[entry.place] / entry.path
        is_settings = (entry.place, entry.path) == ("home", FILE_NAME)
        if is_settings and target.exists():
            if _has(target, entry):
                continue
            target = target.with_name(BESIDE_SETTINGS)
        if target.exists() and entry.path.startswith("agents/"):
            continue
        if target.exists() and not _has(target, entry):
            moved = aside / entry.place / entry.path
            moved.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.move(target, moved)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        source = folder / entry.place / entry.path
        source.chmod(entry.mode & _OWNER_ALONE)
        shutil.move(source, target)


def _has(path: Path, entry: Entry) -> bool:
    if not path.is_file() or path.stat().st_size != entry.bytes:
        return False
    with path.open("rb") as file:
        return _hash_of(file) == entry.sha256


async def _with_database(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    url = settings.database_url or f"sqlite:///{settings.home / DATABASE_FILE}"
    database = open_database(url)
    try:
        return await work(database)
    finally:
        await database.close()


def _unusable(path: Path, why: str) -> Problem:
    return usage(f"{path} cannot be used: {why}", "Nothing was changed. Take another backup.")


def _failed(reason: str) -> Problem:
    return here("failed", "It did not work", reason, "Remove the cause and run it again.", Exit.FAILED)
