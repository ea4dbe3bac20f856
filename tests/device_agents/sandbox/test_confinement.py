"""The confinement of a file tool's process: its folders, Python and the network stay, every other file is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from starloom_agent.sandbox import confinement, escapes
from starloom_agent.sandbox.layers import call_numbers, landlock, seccomp
from tests.waiting import PATIENCE_S

TRY = """
import pathlib, socket, subprocess, sys
from starloom_agent.sandbox import confinement
docs, work, home = map(pathlib.Path, sys.argv[1:])
assert confinement.confine(read=[str(docs)], write=[str(work)])
def refused(do):
    try:
        do()
    except PermissionError:
        return True
    return False
print((docs / "a.txt").read_text(), end=" ")
(work / "made").write_text("x")
(work / "deep").mkdir()
(work / "made").rename(work / "deep/made")
import http.client, ssl, sqlite3, tarfile, xml.dom.minidom  # what a tool imports only when it needs it
assert refused(lambda: (docs / "b.txt").write_text("x"))
for name in ("policy.toml", "policy.key", "device.key", "ledger.sqlite"):
    assert refused((home / name).read_text), name
    assert refused(lambda: (home / name).write_text("x")), name
assert refused(lambda: list(home.iterdir()))
assert refused(lambda: (home / "new").mkdir())
socket.create_server(("127.0.0.1", 0)).close()
print(subprocess.run(["cat", str(home / "policy.toml")], capture_output=True, text=True).returncode)
"""

CALLS = """
import os, pathlib, socket, sys
from starloom_agent.sandbox import confinement, escapes
from starloom_agent.sandbox.layers import call_numbers
work = pathlib.Path(sys.argv[1])
assert confinement.confine(read=[], write=[str(work)])
tries = escapes.calls_open(call_numbers.numbers(os.uname().machine), int(sys.argv[2]))
print(len(tries), [said for said, heard in tries.items() if heard()])
made = work / "made"
made.write_text("x")
made.chmod(0o600)
os.utime(made, (1, 1))
print(made.stat().st_mode & 0o777 == 0o600, made.stat().st_mtime, bool(socket.getaddrinfo("localhost", 80)))
"""


PREPARED = """
import os, sys
from starloom_agent.sandbox import confinement
from starloom_agent.sandbox.layers import seccomp
confinement.prepare()
def again(*given, **named):
    raise AssertionError("a call builds what was built for all of them")
seccomp.filter_of = confinement._outermost = again
if os.fork() == 0:
    os._exit(0 if confinement.confine(read=[], write=[sys.argv[1]]) else 1)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_a_confined_process_reaches_its_folders_alone(tmp_path: Path) -> None:
    assert landlock.abi() >= landlock.ABI_REFER, "this machine cannot show it: its kernel has no Landlock"
    docs, work, home = (tmp_path / name for name in ("docs", "work", "home"))
    for folder in (docs, work, home):
        folder.mkdir()
    (docs / "a.txt").write_text("mine", encoding="utf-8")
    for name in ("policy.toml", "policy.key", "device.key", "ledger.sqlite"):
        (home / name).write_text("secret", encoding="utf-8")
    command = [sys.executable, "-P", "-c", TRY, str(docs), str(work), str(home)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ran.stdout, ran.stderr) == ("mine 1\n", "")
    assert sorted(path.name for path in home.iterdir()) == ["device.key", "ledger.sqlite", "policy.key", "policy.toml"]


def test_a_confined_process_has_the_filter_of_cages(tmp_path: Path) -> None:
    assert seccomp.is_known(), "this machine cannot show it: there is no filter for its processor"
    tries = len(escapes.calls_open(call_numbers.numbers(os.uname().machine), os.getpid()))
    command = [sys.executable, "-P", "-c", CALLS, str(tmp_path), str(os.getpid())]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ran.stdout, ran.stderr) == (f"{tries} []\nTrue 1.0 True\n", "")


def test_a_call_builds_nothing_that_was_prepared(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", PREPARED, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_no_filter_is_put_on_a_32_bit_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "maxsize", (1 << 31) - 1)
    assert not seccomp.is_known()


def test_where_the_kernel_cannot_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: 1)
    assert confinement.confine(read=[], write=[]) is False


def test_a_path_that_leads_into_another_one_is_left_out(tmp_path: Path) -> None:
    outer, beside = tmp_path / "usr", tmp_path / "usr2"
    (outer / "lib").mkdir(parents=True)
    beside.mkdir()
    link = tmp_path / "lib"
    link.symlink_to(outer / "lib")
    asked = (link, outer / "lib", outer, beside, tmp_path / "not-there", outer)
    kept = confinement._outermost(tuple(map(str, asked)))
    assert sorted(kept) == sorted(map(str, (outer, beside, tmp_path / "not-there")))
