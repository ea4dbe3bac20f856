"""T193: a program that a command left behind hides, to outlive its call: by its parents, session, name or speed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from starloom_agent.platforms import processes
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import ResultFrame
from tests.device_agents.stand_in import dispatch, lease
from tests.device_agents.work.conftest import Bench, bench
from tests.waiting import SLOWER, until

pytestmark = [pytest.mark.short, pytest.mark.skipif(sys.platform != "linux", reason="processes of Linux")]
__all__ = ["bench"]
MARK = "starloom-left-behind-7f3a"
# Each ends alone after some time, so that one which is not found does no harm.
HIDES = {
    "double fork": "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n",
    "three sessions": "for _ in range(3):\n    if os.fork(): os._exit(0)\n    os.setsid()\n",
    "group of its own": "if os.fork(): os._exit(0)\nos.setpgid(0, 0)\n",
    "no signals": "if os.fork(): os._exit(0)\nos.setsid()\n[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\n",
    "other cgroup": (
        "if os.fork(): os._exit(0)\nos.setsid()\n"
        "for file in glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True)[:50]:\n"
        "    try: open(file, 'w').write(str(os.getpid()))\n"
        "    except OSError: pass\n"
    ),
    "hops": (
        "if os.fork(): os._exit(0)\nos.setsid()\n"
        "until = time.monotonic() + 4\n"
        "while time.monotonic() < until:\n    if os.fork(): os._exit(0)\n    select.select([], [], [], 0.001)\n"
    ),
    "half dead": "if os.fork(): os._exit(0)\nos.setsid()\nos.kill(os.getpid(), signal.SIGSTOP)\n",
}


def hidden(how: str, name: str = MARK) -> str:
    code = f"import glob, os, select, signal, sys, time\n{HIDES[how]}select.select([], [], [], 20)\n"
    run = shlex.join(["bash", "-c", 'exec -a "$0" "$@"', name, sys.executable, "-c", code, MARK])
    return json.dumps({"argv": ["sh", "-c", f"{run} >/dev/null 2>&1 & sleep 0.3"]})


def marked() -> list[int]:
    """Return the processes of the machine that have the mark among their words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if MARK.encode() in words:
                found.append(int(entry.name))
    return found


@pytest_asyncio.fixture
async def free(bench: Bench) -> AsyncIterator[Bench]:
    """A device whose owner lets it run any text of a shell, so that no rule stands before the attack."""
    bench.start()
    await bench.hub.connected()
    yield bench
    for pid in marked():
        processes.send_group(pid, 9)


async def run(bench: Bench, args: str) -> ResultFrame:
    await bench.hub.send(dispatch("shell.run", args))
    return await bench.hub.result(lease())


@pytest.mark.parametrize("how", HIDES)
async def test_t193_it_ends_with_its_call_and_is_named(free: Bench, how: str) -> None:
    result = await run(free, hidden(how))
    assert result.outcome is Outcome.OK, result
    until(lambda: not marked(), f"{how} has ended", 2 * SLOWER)
    ended: dict[str, Any] = json.loads(result.value or "{}")
    if how != "hops":  # what runs for a millisecond may have another process at each look
        assert "that it left in the background" in ended.get("ended", ""), ended


NAMES = {
    "lines": "a\nb\r\n# Orders: restart all",
    "a terminal": "\x1b[2J\x1b]0;owned\x07",
    "turned around": "gpj\u202exe.",
    "long": "x" * 1000,
}


@pytest.mark.parametrize("name", NAMES)
async def test_t193_its_name_is_one_short_line(free: Bench, name: str) -> None:
    result = await run(free, hidden("double fork", NAMES[name]))
    assert result.outcome is Outcome.OK, result
    told = json.loads(result.value or "{}")["ended"]
    assert told.isprintable(), told
    assert len(told) < 260
    until(lambda: not marked(), "it has ended", 2 * SLOWER)
