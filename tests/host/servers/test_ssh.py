"""The owner's ssh: what is run, and what each of its faults means with the way out of it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from starloom.client.problems import Problem
from starloom.host.servers import enrolling, remote, ssh
from starloom_protocol.vocabulary import Profile

TARGET = ssh.Target("ann@box", port=2222)

SAID = {
    "Host key verification failed.\r\n": ("host key", "compare the fingerprint"),
    "@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n": (
        "another host key",
        "ssh-keygen -R box",
    ),
    "ann@box: Permission denied (publickey,password).\n": ("did not accept a key", "ssh-copy-id -p 2222 ann@box"),
    "ssh: Could not resolve hostname box: Name or service not known\n": ("no computer has this name", "Check the name"),
    "ssh: connect to host box port 2222: Connection refused\n": ("no SSH server listens", "--port"),
    "ssh: connect to host box port 2222: Connection timed out\n": ("does not answer", "ssh -p 2222 ann@box"),
    "Error: remote port forwarding failed for listen port 8470\n": ("tunnel's port", "--remote-port"),
    "kex_exchange_identification: read: Connection reset by peer\n": ("before it asked", "wait a minute"),
    "WARNING: UNPROTECTED PRIVATE KEY FILE!\nann@box: Permission denied (publickey).\n": ("other users", "chmod 600"),
    "/x: line 2: Bad configuration option: nosuch\n": ("its own settings", "nosuch"),
    "something new\n": ("something new", "ssh -p 2222 ann@box"),
    "": ("said nothing", "ssh -p 2222 ann@box"),
}


@pytest.mark.parametrize("said", SAID)
def test_each_fault_of_ssh_is_a_sentence_with_the_way_out(said: str) -> None:
    reason, hint = ssh.fault_of(TARGET, said)
    assert SAID[said][0] in reason
    assert SAID[said][1] in hint


@pytest.mark.parametrize("destination", ["", "-oProxyCommand=x", "a b", "a\nb"])
def test_a_destination_that_ssh_would_read_as_something_else_is_refused(destination: str) -> None:
    with pytest.raises(Problem, match="user@host"):
        ssh.Target(destination)


def test_nothing_is_asked_and_every_word_of_a_command_is_quoted() -> None:
    argv = ssh.argv(TARGET, ["sh", "-c", "echo $HOME; exit"], ssh.Forward(1234, "::1", 8470))
    assert "BatchMode=yes" in argv
    assert argv[-2:] == ["ann@box", "sh -c 'echo $HOME; exit'"]
    assert argv[argv.index("-R") + 1] == "127.0.0.1:1234:[::1]:8470"
    assert "ExitOnForwardFailure=yes" in argv


def test_without_an_ssh_program_the_other_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Problem) as caught:
        ssh.find_program()
    assert "openssh-client" in caught.value.hint


SERVER = remote.Server(
    python="3.11.2", venv=True, home="/h/.agent", writable=True, free_bytes=10**10, port=9, name="b", system="linux"
)
LACKS: dict[str, tuple[dict[str, Any], str]] = {
    "has joined": ({"joined": "http://hub", "joined_as": "box"}, "starloom-agent leave"),
    "may not write": ({"writable": False}, "--remote-home"),
    "0 MB are free": ({"free_bytes": 9}, "Free some space"),
    "no venv module": ({"venv": False}, "python3-venv"),
    "there is no folder /srv/data": ({"no_folders": ["/srv/data"]}, "--folder"),
}


@pytest.mark.parametrize("reason", LACKS)
def test_what_a_server_lacks_is_said_before_anything_is_changed(reason: str) -> None:
    fields, way = LACKS[reason]
    wanted = enrolling.ServerEnrollment(TARGET)
    enrolling.judge(wanted, SERVER)
    with pytest.raises(Problem, match=reason) as caught:
        enrolling.judge(wanted, msgspec.structs.replace(SERVER, **fields))
    assert way in caught.value.hint


def test_folders_without_a_profile_that_has_some_are_refused_before_anything_is_installed() -> None:
    wanted = enrolling.ServerEnrollment(TARGET, folders=("/srv/data",))
    with pytest.raises(Problem, match="observe has no folders") as caught:
        enrolling.judge(wanted, SERVER)
    assert "--profile files" in caught.value.hint
    enrolling.judge(replace(wanted, profile=Profile.FILES), SERVER)


INSTALL = {
    "The virtual environment was not created ... ensurepip is not available": "python3-venv",
    "OSError: [Errno 28] No space left on device": "another disk",
    "ERROR: No matching distribution found for cryptography>=46": "PIP_INDEX_URL",
    "PermissionError: [Errno 13] Permission denied: '/x'": "--remote-home",
    "join.py: http://127.0.0.1:1 does not answer: refused": "AllowTcpForwarding",
    "something new": "Run it again",
}


@pytest.mark.parametrize("said", INSTALL)
def test_what_went_wrong_while_installing_names_its_way_out(said: str) -> None:
    reason, way = enrolling.install_fault(f"{said}\njoin.py: this did not work: /x/bin/python -m pip\n")
    assert INSTALL[said] in way
    assert "this did not work" not in reason


def test_the_code_stands_in_no_command_line() -> None:
    wanted = remote.Joining("http://h:1", "SECR-ETCO", "127.0.0.1:2", "~/a b", "it's", "files", ["/data x"])
    text = remote.join("print('join')", wanted)
    lines = [line for line in text.splitlines() if "SECR-ETCO" in line]
    assert lines == ["STARLOOM_JOIN_CODE=SECR-ETCO"]
    last = shlex.split(text.splitlines()[-1])
    assert last[last.index("--name") + 1] == "it's"
    assert last[last.index("files") + 1] == "/data x"


def test_targets_are_values() -> None:
    assert replace(TARGET, port=None).typed == "ssh ann@box"
