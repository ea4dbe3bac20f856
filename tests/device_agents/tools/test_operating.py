"""Restarting services, ending processes, looking at containers: with small programs that stand in for the real ones."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools.programs import containers
from starloom_agent.tools.system import kill, services
from starloom_agent.tools.system.kill import own_family
from starloom_agent.tools.system.processes import find_process
from starloom_agent.tools.system.services import Restart, restart
from starloom_protocol.vocabulary import CODES, Code, CodeClass
from tests.device_agents.tools.conftest import Device
from tests.waiting import PATIENCE_S

SYSTEMCTL = """#!/bin/sh
# states/NAME holds the states that a service goes through; each look takes the next, the last one stays.
cd {folder} || exit 9
case "$1" in
is-system-running) echo running ;;
show)
    for name in "$@"; do last=$name; done
    [ -e states/$last ] || {{ printf 'Id=%s\\nLoadState=not-found\\nActiveState=inactive\\n' "$last"; exit 0; }}
    restarts=$(cat restarts 2>/dev/null || echo 0)
    [ ! -e restarts ] || echo $((restarts + 1)) > restarts
    state=$(head -n 1 states/$last)
    [ $(wc -l < states/$last) -gt 1 ] && sed -i 1d states/$last
    printf 'Id=%s\\nLoadState=loaded\\nActiveState=%s\\nSubState=sub\\nNRestarts=%s\\n' "$last" "$state" "$restarts" ;;
restart) echo "$3" >> restarted; [ "$3" != stubborn ] || {{ echo 'Access denied' >&2; exit 4; }} ;;
list-units) ;;
esac
"""
DOCKER = """#!/bin/sh
case "$1" in
ps) cat <<'END'
{"ID":"0123456789abcdef","Image":"nginx:1","Names":"web","State":"running","Status":"Up 3 hours"}
{"Id":"fedcba9876543210","Image":"pg","Names":["db"],"State":"Exited","Status":"Exited (1) 2 days ago"}
nonsense
END
;;
logs) for name in "$@"; do last=$name; done
    [ "$last" = web ] || { echo "Error: No such container: $last" >&2; exit 1; }
    echo '2026-01-01T10:00:02Z second'; echo '2026-01-01T10:00:01Z first' >&2 ;;
