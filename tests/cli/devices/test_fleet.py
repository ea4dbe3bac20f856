"""Devices on the command line: those that are gone are hidden, shown with --all, and forgotten by name."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.cli.devices import fleet
from starloom.cli.devices.fleet import kept_before_lines
from starloom.client.terminal.typed import typed
from tests.cli.owner.test_schedules import AtATerminal
from tests.cli.test_commands import StubHub, starloom


@pytest.fixture
def stub(hub: StubHub) -> StubHub:
    return hub


def row(name: str, **more: Any) -> dict[str, Any]:
    shape = {"id": f"d-{name}", "name": name, "link": "online", "os": "linux", "profile": "work", "tools": []}
    return {**shape, "load": "free", "left": False, "revoked": False, "forgotten": False, "labels": [], **more}


HERE, LEFT, SOLD = (
    row("desk"),
    row("server", link="offline", revoked=True, left=True),
    row("pixel", link="offline", revoked=True),
)


def test_devices_that_are_gone_are_counted_and_not_listed(stub: StubHub) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [HERE, LEFT, SOLD], "next": None})
    code, said = starloom(stub, "devices")
    assert (code, "desk" in said, "server" in said, "pixel" in said) == (0, True, False, False)
    assert typed("2 devices are gone (left or revoked). They are listed by: starloom devices --all") in said
    assert stub.urls[-1] == "/api/v1/devices"
    code, said = starloom(stub, "devices", "--all")
    assert stub.urls[-1] == "/api/v1/devices?all=true"
    lines = {line.split()[0]: line for line in said.splitlines()[1:] if line}
    assert (" left " in lines["server"], " revoked " in lines["pixel"], "are gone" in said) == (True, True, False)


def test_a_device_whose_agent_was_stopped_is_no_busy_one(stub: StubHub) -> None:
    facts = {"agent": "0.1.0"}
    rows = [
        row("still", link="offline", slots=0, facts=facts),
        row("lost", link="offline", slots=4, facts=facts),
        row("new", link="offline", slots=0),
    ]
    stub.answers["GET", "/devices"] = (200, {"items": rows, "next": None})
    lines = [line.split()[:3] for line in starloom(stub, "devices")[1].splitlines()[1:4]]
    assert lines == [["still", "stopped", "-"], ["lost", "offline", "-"], ["new", "offline", "-"]]


def test_a_computer_that_kept_the_hub_before_is_told(stub: StubHub) -> None:
    rows: list[Any] = [
        row("new", hub_computer="own"),
        row("old", hub_computer="former", link="offline"),
        row("here", hub_computer="former"),
        row("gone", hub_computer="former", link="offline", revoked=True),
        row("laptop", hub_computer="", link="offline"),
        row("of-an-earlier-hub", link="offline"),
    ]
    told = {item["name"]: kept_before_lines(item) for item in rows}
    assert told.pop("old") == [
        "old kept this hub before: the computer of a backup, or this one by another name",
        "  if it is no more: starloom device revoke old",
    ]
    assert set(map(len, told.values())) == {0}


def test_a_fleet_of_devices_that_are_gone_is_told_as_such(stub: StubHub) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [SOLD], "next": None})
    _, said = starloom(stub, "devices")
    assert typed("No device yet. Add one: starloom enroll") in said
    assert "1 device is gone" in said


def test_a_device_that_left_is_shown_as_left(stub: StubHub) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [HERE, LEFT], "next": None})
    stub.answers["GET", "/devices/d-server"] = (200, {**LEFT, "grants": [], "facts": {}})
    stub.answers["GET", "/vitals"] = (200, {"items": [], "devices": []})
    _, said = starloom(stub, "device", "show", "server")
    assert said.splitlines()[0] == "server  d-server  left  profile work"
    assert typed("out of the lists: starloom device forget server") in said


def test_folders_of_a_device_are_shown_in_one_line(stub: StubHub) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [HERE], "next": None})
    shown = {**HERE, "grants": [], "facts": {"reads": "/srv/data\n/srv/logs"}}
    stub.answers["GET", f"/devices/{HERE['id']}"] = (200, shown)
    stub.answers["GET", "/vitals"] = (200, {"items": [], "devices": []})
    _, said = starloom(stub, "device", "show", HERE["name"])
    assert "  reads: /srv/data, /srv/logs\n" in said


def test_devices_are_forgotten_by_name(stub: StubHub) -> None:
    again = row("server", id="d-new")
    stub.answers["GET", "/devices"] = (200, {"items": [again, LEFT, SOLD], "next": None})
    for gone in (LEFT, SOLD):
        stub.answers["POST", f"/devices/{gone['id']}/forget"] = (200, {**gone, "forgotten": True})
    assert starloom(stub, "device", "forget", "server", "pixel") == (0, "server is forgotten\npixel is forgotten\n")
    code, said = starloom(stub, "device", "forget", "nobody")
    assert (code, "there are: server, pixel" in said) == (2, True)
    stub.answers["GET", "/devices"] = (200, {"items": [again], "next": None})
    code, said = starloom(stub, "device", "forget", "server")
    assert (code, "starloom device revoke server" in said) == (2, True)


def test_a_name_of_two_devices_that_are_gone_asks_which_is_meant(stub: StubHub) -> None:
    older = {**LEFT, "id": "d-older"}
    stub.answers["GET", "/devices"] = (200, {"items": [LEFT, older], "next": None})
    stub.answers["POST", "/devices/d-older/forget"] = (200, {**older, "forgotten": True})
    code, said = starloom(stub, "device", "forget", "server")
    assert (code, LEFT["id"] in said, "d-older" in said) == (2, True, True)
    assert starloom(stub, "device", "forget", "d-older") == (0, "server is forgotten\n")


def test_revoking_a_device_names_the_schedules_that_name_it(stub: StubHub) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [HERE], "next": None})
    stub.answers["POST", "/devices/d-desk/revoke"] = (200, {})
    code, said = starloom(stub, "device", "revoke", "desk")
    assert (code, "starloom device revoke desk --yes" in said) == (2, True)
    assert not [asked for asked in stub.asked if asked[0] == "POST"]
    code, said = starloom(stub, "device", "revoke", "desk", "--yes")
    assert (code, "Schedules that name" in said) == (0, False)
    schedules = [
        {"id": "s-1", "name": "Sunday", "params": {"to": "desk"}, "request": "", "approved": None, "devices": []},
        {"id": "s-2", "name": "Other", "params": {"to": "desk-2"}, "request": "", "approved": None, "devices": []},
        {"id": "s-3", "name": "Plan", "params": {}, "request": "", "approved": {"devices": ["desk"]}},
    ]
    stub.answers["GET", "/schedules"] = (200, {"items": schedules, "next": None})
    code, said = starloom(stub, "device", "revoke", "desk", "--yes")
    assert code == 0
    assert "Schedules that name desk: Sunday, Plan." in said


def test_removed_demo_devices_are_forgotten(stub: StubHub) -> None:
    demo = row("demo-phone", demo=True)
    stub.answers["GET", "/devices"] = (200, {"items": [demo, HERE], "next": None})
    stub.answers["POST", "/devices/d-demo-phone/revoke"] = (200, {})
    stub.answers["POST", "/devices/d-demo-phone/forget"] = (200, {})
    assert starloom(stub, "demo", "remove") == (0, "Removed demo-phone\n")
    assert [path for verb, path, _ in stub.asked if verb == "POST"] == [
        "/devices/d-demo-phone/revoke",
        "/devices/d-demo-phone/forget",
    ]


def test_courtesy_is_told_in_the_list_and_on_the_device(stub: StubHub) -> None:
    quiet = {"courtesy": "no", "courtesy_why": "quiet_hours", "courtesy_until": "07:00"}
    desk = row("desk", condition=quiet, grants=[], facts={})
    stub.answers["GET", "/devices"] = (200, {"items": [desk], "next": None})
    stub.answers["GET", "/devices/d-desk"] = (200, desk)
    stub.answers["GET", "/vitals"] = (200, {"items": [], "devices": []})
    _, said = starloom(stub, "devices")
    assert "online, no new work" in said
    words = "takes no new work, because its quiet hours last until 07:00 by its clock"
    assert typed(f"desk {words}") in said
    _, shown = starloom(stub, "device", "show", "desk")
    assert typed(words) in shown


def test_a_misspelt_device_is_asked_for_by_its_name(stub: StubHub) -> None:
    items = [{"id": "d-1", "name": "Große Kiste", "revoked": False}, {"id": "d-2", "name": "nas", "revoked": False}]
    stub.answers["GET", "/devices"] = (200, {"items": items, "next": None})
    code, said = starloom(stub, "device", "show", "große kist")
    assert (code, "Did you mean Große Kiste?" in said) == (2, True)
    assert "See `" in starloom(stub, "device", "show", "elsewhere")[1]


def test_a_former_name_means_its_device_until_another_has_it(stub: StubHub) -> None:
    studio, gone = row("studio", former_names=["kontor", "desk"]), row("kontor", revoked=True)
    for items, device in (([studio, gone], "studio"), ([studio, row("kontor")], "kontor")):
        stub.answers["GET", "/devices"] = (200, {"items": items, "next": None})
        stub.answers["PATCH", f"/devices/d-{device}"] = (200, row(device))
        code, said = starloom(stub, "device", "rename", "kontor", "den")
        assert (code, f"{device} is now called den" in said) == (0, True), said


@pytest.mark.parametrize(
    ("link", "os", "word"),
    [
        ("suspended", "linux", "asleep"),
        ("offline", "browser", "asleep"),
        ("offline", "linux", "offline"),
        ("online", "browser", "online"),
    ],
)
def test_a_device_that_sleeps_is_called_so_as_on_the_page(stub: StubHub, link: str, os: str, word: str) -> None:
    device = row("tab", link=link, os=os)
    stub.answers["GET", "/devices"] = (200, {"items": [{**HERE, **device}], "next": None})
    said = starloom(stub, "devices")[1]
    assert said.splitlines()[1].split()[1] == word


def test_a_device_shows_the_line_that_is_typed_on_it(stub: StubHub) -> None:
    facts = {"program": "/home/a b/venv/bin/starloom-agent", "home": "/srv/it"}
    stub.answers["GET", "/devices"] = (200, {"items": [HERE], "next": None})
    stub.answers["GET", f"/devices/{HERE['id']}"] = (200, {**HERE, "grants": [], "facts": facts})
    stub.answers["GET", "/vitals"] = (200, {"items": [], "devices": []})
    _, said = starloom(stub, "device", "show", HERE["name"])
    assert "typed there: '/home/a b/venv/bin/starloom-agent' status --home /srv/it" in said


def test_a_busy_device_tells_its_tasks_and_for_whom(stub: StubHub) -> None:
    busy = {**HERE, "grants": [], "facts": {}, "running": 2}
    stub.answers["GET", "/devices"] = (200, {"items": [HERE], "next": None})
    stub.answers["GET", f"/devices/{HERE['id']}"] = (200, busy)
    stub.answers["GET", "/vitals"] = (200, {"items": [], "devices": []})
    run = {"id": "c-1", "name": "sweep", "state": "active", "author": "person:mara#tok"}
    tasks = [
        {"id": "train.3", "device": HERE["id"], "state": "running"},
        {"id": "train.4", "device": "d-else", "state": "running"},
        {"id": "train.5", "device": HERE["id"], "state": "succeeded"},
    ]
    stub.answers["GET", "/constellations/c-1"] = (200, {**run, "tasks": tasks})
    stub.answers["GET", "/constellations"] = (200, {"items": [run], "next": None})
    code, said = starloom(stub, "device", "show", HERE["name"])
    assert code == 0
    assert "  at work: train.3 of 'sweep' (c-1) for mara\n" in said
    assert "train.4" not in said
    assert "train.5" not in said


@pytest.mark.parametrize(
    ("words", "recipe", "params"),
    [
        ((), "list-trash", {}),
        (("--back", "a.txt"), "restore-from-trash", {"file": "a.txt"}),
        (("--empty",), "empty-trash", {"days": 0}),
        (("--empty", "--older-than", "30"), "empty-trash", {"days": 30}),
    ],
)
def test_the_trash_of_a_device_is_asked_by_a_recipe(
    stub: StubHub, words: tuple[str, ...], recipe: str, params: dict[str, Any]
) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [HERE], "next": None})
    starloom(stub, "device", "trash", "desk", *words)
    (body,) = [body for method, path, body in stub.asked if (method, path) == ("POST", "/constellations")]
    assert (body["recipe"], body["params"]) == (recipe, {"where": {"id": "d-desk"}, **params})


@pytest.mark.parametrize("words", [("--back", "a", "--empty"), ("--older-than", "3")])
def test_a_trash_is_not_emptied_by_half_a_command(stub: StubHub, words: tuple[str, ...]) -> None:
    assert starloom(stub, "device", "trash", "desk", *words)[0] == 2
    assert not stub.urls


def test_another_spelling_of_a_name_means_its_device_after_a_question(
    stub: StubHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = row("Büro-PC (neu)", id="d-1", facts={}, grants=[], slots=0)
    stub.answers["GET", "/devices"] = (200, {"items": [HERE, named], "next": None})
    stub.answers["GET", "/devices/d-1"] = (200, named)
    code, said = starloom(stub, "device", "show", "Buero-PC")
    assert (code, "Did you mean Büro-PC (neu)?" in said) == (2, True)
    monkeypatch.setattr(fleet, "sys", AtATerminal())
    asked: list[str] = []

    def confirm(question: str, **_: Any) -> bool:
        asked.append(question)
        return len(asked) > 1

    monkeypatch.setattr("typer.confirm", confirm)
    assert starloom(stub, "device", "drain", "buero pc")[0] == 2
    assert all(method == "GET" for method, *_ in stub.asked)
    starloom(stub, "device", "show", "buero pc")
    assert asked == ["No device is called buero pc. Is Büro-PC (neu) meant?"] * 2
    assert stub.urls[-1] == "/api/v1/vitals?device=d-1"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "idle"),
        ({"running": 1, "slots": 2}, "busy, 1 of 2"),
        ({"running": 1, "slots": 2, "draining": True}, "draining, 1 left"),
        ({"draining": True}, "drained"),
        ({"load": "quarantined"}, "set aside"),
        ({"link": "offline"}, "-"),
    ],
)
def test_a_device_has_the_words_of_the_page(stub: StubHub, more: dict[str, Any], words: str) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [row("desk", **more)], "next": None})
    assert f" {words} " in starloom(stub, "devices")[1].splitlines()[1]
