"""The agent as a service: files for three systems, the system's own commands, and the agent without a terminal."""

from __future__ import annotations

import configparser
import os
import plistlib
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.locking import running_pid
from starloom_agent.home.status_file import ONLINE, REFUSED, Status, read_status, write_status
from starloom_agent.install import background, service
from starloom_agent.policy.commands import CommandRule
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy
from starloom_protocol.vocabulary import Profile
from tests.waiting import PATIENCE_S, until

TASK = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    made = AgentHome((tmp_path / "a $HOME 100%").resolve())
    made.make()
    made.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name="box"))
    return made


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another home folder, and programs that note how they were called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "loginctl"):
        script = programs / name
        script.write_text(
            f'#!/bin/sh\necho "{name} $*" >>"{tmp_path}/calls"\n'
            f'[ ! -e "{tmp_path}/broken-{name}" ] || {{ echo "no bus" >&2; exit 1; }}\n'
        )
        script.chmod(0o755)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path


def calls(person: Path) -> list[str]:
    path = person / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_a_systemd_unit_starts_exactly_this_agent(home: AgentHome, tmp_path: Path) -> None:
    made = service.service_of(home, 3, system="linux", user_home=tmp_path)
    unit = configparser.RawConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(made.data.decode())
    line = unit["Service"]["ExecStart"].replace("%%", "%").replace("$$", "$")
    assert shlex.split(line) == service.command(home, 3)
    assert unit["Service"]["Restart"] == "always"
    assert unit["Service"]["RestartPreventExitStatus"] == "3"
    assert unit["Install"]["WantedBy"] == "default.target"
    assert made.path.parent == tmp_path / ".config" / "systemd" / "user"


def protection(home: AgentHome, policy: Policy, tmp_path: Path) -> list[str]:
    write_policy(home.policy, policy)
    text = service.service_of(home, 1, system="linux", user_home=tmp_path).data.decode()
    lines = text.partition("[Service]")[2].partition("[Install]")[0].splitlines()
    return [line for line in lines if line.partition("=")[0] not in ("ExecStart", "Restart", "RestartSec")]


def test_a_unit_writes_only_where_the_policy_does(home: AgentHome, tmp_path: Path) -> None:
    granted = tmp_path / 'my "best" 100%'
    lines = protection(home, Policy(profile=Profile.WORK, read=("/srv",), write=(str(granted),)), tmp_path)
    assert "NoNewPrivileges=yes" in lines
    assert "ProtectSystem=strict" in lines
    (places,) = [line.removeprefix("ReadWritePaths=") for line in lines if line.startswith("ReadWritePaths=")]
    allowed = [word.replace("%%", "%") for word in shlex.split(places)]
    assert allowed == [f"-{home.root}", f"-{granted}", "-/tmp", "-/var/tmp"]


def test_a_unit_leaves_room_for_what_was_granted(home: AgentHome, tmp_path: Path) -> None:
    make = CommandRule.of(["make", {"word": "[a-z]+"}])
    lines = protection(home, Policy(profile=Profile.OPERATE, commands=(make,)), tmp_path)
    assert "NoNewPrivileges=yes" in lines
    assert not any(line.startswith(("ProtectSystem", "ReadWritePaths")) for line in lines)
    for name in ("sudo", "/usr/bin/sudo", "pkexec"):
        rule = CommandRule.of([name, "systemctl", "restart", "nginx"])
        gains = protection(home, Policy(profile=Profile.OPERATE, commands=(rule,)), tmp_path)
        assert not any(
            line.startswith(("NoNewPrivileges", "Restrict", "Lock")) for line in gains if "Prevent" not in line
        )