esac
"""


def program(folder: Path, name: str, text: str) -> None:
    target = folder / name
    target.write_text(text, encoding="utf-8")
    target.chmod(0o755)


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "states").mkdir()
    program(tmp_path, "systemctl", SYSTEMCTL.format(folder=tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


def states(folder: Path, name: str, *found: str) -> None:
    (folder / "states" / name).write_text("\n".join(found) + "\n", encoding="utf-8")


class Time:
    def __init__(self) -> None:
        self.now_s = 0.0

    def clock(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_service_is_restarted_and_seen_to_stay_up(device: Device, systemd: Path) -> None:
    states(systemd, "nginx", "active", "activating", "active")
    time = Time()
    args = Restart(name="nginx", device_name="vps")
    found = restart(device.context(), args, clock=time.clock, pause=time.pause)
    assert found == {"device": "vps", "service": "nginx", "before": "active", "after": "active", "took_s": 1.2}
    assert (systemd / "restarted").read_text() == "nginx\n"


@pytest.mark.parametrize(
    ("seen", "code", "said"),
    [
        (("active", "activating", "failed"), Code.TOOL_FAILED, "is failed after its restart"),
        (("active", "active", "inactive"), Code.TOOL_FAILED, "is inactive after its restart"),
        (("active", "activating"), Code.TIMED_OUT, "still activating after 5 s"),
    ],
)
def test_a_service_that_does_not_come_back_fails_the_task(
    device: Device, systemd: Path, seen: tuple[str, ...], code: Code, said: str
) -> None:
    states(systemd, "nginx", *seen)
    time = Time()
    with pytest.raises(ToolFailed, match=said) as failed:
        restart(device.context(), Restart(name="nginx", within_s=5), clock=time.clock, pause=time.pause)
    assert failed.value.code is code


def test_a_service_that_crashes_between_two_looks_is_not_taken_for_steady(device: Device, systemd: Path) -> None:
    states(systemd, "nginx", "active")
    (systemd / "restarts").write_text("0")
    time = Time()
    with pytest.raises(ToolFailed, match="nginx does not stay up, and began again 25 times after 5 s") as failed:
        restart(device.context(), Restart(name="nginx", within_s=5), clock=time.clock, pause=time.pause)
    assert failed.value.code is Code.TIMED_OUT


def test_a_service_that_reads_its_settings_again_runs(device: Device, systemd: Path) -> None:
    states(systemd, "nginx", "reloading")
    states(systemd, "ntp", "activating")
    assert device.call("service.status", names=["nginx", "ntp"])["down"] == ["ntp"]


def test_a_service_that_is_not_there_or_may_not_be_touched(device: Device, systemd: Path) -> None:
    states(systemd, "stubborn", "active")
    for name, said in (("nothere", "there is no service nothere"), ("--all", "not the name of a service")):
        with pytest.raises(ToolFailed, match=said) as failed:
            device.call("service.restart", name=name)
        assert failed.value.effect is False
    with pytest.raises(ToolFailed, match="Access denied"):
        device.call("service.restart", name="stubborn")


def test_without_a_service_manager_it_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    reasons = {tool.name: tool.probe() for tool in (*services.TOOLS, *containers.TOOLS)}
    assert "no systemd" in str(reasons["service.restart"])
    assert "neither docker nor podman" in str(reasons["container.list"])
    monkeypatch.setattr(sys, "platform", "win32")
    assert "Windows" in str(services.TOOLS[1].probe())


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    found = subprocess.Popen(["sleep", "300"])
    yield found
    found.kill()
    found.wait()


def test_a_process_is_ended_by_number_and_name(device: Device, victim: subprocess.Popen[bytes]) -> None:
    with pytest.raises(ToolFailed, match="is sleep, not nginx: nothing was ended"):
        device.call("process.kill", pid=victim.pid, name="nginx")
    assert victim.poll() is None
    found = device.call("process.kill", pid=victim.pid, name="sleep", device_name="vps")
    assert (found["ended"], found["device"]) == ("asked", "vps")
    assert victim.wait(PATIENCE_S) == -signal.SIGTERM
    assert device.call("process.kill", pid=victim.pid, name="sleep")["ended"] == "before"


def test_one_that_does_not_listen_is_made_to_end_only_by_force(device: Device) -> None:
    deaf = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"],
        stdout=subprocess.PIPE,
    )
    try:
        assert deaf.stdout is not None
        deaf.stdout.readline()
        name = str((find_process(deaf.pid) or {})["name"])
        with pytest.raises(ToolFailed, match=r"has not ended in 0\.1 s"):
            device.call("process.kill", pid=deaf.pid, name=name, grace_s=0.1)
        assert deaf.poll() is None
        assert device.call("process.kill", pid=deaf.pid, name=name, grace_s=0.1, force=True)["ended"] == "forced"
        assert deaf.wait(PATIENCE_S) == -signal.SIGKILL
    finally:
        deaf.kill()
        deaf.wait()
        assert deaf.stdout is not None
        deaf.stdout.close()


def test_a_wait_that_ran_out_is_not_so_in_time_and_no_fault_to_repeat(device: Device) -> None:
    with pytest.raises(ToolFailed, match=r"was not so within 0\.05 s") as refused:
        device.call("wait.until", what="file", path=str(device.folder / "never"), within_s=0.05)
    assert (refused.value.code, refused.value.effect) == (Code.NOT_IN_TIME, False)
    assert CODES[Code.NOT_IN_TIME].code_class is CodeClass.PERMANENT


def test_the_agent_never_ends_what_it_lives_in(device: Device) -> None:
    assert {os.getpid(), os.getppid(), 1} <= own_family()
    pid = os.getppid() if os.getppid() > 1 else os.getpid()  # the first process is not even asked for
    row = find_process(pid)
    assert row is not None
    with pytest.raises(ToolFailed, match="what this agent runs in"):
        device.call("process.kill", pid=pid, name=row["name"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may start and end the process of another user")
def test_an_agent_of_root_ends_no_process_of_another_user(device: Device, held_by: str) -> None:
    other = subprocess.Popen(["sleep", "600"], user=65534)
    try:
        with pytest.raises(ToolFailed, match=rf"belongs to \w+, and .* sudo kill {other.pid}") as refused:
            device.call("process.kill", pid=other.pid, name="sleep", force=True)
        assert (refused.value.code, refused.value.effect) == (Code.BAD_ARGUMENTS, False), held_by
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_an_agent_of_no_root_ends_no_process_of_another_user(
    device: Device, victim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
    with pytest.raises(ToolFailed, match="of its own user, 4000000000, only: nothing was ended"):
        device.call("process.kill", pid=victim.pid, name="sleep")
    assert victim.poll() is None


@pytest.fixture
def sent_by_number(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Records the signals that would go to whichever process has a number now; none is sent."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


@pytest.fixture(params=["descriptor", "number"])
def held_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test on this kernel and on one without descriptors of processes."""

    def refuse(*_: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    if request.param == "number":
        monkeypatch.setattr(os, "pidfd_open", refuse)
    return str(request.param)


@pytest.mark.usefixtures("held_by")
def test_a_number_that_is_free_again_is_not_signalled(
    device: Device, monkeypatch: pytest.MonkeyPatch, sent_by_number: list[tuple[int, int]]
) -> None:
    family = own_family()
    brief = subprocess.Popen(["cat"], stdin=subprocess.PIPE)

    def end_it() -> set[int]:
        brief.communicate()
        return family

    monkeypatch.setattr(kill, "own_family", end_it)
    assert device.call("process.kill", pid=brief.pid, name="cat")["ended"] == "before"
    assert sent_by_number == []


def test_a_signal_goes_to_the_process_and_not_to_its_number(
    device: Device, victim: subprocess.Popen[bytes], sent_by_number: list[tuple[int, int]]
) -> None:
    assert device.call("process.kill", pid=victim.pid, name="sleep")["ended"] == "asked"
    assert victim.wait(PATIENCE_S) == -signal.SIGTERM
    assert sent_by_number == []


def test_a_kernel_without_descriptors_of_processes_still_ends_one(
    device: Device, victim: subprocess.Popen[bytes], held_by: str
) -> None:
    assert device.call("process.kill", pid=victim.pid, name="sleep")["ended"] == "asked", held_by
    assert victim.wait(PATIENCE_S) == -signal.SIGTERM


def test_a_zombie_has_ended_before(device: Device, held_by: str) -> None:
    gone = subprocess.Popen(["true"])
    os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
    assert device.call("process.kill", pid=gone.pid, name="true")["ended"] == "before", held_by
    gone.wait()


@pytest.mark.usefixtures("held_by")
def test_a_thread_of_the_agent_is_no_way_around_its_own_number(
    device: Device, sent_by_number: list[tuple[int, int]]
) -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        row = find_process(thread.native_id or 0)
        assert row is not None
        with pytest.raises(ToolFailed, match=f"is a thread of process {os.getpid()}"):
            device.call("process.kill", pid=row["pid"], name=row["name"])
    finally:
        over.set()
        thread.join()
    assert sent_by_number == []


def test_containers_and_what_they_say(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "docker", DOCKER)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = device.call("container.list", device_name="vps")
    assert [(row["name"], row["state"], row["device"]) for row in found["rows"]] == [
        ("db", "exited", "vps"), ("web", "running", "vps"),
    ]  # fmt: skip
    assert (found["count"], found["stopped"], found["complete"]) == (2, 1, False)
    logs = device.call("container.logs", name="web", since="2h")
    assert [row["text"] for row in logs["rows"]] == ["first", "second"]
    assert device.call("container.logs", name="web", contains="sec")["count"] == 1
    with pytest.raises(ToolFailed, match="No such container"):
        device.call("container.logs", name="gone")
    with pytest.raises(ToolFailed, match="not the name of a container"):
        device.call("container.logs", name="--follow")


PODMAN = """#!/bin/sh
# As Podman 4.3 answers to `--format '{{json .}}'`: one list.
cat <<'END'
[
  {
    "Id": "a53d8fc6efb02bee1a3b88b1dfd8a0597f50f22691e8be5eaaf2cf440a67b2fd",
    "Image": "localhost/tiny:latest",
    "Labels": null,
    "Names": [
      "web"
    ],
    "State": "running",
    "Status": "Up 3 hours"
  }
]
END
"""


def test_containers_of_podman_beside_a_docker_without_its_service(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path, "docker", "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    program(tmp_path, "podman", PODMAN)
    listed = device.call("container.list")
    row = {"name": "web", "image": "localhost/tiny:latest", "state": "running", "since": "Up 3 hours"}
    assert listed["rows"] == [row | {"id": "a53d8fc6efb0"}]
    assert (listed["count"], listed["complete"]) == (1, True)
    program(tmp_path, "podman", "#!/bin/sh\necho '[{'\n")
    with pytest.raises(ToolFailed, match=r"the list of containers cannot be read: '\[\{'"):
        device.call("container.list")
    program(tmp_path, "podman", "#!/bin/sh\necho 'no such container' >&2\nexit 125\n")
    with pytest.raises(ToolFailed, match=r"docker does not answer: Cannot .*; podman does not answer: no such"):
        device.call("container.logs", name="web")


def test_no_containers_are_an_empty_list(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for none in ("", "[]"):
        program(tmp_path, "docker", f"#!/bin/sh\nprintf '{none}'\n")
        assert device.call("container.list") == {"rows": [], "count": 0, "stopped": 0, "complete": True}


def test_a_line_of_a_container_that_was_overwritten_is_one(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    torn = "2026-01-01T10:00:03Z Loading 0%\\r50%\\r100%\\n   and more\\n2026-01-01T10:00:04Z ERROR no memory\\r\\n"
    program(tmp_path, "docker", f"#!/bin/sh\nprintf '{torn.replace('%', '%%')}'\n")
    logs = device.call("container.logs", name="web", tail=3)
    assert [(row["at"][17:], row["text"]) for row in logs["rows"]] == [
        ("03Z", "100%"), ("03Z", "   and more"), ("04Z", "ERROR no memory"),
    ]  # fmt: skip


def test_services_that_nobody_manages_are_told_as_not_seen(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_missing", lambda: "this system has no systemd")
    summary = device.call("service.status", device_name="lap")["summary"]
    assert summary["unseen"] == "could not look at the services on lap (this system has no systemd)"
    assert (summary["severity"], summary["why"]) == (0, "")
