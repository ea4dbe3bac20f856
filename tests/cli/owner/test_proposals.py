"""Proposals at the command line: listed with their phrase, kept with another name, dismissed; versions brought back."""

from __future__ import annotations

from typing import Any

from tests.cli.test_commands import StubHub, starloom

ID = "0123456789abcdef01234567"
DOCUMENT = {"starloom_recipe": 1, "name": "count-papers", "params": {"nas": {"type": "device"}}}
ROW: dict[str, Any] = {
    "id": ID,
    "constellation": "c-1",
    "proposed_at": "2026-11-26T18:00:00.000Z",
    "request": "count papers at nas",
    "name": "count-papers",
    "title": "Count papers at nas",
    "phrase": "count papers at {nas}",
    "values": {"nas": {"name": "nas"}, "most": 3},
    "effects": ["read"],
    "document": DOCUMENT,
    "text": "",
}
MADE = {"name": "count-papers", "version": 1}


def listed(hub: StubHub, *rows: Any) -> None:
    hub.answers[("GET", "/recipe-proposals")] = (200, {"items": list(rows), "next": None})


def test_a_proposal_is_listed_with_its_phrase_and_the_values_that_change(hub: StubHub) -> None:
    listed(hub, ROW)
    code, said = starloom(hub, "recipe", "proposals")
    assert code == 0
    assert "01234567  Count papers at nas  (read)" in said
    assert "“count papers at {nas}”" in said
    assert "nas: nas" in said
    assert "most" not in said
    assert "starloom recipe keep 01234567" in said


def test_the_devices_of_its_calls_are_said_in_words(hub: StubHub) -> None:
    tasks = [
        {"id": "room", "tool": "system.info", "for_each": {"devices": {"labels": ["trio"], "os": "linux"}}},
        {"id": "read", "tool": "fs.read", "device": {"labels": ["trio"]}},
        {"id": "look", "tool": "disk.usage", "device": {"from": "most", "output": "/rows/0/device"}},
        {"id": "both", "tool": "fs.list", "device": {"any": [{"name": "nas"}, {"name": "desk"}]}},
        {"id": "each", "tool": "fs.list", "for_each": {"devices": {"any": [{"name": "nas"}, {"os": "linux"}]}}},
        {"id": "sort", "tool": "data.sort"},
    ]
    listed(hub, {**ROW, "document": {**DOCUMENT, "plan": {"tasks": tasks}}})
    said = starloom(hub, "recipe", "proposals")[1]
    for line in (
        "room: system.info on each linux device with the label trio",
        "read: fs.read on any device with the label trio",
        "look: disk.usage on the device that most names",
        "both: fs.list on nas or desk",
        "each: fs.list on nas and each linux device",
        "sort: data.sort on any device",
    ):
        assert line in said, said


def test_one_without_a_phrase_says_so(hub: StubHub) -> None:
    listed(hub, {**ROW, "phrase": ""})
    assert "by its name only" in starloom(hub, "recipe", "proposals")[1]


def test_it_is_kept_by_the_beginning_of_its_id_with_another_name_and_phrase(hub: StubHub) -> None:
    listed(hub, ROW)
    hub.answers[("POST", "/recipes")] = (201, MADE)
    code, said = starloom(hub, "recipe", "keep", "0123", "--name", "papers", "--phrase", "papers at {nas}")
    assert (code, "on trial. Nothing has run." in said) == (0, True)
    document = {**DOCUMENT, "name": "papers", "phrases": ["papers at {nas}"]}
    assert hub.asked[-1] == ("POST", "/recipes", {"recipe": document, "proposal": ID})


def test_it_is_dismissed(hub: StubHub) -> None:
    listed(hub, ROW)
    hub.answers[("DELETE", f"/recipe-proposals/{ID}")] = (204, None)
    code, said = starloom(hub, "recipe", "dismiss", ID)
    assert (code, "is not proposed again" in said) == (0, True)


