"""A context with one granted folder, a store of artifacts in memory of the test, and a record of what was said."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pytest

from starloom_agent.sandbox.levels import UNCONFINED
from starloom_agent.toolkit.interface import Folders, Sent, ToolContext
from starloom_agent.toolkit.results import Stored
from starloom_agent.toolkit.running import outliving
from starloom_agent.work.registry import all_tools
from starloom_protocol.values import canonical, parse
from tests.device_agents.tools.results import faults


@dataclass
class Store:
    folder: Path

    def put(self, file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        file.seek(0)
        stored = self.take(file.read(), name=name, media=media)
        if sent is not None:
            sent(stored["bytes"] // 2)
            sent(stored["bytes"])
        return stored

    def take(self, data: bytes, *, name: str = "file", media: str = "application/octet-stream") -> Stored:
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / digest).write_bytes(data)
        return {"artifact": digest, "bytes": len(data), "name": name, "media": media}

    def read(self, ref: Mapping[str, Any]) -> bytes:
        return (self.folder / str(ref["artifact"])).read_bytes()

    def fetch(self, sha256: str, into: Path) -> Path:
        target = into / f"fetched-{sha256[:16]}"
        shutil.copyfile(self.folder / sha256, target)
        return target


@dataclass
class Said:
    lines: list[str] = field(default_factory=list)
    fractions: list[float] = field(default_factory=list)

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        if fraction is not None:
            self.fractions.append(fraction)

    def log(self, text: str) -> None:
        self.lines.append(text)


class Device:
    """Calls tools as the runner does: arguments through the strict struct, values as canonical JSON."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "granted"
        self.workdir = home / "attempt"
        self.store = Store(home / "store")
        self.said = Said()
        for path in (self.folder, self.workdir, self.store.folder):
            path.mkdir()
        self._tools = {tool.name: tool for tool in all_tools()}

    def context(self, *, hosts: tuple[str, ...] = (), granted: Folders | None = None) -> ToolContext:
        # Empty at the start of each attempt.
        shutil.rmtree(self.workdir)
        self.workdir.mkdir()
        return ToolContext(
            workdir=self.workdir,
            artifacts=self.store,
            output=self.said,
            folders=granted or Folders.of(write=[str(self.folder)]),
            fence="1.1",
            hosts=hosts,
            cage=UNCONFINED,
        )

    def call(self, name: str, /, *, hosts: tuple[str, ...] = (), granted: Folders | None = None, **args: Any) -> Any:
        tool = self._tools[name]
        value = parse(canonical(tool.run(self.context(hosts=hosts, granted=granted), msgspec.convert(args, tool.args))))
        assert faults(name, value) == []
        return value

    def write(self, path: str, data: bytes | str) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        return target


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    yield Device(tmp_path)
    while outliving.STARTED:
        process = outliving.STARTED.pop()
        process.kill()
        process.wait()
