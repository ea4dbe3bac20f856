"""Recipes that change machines: one device after the other, asked of their owners, with proof, stopped by a failure."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import Policy, with_grant
from tests.installation import type_at_agent
from tests.recipes.fleet import Device, Fleet
from tests.served import Quiet, Served
from tests.waiting import until

# A service manager of one service, whose state is a file in the device's home; `broken` there keeps it down.
SYSTEMCTL = """#!/bin/sh
cd "$HOME" || exit 9
case "$1" in
is-system-running) echo running ;;
list-units) cat failed 2>/dev/null || true ;;
show) for name in "$@"; do last=$name; done
    state=active; [ -e broken ] && [ -e restarted ] && state=failed
    grep -q "^$last " failed 2>/dev/null && state=failed
    printf 'Id=%s\\nLoadState=loaded\\nActiveState=%s\\nSubState=x\\nNRestarts=0\\n' "$last" "$state" ;;
restart) date +%s.%N >> restarted ;;
esac
"""
APT = """#!/bin/sh
cd "$HOME" || exit 9
[ -e patched ] || echo 'vim/stable 9.1 amd64 [upgradable from: 9.0]'
"""
PATCH = """#!/bin/sh
cd "$HOME" || exit 9
[ ! -e broken ] || { echo 'dpkg was interrupted' >&2; exit 100; }
date +%s.%N >> patched
"""


def owner(device: Device, *words: str) -> str:
    """Type `starloom-agent WORDS` on a device."""
    return type_at_agent(device.home, *words)


def touched(fleet: Fleet, path: str) -> list[str]:
    """Return the devices that have this file, in the order of the time in it."""
    there = [device for name in ("laptop", "server", "phone") if (device := fleet.device(name)).files().get(path)]
    return [device.name for device in sorted(there, key=lambda device: device.read(path))]


@pytest.fixture
def operated(fleet: Fleet) -> Iterator[Fleet]:
    """All three have a service manager and packages, and their owners allow both to be changed."""
    before: dict[str, Policy] = {}
    for name in ("laptop", "server", "phone"):
        device = fleet.device(name)
        device.program("systemctl", SYSTEMCTL)
        device.program("apt", APT)
        device.program("install-updates", PATCH)
        before[name] = read_policy(device.home / "policy.toml")
        allowed = with_grant(replace(before[name], hosts=()), "service:restart", ["nginx"])
        write_policy(device.home / "policy.toml", with_grant(allowed, "shell:run", ["install-updates"]))
    until(lambda: _offering(fleet, "service.restart", "shell.run") == 3, "three devices that do it")
    yield fleet
    for name, policy in before.items():
        device = fleet.device(name)
        write_policy(device.home / "policy.toml", policy)
        for program in ("systemctl", "apt", "install-updates"):
            device.program(program, "").unlink()
    until(lambda: not _offering(fleet, "service.restart"), "it is taken back")


def _offering(fleet: Fleet, *tools: str) -> int:
    return sum(set(tools) <= set(item["tools"]) for item in fleet.client.get("/devices")["items"])


def test_a_service_is_restarted_on_one_device_after_the_other(operated: Fleet) -> None:
    answer = operated.submit("restart nginx on all machines one by one")
    assert answer.state == "succeeded", answer.told()
    assert touched(operated, "restarted") == ["laptop", "phone", "server"]
    rows = {row["device"]: (row["state"], row["after"]) for row in answer.rows("Restarts")}
    assert rows == dict.fromkeys(("laptop", "server", "phone"), ("active", "active"))
    assert answer.value("Left") == 0
    ends = [answer.attempts(f"proof.{name}")[-1].ended_ms for name in _keys(answer)]
    begins = [answer.attempts(f"restart.{name}")[-1].leased_ms for name in _keys(answer)]
    assert all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))


def _keys(answer: object) -> list[str]:
    view = answer.view  # type: ignore[attr-defined]
    found = {task.partition(".")[2]: record for task, record in view.tasks.items() if task.startswith("restart.")}
    return sorted(found, key=lambda key: found[key].since_ms)


def test_the_first_that_fails_stops_the_rest_and_says_what_is_left(operated: Fleet) -> None:
    operated.device("phone").write("broken", "yes")
    answer = operated.run("restart-and-check", {"service": "nginx"})
    assert answer.state == "partial", answer.told()
    assert touched(operated, "restarted") == ["laptop", "phone"]
    rows = {row["device"]: row["after"] for row in answer.rows("Restarts")}
    assert rows == {"laptop": "active", "phone": "did not end well", "server": "not touched"}
    assert answer.value("Left") == 2
    assert "nginx is failed after its restart" in answer.sentence


def test_the_owner_of_a_device_is_asked_there_and_the_work_waits(operated: Fleet) -> None:
    server = operated.device("server")
    server.ungrant("service:restart", "nginx")
    running = operated.begin(recipe="restart-and-check", params={"service": "nginx", "where": "server"})
    until(lambda: "nginx" in owner(server, "approvals"), "the question on the device")
    assert touched(operated, "restarted") == []
    until(lambda: running.look() and any(task.reason == "owner_asked" for task in running.view.tasks.values()), "held")
    why = operated.client.get(f"/constellations/{running.id}/why")
    assert "starloom-agent approve" in str(why), why
    asked = owner(server, "approvals").split()[0]
    assert "allowed once" in owner(server, "approve", asked)
    assert running.wait().state == "succeeded", running.told()
    assert "ASKED service.restart" in owner(server, "policy", "log")
    denied = operated.begin(recipe="restart-and-check", params={"service": "nginx", "where": "server"})
    until(lambda: "nginx" in owner(server, "approvals"), "asked anew")
    owner(server, "deny", owner(server, "approvals").split()[0], "--reason", "not on a Friday")
    assert denied.wait().state == "partial", denied.told()
    assert "not on a Friday" in denied.sentence
    assert len(server.read("restarted").splitlines()) == 1


def test_the_port_is_part_of_the_proof_and_asked_about_before_anything_is_touched(operated: Fleet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as open_port:
        words = f"restart nginx on server and check port {open_port.getsockname()[1]}"
        refused = operated.submit(words)
        assert f"starloom-agent grant --home {operated.device('server').home} net:reach 127.0.0.1" in refused.told()
        assert touched(operated, "restarted") == []
        operated.device("server").grant("net:reach", "127.0.0.1")
        answer = operated.submit(words)
    assert answer.state == "succeeded", answer.told()
    assert touched(operated, "restarted") == ["server"]
    assert [name.partition(".")[0] for name in answer.view.tasks if "." in name].count("answers") == 1


def test_an_update_after_which_a_service_is_down_stops_the_rest(operated: Fleet) -> None:
    for name in ("laptop", "server"):
        operated.device(name).program("install-updates", f"{PATCH}echo 'db.service loaded failed' > failed\n")
    answer = operated.run(
        "patch-one-by-one", {"command": ["install-updates"], "where": {"any": [{"name": "laptop"}, {"name": "server"}]}}
    )
    assert answer.state == "partial", answer.told()
    assert touched(operated, "patched") == ["laptop"]
    assert "db.service" in answer.told()


def test_updates_go_from_machine_to_machine_and_stop_at_a_failure(operated: Fleet) -> None:
    operated.device("laptop").write("failed", "old.timer loaded failed failed A job that failed last month\n")
    command = {"command": ["install-updates"], "where": {"any": [{"name": "laptop"}, {"name": "server"}]}}
    answer = operated.run("patch-one-by-one", command)
    assert answer.state == "succeeded", answer.told()
    assert touched(operated, "patched") == ["laptop", "server"]
    assert [row["exit_code"] for row in answer.rows("Updates")] == [0, 0]
    assert all("1 update waits" in row["why"] for row in answer.rows("Updates"))
    for name in ("laptop", "server"):
        (operated.device(name).folder / "patched").unlink()
    operated.device("laptop").write("broken", "yes")
    answer = operated.run("patch-one-by-one", command)
    assert answer.state == "partial", answer.told()
    assert touched(operated, "patched") == []
    assert answer.value("Left") == 2
    assert "dpkg was interrupted" in answer.sentence, answer.told()
    exits = {row["device"]: row["exit_code"] for row in answer.rows("Updates")}
    assert exits == {"laptop": "did not end well", "server": "not touched"}


class _App(Quiet, BaseHTTPRequestHandler):
    """Serves the deployed file; a broken one makes it fail, as a bad release would.

    Before it answers, another deployment on this machine has kept its own old file where every one kept it once.
    """

    live: Path

    def do_GET(self) -> None:
        text = self.live.read_text(encoding="utf-8")
        (self.live.parents[1] / "deploy-previous").write_text("of another deployment", encoding="utf-8")
        self.reply(500 if "broken" in text else 200)


@pytest.fixture
def app(fleet: Fleet) -> Iterator[str]:
    live = fleet.device("server").write("site/app.txt", "version one")
    fleet.device("server").grant("net:reach", "127.0.0.1")
    shop = fleet.device("laptop").write("shop/app.txt", "version one").parent
    fleet.device("laptop").grant("shell:run", "--cwd", str(shop), "--", "cp", "app.txt", "built.txt")
    with Served(type("App", (_App,), {"live": live})) as served:
        yield f"{served.url}/"
    fleet.device("laptop").ungrant("shell:run", "--", "cp", "app.txt", "built.txt")


def test_t36_the_hub_chooses_nothing_of_a_command_typed_whole(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    planted = laptop.write("build/planted.sh", "")
    laptop.grant("shell:run", "--", "sh", "build.sh")
    attack = f"touch {planted.parent / 'PWNED'}"
    tried: dict[str, dict[str, object]] = {
        "cwd": {"cwd": str(planted.parent)},
        "env": {"env": {"ENV_TOKEN": "x"}},
        "stdin": {"stdin": attack},
    }
    try:
        laptop.write("build/build.sh", attack)
        for name, more in tried.items():
            task = {
                "id": "run",
                "tool": "shell.run",
                "device": {"name": "laptop"},
                "args": {"argv": ["sh", "build.sh"], **more},
            }
            made = fleet.client.create(
                "/constellations",
                {"plan": {"starloom": 1, "name": name, "tasks": [task], "policy": {"approval": "never"}}},
            )
            identity = str(made["id"])

            def why(identity: str = identity) -> str:
                items = fleet.client.get(f"/constellations/{identity}/why")["items"]
                text = str(items)
                return text if "starloom-agent approve" in text else ""

            said = until(why, f"{name}: the owner of the laptop is asked")
            assert "the hub chooses its" in said, said
            fleet.client.create(f"/constellations/{identity}/cancel", {})
        assert not (planted.parent / "PWNED").exists()
    finally:
        laptop.ungrant("shell:run", "--", "sh", "build.sh")


def deployed(app: str) -> str:
    build = "build shop on laptop with `cp app.txt built.txt`"
    return f"{build}, deploy shop/built.txt to server as site/app.txt, check {app}"


def test_a_good_build_goes_live(fleet: Fleet, app: str) -> None:
    fleet.device("laptop").write("shop/app.txt", "version two")
    answer = fleet.submit(deployed(app))
    assert answer.state == "succeeded", answer.told()
    assert fleet.device("server").read("site/app.txt") == "version two"
    assert answer.value("The new version is live")[0]["path"] == "site/app.txt"


def test_a_bad_build_is_taken_back_with_the_reason(fleet: Fleet, app: str) -> None:
    fleet.device("laptop").write("shop/app.txt", "version two is broken")
    answer = fleet.submit(deployed(app))
    assert answer.state == "partial", answer.told()
    assert fleet.device("server").read("site/app.txt") == "version one"
    assert answer.value("The old version is back")[0]["path"] == "site/app.txt"
    assert "Status must be 200 but is 500 (/status)" in answer.sentence
    assert answer.task("check-back").state == "succeeded"
