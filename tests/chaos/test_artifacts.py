"""A file of 200 MB goes from one device to two others over a link that is cut, and through a hub that is killed.

What counts: it arrives whole, no more than the piece in flight is sent twice, and neither the hub nor an agent ever
holds the file in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.chaos.work import plan
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.chaos, pytest.mark.proof(shown_by="tests/device_agents/wire/test_artifacts.py")]

MIB = 1024 * 1024
SETTINGS = {"STARLOOM_TIME_SCALE": "2"}
"""Leases outlive a hub that is started again, also on a busy machine."""
SIZE = 200 * MIB
SENT_TWICE_MOST = 12 * MIB
"""What may be under way when a link ends: one chunk of the upload, or the buffers of two sockets and the proxy."""
HUB_GROWTH_MOST = 48 * MIB
AGENT_MOST = 96 * MIB
"""A process of Python with the agent in it has some 40 MiB; with the file it would have 240."""


@pytest.fixture(scope="module")
def big(stack: Stack) -> tuple[Path, str]:
    """The file, on the device behind the proxy, and its hash."""
    path = stack.home / "folders" / "east" / "big.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    seed, digest = random.Random(20), hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(SIZE // MIB):
            piece = seed.randbytes(MIB)
            digest.update(piece)
            file.write(piece)
    return path, digest.hexdigest()


@dataclass
class Memory:
    """The most that any process of some agents held at a look, by its command."""

    agents: list[psutil.Process]
    most: dict[str, int] = field(default_factory=dict)

    def look(self) -> bool:
        for agent in self.agents:
            for process in (agent, *agent.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    held, name = process.memory_info().rss, " ".join(process.cmdline()[1:4])
                    self.most[name] = max(held, self.most.get(name, 0))
        return True


def peak(process: psutil.Process) -> int:
    """Return the most memory that a process ever held, in bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def cut(stack: Stack) -> None:
    stack.fault(FaultProxy.reset)
    stack.fault(FaultProxy.heal)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def test_a_large_file_arrives_whole_behind_cut_links_and_a_killed_hub(
    stack: Stack, settled: Settled, big: tuple[Path, str]
) -> None:
    source, sha = big
    there, back = stack.home / "folders" / "north" / "big.bin", source.with_name("back.bin")
    tasks: list[dict[str, Any]] = [
        {"id": "put", "tool": "artifact.put", "args": {"paths": [str(source)]}, "device": {"name": "east"}},
        {
            "id": "there",
            "tool": "artifact.get",
            "args": {"artifact": sha, "to": str(there)},
            "device": {"name": "north"},
        },
        {"id": "back", "tool": "artifact.get", "args": {"artifact": sha, "to": str(back)}, "device": {"name": "east"}},
    ]
    assert stack.proxy is not None
    link, agents = stack.proxy.proxy, Memory([stack.agent("east"), stack.agent("north")])

    def passes(count: Callable[[], int], what: str) -> None:
        until(lambda: agents.look() and count(), what, 3 * PATIENCE_S)

    request = stack.submit(plan("big", tasks, chain=True))
    passes(lambda: link.traffic.up >= SIZE // 3, "a third is sent")
    cut(stack)
    passes(lambda: link.traffic.up >= 2 * SIZE // 3, "two thirds are sent")
    stack.kill_hub()
    stack.until_up()
    hub, fresh = stack.hub, peak(stack.hub)
    passes(lambda: link.traffic.down >= SIZE // 2, "half has come back")
    cut(stack)
    passes(lambda: stack.look(request).final, "the request is final")

    assert request.view.state == "succeeded", stack.describe(request)
    assert {digest_of(there), digest_of(back)} == {sha}
    for passed in (link.traffic.up, link.traffic.down):
        assert SIZE <= passed <= SIZE + SENT_TWICE_MOST
    assert peak(hub) - fresh < HUB_GROWTH_MOST
    assert max(agents.most.values()) < AGENT_MOST, agents.most
    settled()