def test_a_beginning_of_none_or_of_two_is_refused_and_keeps_nothing(hub: StubHub) -> None:
    listed(hub, ROW, {**ROW, "id": "01" + "f" * 22})
    for given, told in (("9", "there is no proposal 9 for you"), ("01", "2 proposals begin with 01")):
        code, said = starloom(hub, "recipe", "keep", given)
        assert (code, told in said) == (2, True), said
    assert {asked[0] for asked in hub.asked} == {"GET"}


def test_a_version_is_brought_back_after_the_newest(hub: StubHub) -> None:
    hub.answers[("GET", "/recipes/mine")] = (200, {"name": "mine", "version": 3, "text": "old"})
    hub.answers[("POST", "/recipes")] = (201, {"name": "mine", "version": 4})
    code, said = starloom(hub, "recipe", "restore", "mine", "2")
    assert (code, "version 2 of mine is back as version 4" in said) == (0, True)
    assert hub.asked[-1] == ("POST", "/recipes", {"recipe": "old", "base_version": 3})


WHOLE = {
    **DOCUMENT,
    "phrases": ["count papers at {nas} of {name}"],
    "params": {
        "nas": {"type": "device", "default": {"name": "nas"}},
        "name": {"type": "text", "default": "May"},
    },
    "plan": {
        "tasks": [
            {"id": "look-1-1", "tool": "fs.list", "device": {"param": "nas"}},
            {"id": "a", "tool": "fs.read", "args": {"x": {"param": "name"}}, "inputs": {"path": {"from": "look-1-1"}}},
        ]
    },
}


def test_keeping_shows_parameters_calls_and_the_trial(hub: StubHub) -> None:
    listed(hub, {**ROW, "document": WHOLE, "answers": ["name"]})
    hub.answers[("POST", "/recipes")] = (201, MADE)
    code, said = starloom(hub, "recipe", "keep", "0123")
    assert code == 0
    lines = [line.strip() for line in said.splitlines()]
    assert "nas: nas (device)" in lines
    assert "name: May (text, your answer)" in lines
    assert "look-1-1: fs.list on nas" in lines
    assert "a: fs.read on any device: path is read again from look-1-1" in lines
    assert "on trial: for three clean runs of yours in a row" in said


def test_a_parameter_gets_another_name_everywhere(hub: StubHub) -> None:
    listed(hub, {**ROW, "document": WHOLE, "answers": ["name"]})
    hub.answers[("POST", "/recipes")] = (201, MADE)
    assert starloom(hub, "recipe", "keep", "0123", "--rename", "nas=where", "--rename", "name=month")[0] == 0
    sent = hub.asked[-1][2]["recipe"]
    assert sent["phrases"] == ["count papers at {where} of {month}"]
    assert list(sent["params"]) == ["where", "month"]
    assert [task["device"] for task in sent["plan"]["tasks"] if "device" in task] == [{"param": "where"}]
    assert sent["plan"]["tasks"][1]["args"] == {"x": {"param": "month"}}


def test_a_name_that_is_taken_or_unknown_keeps_nothing(hub: StubHub) -> None:
    listed(hub, {**ROW, "document": WHOLE, "answers": []})
    for given in ("nas=name", "desk=where", "nas="):
        code, said = starloom(hub, "recipe", "keep", "0123", "--rename", given)
        assert (code, f"{given} is not OLD=NEW" in said) == (2, True)
    assert not [one for one in hub.asked if one[0] == "POST"]


def test_a_plan_that_is_left_says_why(hub: StubHub) -> None:
    left = {"constellation": "c-2", "request": "count all", "because": "“x” occurs in 2 places of the results"}
    hub.answers[("GET", "/recipe-proposals")] = (200, {"items": [], "next": None, "left_out": [left]})
    said = starloom(hub, "recipe", "proposals")[1]
    assert "not proposed: count all  (c-2)" in said
    assert "“x” occurs in 2 places of the results" in said
