"""The comparison of a process with what it was, part by part; `tests/guard/test_reused_processes` has whole calls."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """
import locale, os, signal, sys
from starloom_agent.toolkit.interface import ToolContext
from starloom_agent.work.execution import outcomes, remains
"""
REMEMBER = "remains.remember_names()\n"


def is_as_before(change: str, head: str = HEAD + REMEMBER) -> bool:
    """Whether a process of its own is as before after this change."""
    code = f"{head}before = remains.Before('files.read')\n{change}\nprint(before.is_now())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout == "True\n"


def test_a_process_that_did_nothing_is_as_before() -> None:
    assert is_as_before("")


def test_without_names_nothing_is_as_before() -> None:
    assert not is_as_before("", HEAD)


def test_what_is_put_back_is_as_before() -> None:
    assert is_as_before("os.environ['LEFT'] = ''; del os.environ['LEFT']; os.umask(os.umask(0o77))")


@pytest.mark.parametrize(
    "change",
    [
        "from collections import namedtuple; namedtuple('P', 'a b', defaults=(1, 2))",
        "from dataclasses import make_dataclass; make_dataclass('P', [('a', int, 1)], kw_only=True)",
        "import os, weakref; weakref.finalize(os.stat(os.devnull).__class__, print).detach()",
        "class P: __slots__ = ('a',)\nP().a = 1; P.__name__ = 'Q'",
    ],
)
def test_what_is_new_and_belongs_to_a_call_is_as_before(change: str) -> None:
    assert is_as_before(change)


@pytest.mark.parametrize(
    "change",
    [
        "os.getcwd = lambda: ''",
        "outcomes.facts_of = lambda *_: {}",
        "outcomes.kept = []",
        "del outcomes.facts_of",
        "ToolContext.log = lambda *_: None",
        "ToolContext.kept = []",
        "sys.excepthook = lambda *_: None",
        "os.environ['LEFT'] = 'left'",
        "os.chdir('/proc')",
        "os.umask(0o77)",
        "sys.path.append('/nowhere')",
        "sys.setrecursionlimit(2000)",
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})",
        "signal.setitimer(signal.ITIMER_REAL, 60)",
        "locale.setlocale(locale.LC_ALL, 'C.UTF-8')",
        "sys.addaudithook(lambda *_: None)",
        "import atexit; atexit.register(print)",
        "import json; json.dumps.__code__ = (lambda *_, **__: 'evil').__code__",
        "import posixpath; posixpath.join.__defaults__ = ('evil',)",
        "import shlex; shlex.split.__kwdefaults__ = {'evil': True}",
        "import json; del json.dumps.__kwdefaults__",
        "ToolContext.log.__code__ = (lambda *_: None).__code__",
    ],
)
def test_a_change_is_noticed(change: str) -> None:
    assert not is_as_before(change)