def test_a_changed_policy_names_the_line_that_renews_the_unit(
    home: AgentHome, person: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install-service", "--home", str(home.root), "--slots", "3"]) == 0
    assert main(["policy", "profile", "observe", "--home", str(home.root)]) == 0
    assert "install-service" not in capsys.readouterr().out
    (person / "granted").mkdir()
    assert main(["policy", "profile", "files", "--home", str(home.root)]) == 0
    assert main(["grant", "files:write", str(person / "granted"), "--home", str(home.root)]) == 0
    assert "type: starloom-agent install-service" in capsys.readouterr().out
    assert main(["install-service", "--home", str(home.root)]) == 0
    assert calls(person)[-2] == f"systemctl --user restart {service.name_of(home, person)}.service"
    assert main(["grant", "net:reach", "example.org", "--home", str(home.root)]) == 0
    assert "install-service" not in capsys.readouterr().out


def test_a_launchd_agent_starts_exactly_this_agent(home: AgentHome, tmp_path: Path) -> None:
    made = service.service_of(home, 3, system="darwin", user_home=tmp_path)
    told = plistlib.loads(made.data)
    assert told["ProgramArguments"] == service.command(home, 3)
    assert told["KeepAlive"] == {"SuccessfulExit": False}
    assert made.path.name == f"{told['Label']}.plist"
    assert made.to_install == (("launchctl", "load", "-w", str(made.path)),)


def test_a_task_of_windows_starts_exactly_this_agent(home: AgentHome, tmp_path: Path) -> None:
    made = service.service_of(home, 3, system="win32", user_home=tmp_path)
    root = ElementTree.fromstring(made.data.decode("utf-16"))  # noqa: S314 - our own text
    action = root.find(f"{TASK}Actions/{TASK}Exec")
    assert action is not None
    assert action.findtext(f"{TASK}Command") == sys.executable
    assert action.findtext(f"{TASK}Arguments") == subprocess.list2cmdline(service.command(home, 3)[1:])
    assert root.findtext(f"{TASK}Principals/{TASK}Principal/{TASK}RunLevel") == "LeastPrivilege"
    assert root.findtext(f"{TASK}Settings/{TASK}ExecutionTimeLimit") == "PT0S"


def test_two_homes_are_two_services(home: AgentHome, tmp_path: Path) -> None:
    usual = AgentHome((tmp_path / ".starloom-agent").resolve())
    assert service.name_of(usual, tmp_path) == "starloom-agent"
    assert service.name_of(home, tmp_path) != service.name_of(AgentHome(tmp_path / "b"), tmp_path)


def test_install_and_uninstall_use_the_systems_own_commands(
    home: AgentHome, person: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install-service", "--home", str(home.root)]) == 0
    unit = f"{service.name_of(home, person)}.service"
    assert service.is_installed(home)
    assert calls(person) == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now {unit}",
        "loginctl enable-linger",
    ]
    assert main(["uninstall-service", "--home", str(home.root)]) == 0
    assert calls(person)[-1] == f"systemctl --user disable --now {unit}"
    assert not service.is_installed(home)
    assert main(["uninstall-service", "--home", str(home.root)]) == 0
    assert "no service was installed" in capsys.readouterr().out


def test_a_service_that_cannot_start_leaves_nothing_and_names_the_other_way(
    home: AgentHome, person: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (person / "broken-systemctl").touch()
    assert main(["install-service", "--home", str(home.root)]) == 1
    said = capsys.readouterr().err
    assert "no bus" in said
    assert "starloom-agent start" in said
    assert not service.is_installed(home)


def test_an_agent_that_ran_runs_again_where_its_service_cannot_start(
    home: AgentHome, person: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (person / "broken-systemctl").touch()
    done: list[str] = []
    monkeypatch.setattr("starloom_agent.cli.running_pid", lambda _home: 4711)
    monkeypatch.setattr(background, "stop", lambda _home, _say: done.append("stop"))
    monkeypatch.setattr(background, "start", lambda _home, _say, *, slots: done.append(f"start {slots}"))
    assert main(["install-service", "--home", str(home.root), "--slots", "3"]) == 1
    assert done == ["stop", "start 3"]
    assert "no bus" in capsys.readouterr().err


def test_what_ends_at_sign_out_is_said(home: AgentHome, person: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (person / "broken-loginctl").touch()
    assert main(["install-service", "--home", str(home.root)]) == 0
    assert "ends when you sign out" in capsys.readouterr().out


def typed(home: AgentHome, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "starloom_agent", *arguments, "--home", str(home.root)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def test_it_is_started_in_the_background_once_and_stopped(home: AgentHome) -> None:
    started = typed(home, "start")
    assert started.returncode == 0, started.stderr
    pid = running_pid(home)
    assert pid is not None
    assert f"process {pid}" in started.stdout
    again = typed(home, "start")
    assert (again.returncode, "runs already" in again.stdout, running_pid(home)) == (0, True, pid)
    assert typed(home, "stop").stdout.splitlines()[-1] == "stopped"
    assert running_pid(home) is None
    assert "no agent runs" in typed(home, "stop").stdout
    write_status(home, hub="https://hub", device="d-1", state=REFUSED, reason="revoked by a person", slots=1)
    told = typed(home, "start").stdout
    assert "it had ended" in told
    assert "revoked by a person" in told
    typed(home, "stop")


def _refused(home: AgentHome) -> Status | None:
    found = read_status(home)
    return found if found is not None and "cannot reach" in found.reason else None


def test_a_start_tells_why_the_agent_that_runs_is_not_connected(home: AgentHome) -> None:
    told: list[str] = []
    assert typed(home, "start").returncode == 0
    status = until(lambda: _refused(home), "the agent has written why it is not connected")
    background.start(home, told.append, slots=1)
    assert f", and does not reach its hub: {status.reason}" in told[0]
    assert typed(home, "stop").returncode == 0


def test_an_agent_that_begins_is_not_told_as_the_one_before(
    home: AgentHome, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_status(home, hub="http://127.0.0.1:9", device="d-1", state=ONLINE, reason="session 1", slots=1)
    for pid, said in ((os.getpid(), "link      online since "), (os.getpid() + 1, "link      starting; ")):
        monkeypatch.setattr("starloom_agent.cli.running_pid", lambda _home, pid=pid: pid)
        assert main(["status", "--home", str(home.root)]) == 0
        assert said in capsys.readouterr().out


def test_a_start_keeps_another_address_of_the_same_hub(home: AgentHome) -> None:
    before = home.joined()
    assert typed(home, "start").returncode == 0
    pid = running_pid(home)
    refused = typed(home, "start", "--hub", "ftp://127.0.0.1:9999")
    assert (refused.returncode, home.joined(), running_pid(home)) == (2, before, pid), refused.stderr
    assert typed(home, "start", "--hub", "http://127.0.0.1:9999").returncode == 0
    assert home.joined() == msgspec.structs.replace(before, hub="http://127.0.0.1:9999")
    assert running_pid(home) not in (None, pid)
    assert typed(home, "stop").returncode == 0


def test_an_agent_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    home = AgentHome(tmp_path / "never-joined")
    home.make()
    with pytest.raises(background.AgentControlFault, match="has not joined a hub"):
        background.start(home, lambda _: None, slots=1)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["join", "http://h", "C", "--profile", "root"], "root is no profile"),
        (["join", "http://h", "C", "--profile", "observe", "/tmp"], "observe has no folders"),
        (["join", "http://h", "C", "--profile", "files", "/nonexistent"], "is not a folder"),
        (["join", "--profile", "root", "http://h", "C"], "root is no profile"),
        (["join", "--profile", "files", "/nonexistent", "http://h", "C"], "/nonexistent is not a folder"),
        (["join", "--profile", "root", "--label", "of=http://l", "--name", "n", "http://h", "C"], "root is no profile"),
        (["join", "http://h", "C", "--pin", "x"], "is no pin"),
        (["join", "http://h", "-", "--profile", "observe"], "STARLOOM_JOIN_CODE"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(
    arguments: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--home", str(tmp_path / "h")]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "h").exists()


def test_a_hub_that_does_not_answer_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["join", "http://127.0.0.1:9", "C", "--profile", "observe", "--home", str(tmp_path / "h")]
    assert main(argv) == 1
    assert "does not answer" in capsys.readouterr().err
