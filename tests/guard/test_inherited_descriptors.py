"""T204: what a program inherits from its agent, and what one that it leaves behind keeps from others."""

from __future__ import annotations

import fcntl
import json
import re
import shlex
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from starloom_protocol.vocabulary import Outcome
from tests.device_agents.work.conftest import Bench, bench
from tests.guard.test_left_programs import MARK, free, marked, run
from tests.waiting import SLOWER, until

pytestmark = [pytest.mark.short, pytest.mark.skipif(sys.platform != "linux", reason="processes of Linux")]
__all__ = ["bench", "free"]

LISTED = """
import json, os
found = {}
for name in os.listdir("/proc/self/fd"):
    try: found[name] = os.readlink("/proc/self/fd/" + name)
    except OSError: pass
print(json.dumps(found))
"""
KEEPS = """
import fcntl, os, select, socket, sqlite3, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
listener = socket.create_server(("127.0.0.1", PORT))
file = open(LOCK, "a")
fcntl.flock(file, fcntl.LOCK_EX)
ledger = sqlite3.connect(LEDGER)
ledger.execute("BEGIN IMMEDIATE")
open(DONE, "w").write("kept")
select.select([], [], [], 20)
"""


def command(code: str, *, behind: bool = False) -> str:
    words = shlex.join([sys.executable, "-c", code, MARK])
    wait = "while ! [ -e done ]; do sleep 0.05; done"
    return json.dumps({"argv": ["sh", "-c", f"{words} >/dev/null 2>&1 & {wait}" if behind else words]})


async def test_t204_a_program_inherits_three_pipes_and_no_more(free: Bench) -> None:
    result = await run(free, command(LISTED))
    assert result.outcome is Outcome.OK, result
    told: dict[str, Any] = json.loads(result.value or "{}")
    found: dict[str, str] = json.loads(told["stdout"])
    assert sorted(found) == ["0", "1", "2"], found
    assert all(re.fullmatch(r"pipe:\[\d+\]|/dev/null", one) for one in found.values()), found


async def test_t204_what_is_left_behind_keeps_no_port_no_lock_and_no_ledger(free: Bench, tmp_path: Path) -> None:
    """The ledger is open to a program only where the owner of the device lets it run any text of a shell."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    lock, ledger = tmp_path / "lock", free.home.ledger
    names = f"PORT, LOCK, LEDGER, DONE = {port}, {str(lock)!r}, {str(ledger)!r}, {str(tmp_path / 'done')!r}\n"
    text = json.loads(command(names + KEEPS, behind=True))
    text["argv"][2] = text["argv"][2].replace("[ -e done ]", f"[ -e {tmp_path / 'done'} ]")
    result = await run(free, json.dumps(text))
    assert result.outcome is Outcome.OK, result
    assert (tmp_path / "done").read_text() == "kept", "the attack did what it should"
    until(lambda: not marked(), "it has ended", 2 * SLOWER)
    socket.create_server(("127.0.0.1", port)).close()
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with closing(sqlite3.connect(ledger, timeout=0)) as opened:
        opened.execute("BEGIN IMMEDIATE")
