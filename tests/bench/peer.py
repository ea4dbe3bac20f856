"""A system that is measured beside the hub, as a program of its own: a job on its stdin, its seconds on its stdout."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from tests.bench import machine
from tests.bench.hub_client import BenchFailed

START_S = 180.0
RUN_S = 400.0


class Peer:
    """A running peer, as an async context. `module` is run with `arguments`; it says that it is ready."""

    def __init__(self, name: str, module: str, *arguments: str) -> None:
        self._name = name
        self._command = ["-W", "ignore", "-m", module, *arguments]
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Peer:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=machine.ROOT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            start_new_session=True,
        )
        try:
            await self._line(START_S)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(15):
                await process.wait()
        except TimeoutError:
            for child in machine.children_named(process.pid, ""):
                os.kill(child, 9)
            process.kill()
            await process.wait()

    async def seconds(self, job: object) -> float:
        """Do a job and return the seconds from submit to result."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        return float(await self._line(RUN_S))

    async def _line(self, within_s: float) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise BenchFailed(f"{self._name} did not answer within {within_s:g} s") from error
        if not line:
            raise BenchFailed(f"{self._name}'s process ended")
        return json.loads(line)
