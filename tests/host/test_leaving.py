"""`starloom-agent leave` as its owner types it: a real hub is told, or the line for its owner is shown."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom.host.servers import tunnels
from tests.installation import Installation
from tests.programs import ran
from tests.waiting import SLOWER, until

IN_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes the terminal the program's own, so that Ctrl-C typed there reaches it.

Whoever started the tests in the background had the signal ignored, and that is inherited.
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("leaving"))
    try:
        made.up()
        yield made
    finally:
        made.close()


def agent(home: Path, *argv: str) -> str:
    command = [sys.executable, "-m", "starloom_agent", *argv, "--home", str(home)]
    done = ran(command, stdin=subprocess.DEVNULL, timeout=120 * SLOWER)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def joined(service: Installation, home: Path, name: str) -> str:
    """Join an agent, start it in the background, and return its device's id."""
    code = str(service.client.post("/enrollments", {"preapproved": True})["code"])
    url = f"http://127.0.0.1:{service.port}"
    agent(home, "join", url, code, "--name", name, "--profile", "work", "--start")
    service.until_online(name)
    return str(shown(service, name)["id"])


def shown(service: Installation, name: str) -> dict[str, object]:
    found: dict[str, object] = service.client.get(f"/devices/{name}")
    return found


def test_leaving_tells_the_hub_and_removes_everything(service: Installation, tmp_path: Path) -> None:
    home = tmp_path / "agent"
    device = joined(service, home, "box")
    (home / "workspace" / "mine.txt").write_text("of the owner")
    (home / "mcp_known.json").write_text("{}")
    record = tunnels.Record(
        destination="box", remote_port=1, hub_host="127.0.0.1", hub_port=service.port, home=str(home), device="box"
    )
    tunnels.keep(service.home, record)
    said = agent(home, "leave", "--purge")
    assert f"The hub http://127.0.0.1:{service.port} knows that box has left." in said
    assert f"Kept: {home / 'workspace'}" in said
    assert sorted(path.name for path in home.rglob("*")) == ["mine.txt", "workspace"]
    found = shown(service, device)
    assert (found["left"], found["revoked"]) == (True, True)
    until(lambda: shown(service, device)["link"] == "offline", "the device is away", 10 * SLOWER)
    until(lambda: not tunnels.path_of(service.home, "box").exists(), "no tunnel is kept", 10 * SLOWER)
    deeds = service.client.get("/audit", kind="devices")["items"]
    assert [deed["by"] for deed in deeds if deed["kind"] == "device_left"] == [f"device:{device}"]
    again = joined(service, home, "box")
    assert again != device
    assert "Kept:" in agent(home, "leave", "--keep")


def test_a_stop_leaves_a_mark_until_the_next_start(service: Installation, tmp_path: Path) -> None:
    home = tmp_path / "agent"
    joined(service, home, "held")
    mark = home / "run" / "stopped-by-owner"
    assert not mark.exists()
    assert "stopped" in agent(home, "stop")
    assert mark.exists()
    agent(home, "start")
    assert not mark.exists()
    agent(home, "stop")


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The home of an agent whose hub is away."""
    home = tmp_path / "agent"
    home.mkdir()
    key = "aHVi" * 10 + "aGU="
    (home / "hub.json").write_text(json.dumps({"hub": "http://127.0.0.1:9", "hub_key": key, "name": "box"}))
    (home / "mcp.toml").write_text("")
    return home


def test_a_trash_that_stays_is_named_with_the_way_back(alone: Path, tmp_path: Path) -> None:
    papers, empty = tmp_path / "papers", tmp_path / "empty"
    ticket = papers / ".starloom-trash" / "1700000000-0123456789ab"
    ticket.mkdir(parents=True)
    (ticket / "letter.txt").write_text("dear")
    empty.mkdir()
    agent(alone, "grant", "files:write", str(papers), str(empty))
    said = agent(alone, "leave", "--purge")
    assert f"{papers / '.starloom-trash'} (1 ticket)" in said
    assert str(empty) not in said
    assert "a folder of its own" in said
    assert f"rm -r {papers / '.starloom-trash'}" in said
    assert (ticket / "letter.txt").read_text() == "dear"


def test_a_hub_that_is_away_keeps_no_device(alone: Path) -> None:
    home = alone
    said = agent(home, "leave", "--purge")
    assert "The hub could not be told: http://127.0.0.1:9 does not answer" in said
    assert "type: starloom device revoke box" in said
    assert f"{home} is gone." in said
    assert not home.exists()


@pytest.mark.parametrize(
    ("typed", "code", "removed"), [(b"y\n", 0, True), (b"\n", 0, False), (b"\x04", 0, False), (b"\x03", 130, False)]
)
def test_a_terminal_is_asked_whether_the_rest_goes(alone: Path, typed: bytes, code: int, *, removed: bool) -> None:
    """Yes, nothing, the end of input (Ctrl-D) and Ctrl-C; by then the device has left, whatever is answered."""
    code_seen, screen = in_terminal(["leave", "--home", str(alone)], b"[y/N]: ", typed)
    assert code_seen == code, screen
    assert "Traceback" not in screen
    assert f"Remove what is left in {alone} too (mcp.toml)?" in screen
    assert alone.exists() is not removed
    assert not (alone / "hub.json").exists()


@pytest.mark.parametrize(("typed", "code"), [(b"\x04", 1), (b"\x03", 130)])
def test_a_question_that_is_not_answered_joins_nothing(tmp_path: Path, typed: bytes, code: int) -> None:
    home = tmp_path / "agent"
    argv = ["join", "http://127.0.0.1:9", "AAAA-AAAA-AAAA-AAAA", "--home", str(home)]
    code_seen, screen = in_terminal(argv, b"[1 observe]: ", typed)
    assert code_seen == code, screen
    assert "Traceback" not in screen
    assert not home.exists()


def in_terminal(argv: list[str], question: bytes, typed: bytes) -> tuple[int, str]:
    """Run the agent's command in a terminal and type at its question; return its exit code and what was shown."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", IN_TERMINAL, sys.executable, "-m", "starloom_agent", *argv]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    try:
        seen, asked = b"", 0
        deadline = time.monotonic() + 60 * SLOWER
        while True:
            assert time.monotonic() < deadline, seen
            ready, _, _ = select.select([ours], [], [], 1.0)
            if ready and not (more := read(ours)):
                break
            seen += more if ready else b""
            # Python does not notice a Ctrl-C between its question and its reading: it is pressed again.
            if question in seen and (not asked or (not ready and typed == b"\x03")):
                os.write(ours, typed)
                asked += 1
        return process.wait(60 * SLOWER), seen.decode()
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()


def read(terminal: int) -> bytes:
    """Read what a terminal shows; nothing once no program has its other end any more, which Linux tells as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
