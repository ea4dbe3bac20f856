"""The program behind the own tools, and the sites: state, the log of calls, refusals, and nothing outside of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from starloom.lab.nebula.world import world_program
from starloom.lab.nebula.world.devices import DEVICES, mcp_file
from starloom.lab.nebula.world.files.ground import Ground
from starloom.lab.nebula.world.sites import Site, certify
from starloom.lab.nebula.world.world_program import Refused, answered, call, taken_s
from starloom_agent.owner.mcp import read_servers
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.quick
DAY = date(2026, 11, 25)


def calls(world: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (world / "calls.jsonl").read_text().splitlines()]


def done(ground: Ground, device: str, area: str, tool: str, **args: object) -> dict[str, object]:
    return call(area, ground.root / device / "world", tool, dict(args), lambda _: None)


def test_a_call_changes_the_state_and_is_noted(ground: Ground) -> None:
    sent = done(ground, "desk", "mail", "send", to="ann@example.org", subject="Hello", text="Hello.")
    assert sent == {"id": "s-1", "to": ["ann@example.org"]}
    assert ground.state("desk", "mail")["sent"][0]["to"] == ["ann@example.org"]
    (line,) = calls(ground.root / "desk" / "world")
    assert (line["tool"], line["n"], line["refused"]) == ("mail.send", 1, "")


def test_a_refused_call_changes_nothing_and_is_noted(ground: Ground) -> None:
    with pytest.raises(Refused, match="there is no service shopp"):
        done(ground, "srv-a", "svc", "restart", name="shopp")
    with pytest.raises(Refused, match="one address"):
        done(ground, "desk", "mail", "send", to="ann", subject="", text="")
    assert ground.state("desk", "mail")["sent"] == []
    assert calls(ground.root / "desk" / "world")[0]["refused"]


def test_an_event_is_moved_only_where_it_is_said_to_be(ground: Ground) -> None:
    event = ground.state("desk", "cal")["events"][0]
    to = {"id": event["id"], "day": "2026-12-01", "start": "08:00"}
    with pytest.raises(Refused, match=f"{event['title']} is on {event['day']} at {event['start']} by now"):
        done(ground, "desk", "cal", "move", **to, was="2020-01-01 08:00")
    done(ground, "desk", "cal", "move", **to, was=f"{event['day']} {event['start']}")
    assert ground.state("desk", "cal")["events"][0]["start"] == "08:00"


def test_a_service_that_its_log_blocks_comes_up_when_the_log_is_moved(ground: Ground) -> None:
    log = ground.write("srv-b", "logs/full.log", "x" * 100)
    services = ground.state("srv-b", "svc")["services"]
    services["shop"].update(state="failed", blocked={"path": str(log), "bytes": 10, "detail": "full"})
    ground.set_state("srv-b", "svc", {"services": services})
    with pytest.raises(Refused, match="did not come up: full"):
        done(ground, "srv-b", "svc", "restart", name="shop")
    log.rename(log.with_suffix(".old"))
    assert done(ground, "srv-b", "svc", "restart", name="shop")["state"] == "running"


def test_a_call_takes_the_same_time_again_and_longer_on_a_slow_device() -> None:
    fast, slow = ({"seed": 1, "device": "d", "speed": speed} for speed in (4.0, 0.25))
    assert taken_s(fast, "mail.send", 1) == taken_s(fast, "mail.send", 1)
    assert taken_s(fast, "mail.send", 1) != taken_s(fast, "mail.send", 2)
    assert taken_s(slow, "mail.send", 1) == pytest.approx(16 * taken_s(fast, "mail.send", 1))


def test_an_unknown_tool_and_wrong_arguments_are_errors_of_the_call(ground: Ground) -> None:
    world = ground.root / "desk" / "world"
    assert answered("mail", world, {"name": "burn"})["isError"] is True
    assert answered("mail", world, {"name": "read", "arguments": {}})["isError"] is True


def test_it_speaks_mcp_as_a_program_of_its_own(ground: Ground) -> None:
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "list", "arguments": {"unread": True}}},
    ]
    argv = [sys.executable, "-I", world_program.__file__, "mail", str(ground.root / "desk" / "world")]
    text = "".join(json.dumps(line) + "\n" for line in asked)
    ran = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    hello, tools, rows = (json.loads(line)["result"] for line in ran.stdout.splitlines())
    assert hello["serverInfo"]["name"] == "nebula-mail"
    assert [tool["name"] for tool in tools["tools"]] == ["list", "read", "send"]
    assert rows["structuredContent"]["count"] == 5


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_the_file_of_servers_is_one_that_an_agent_takes(device: object, tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    path.touch(mode=0o600)
    path.write_text(mcp_file(device, ("python", "-I", 'odd "name"'), "/w"))  # type: ignore[arg-type]
    servers = read_servers(path)
    assert sorted(servers) == sorted(device.areas)  # type: ignore[attr-defined]
    assert all(server.command[-1] == "/w" for server in servers.values())
    if "mail" in servers:
        send = servers["mail"].tools["send"]
        assert (send.effects, send.repeatability) == ([Effect.REACH], Repeatability.NEVER)


@pytest.fixture
def site(ground: Ground) -> Iterator[Site]:
    made = Site(ground.root / "srv-a", certify(ground.root, DAY))
    yield made
    made.close()


def status_of(site: Site, path: str, key: str = "") -> int:
    try:
        with urlopen(Request(site.url + path, headers={"X-Key": key} if key else {}), timeout=30) as answer:  # noqa: S310 - our own site
            return int(answer.status)
    except HTTPError as error:
        return error.code


def test_a_site_serves_its_folder_and_nothing_beside_it(site: Site, ground: Ground) -> None:
    assert status_of(site, "/") == 200
    for path in ("/../etc/shop.conf", "/%2e%2e/etc/shop.conf", "/../../world/mail.json", "/etc/shop.conf"):
        assert status_of(site, path) == 404
    (ground.files("srv-a") / "site" / "out").symlink_to(ground.files("srv-a") / "etc")
    assert status_of(site, "/out/shop.conf") == 404


def test_a_site_is_down_with_its_service_and_flaky_where_it_is_told(site: Site, ground: Ground) -> None:
    ground.set_state("srv-a", "site", {"flaky": {"index.html": 2}})
    assert [status_of(site, "/") for _ in range(3)] == [503, 503, 200]
    site.rewind()
    assert status_of(site, "/") == 503
    ground.set_state("srv-a", "site", {"bad_versions": ["1.11.0"]})
    assert status_of(site, "/version") == 503
    ground.set_state("srv-a", "site", {})
    services = ground.state("srv-a", "svc")["services"]
    services["shop"]["state"] = "stopped"
    ground.set_state("srv-a", "svc", {"services": services})
    assert status_of(site, "/version") == 503


def test_the_door_with_a_key_takes_that_key_alone(site: Site, ground: Ground) -> None:
    assert status_of(site, "/api", "") == 401
    ground.write("srv-a", "etc/key.txt", "right\n")
    assert [status_of(site, "/api", key) for key in ("", "wrong", "right")] == [401, 401, 200]
