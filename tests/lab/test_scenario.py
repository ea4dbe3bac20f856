"""The loader: every fault with its place, at once; a text never makes it raise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom.lab.injection import sentence, size_of
from starloom_protocol.plan.scenario import AtDoc, FaultDoc, read_scenario
from starloom_protocol.records.lab import BY_S, CAN, FaultKind, FaultTarget
from tests.arch.checkout import ROOT

SCENARIOS = sorted((ROOT / "recipes" / "scenarios").glob("*.yaml"))


def document(**more: Any) -> dict[str, Any]:
    plan = {"starloom": 1, "tasks": [{"id": "work", "tool": "shell.run", "args": {"argv": ["true"]}}]}
    return {"starloom_scenario": 1, "name": "One", "plan": plan, "expect": {"state": "succeeded"}, **more}


def fault(**more: Any) -> dict[str, Any]:
    return {"at": {"after_s": 1}, "target": "hub", "kind": "kill", **more}


def places(**more: Any) -> list[str]:
    return [one.place for one in read_scenario(json.dumps(document(**more))).faults]


def test_the_least_scenario_has_two_devices_and_expects_nothing_twice() -> None:
    scenario = read_scenario(json.dumps(document())).scenario
    assert scenario is not None
    assert scenario.devices == ["north", "south"]
    assert scenario.expect.at_most_once is True


def test_all_faults_are_told_at_once_with_their_places() -> None:
    found = read_scenario(
        json.dumps(
            document(
                request="also words",
                devices=["north", "north"],
                faults=[
                    fault(kind="clock_skew"),
                    fault(at={"event": "task_begun"}),
                    fault(at={"after_s": 1, "progress": 0.5}),
                    fault(target="link", kind="cut", device="nort"),
                    fault(at={"event": "task_started", "task": "wrok"}),
                    fault(by_s=3),
                    fault(device="north"),
                    fault(target="device"),
                ],
                expect={"state": "succeded", "tasks": {"worl": "unknown"}, "at_most_once": ["x"]},
            )
        )
    )
    assert found.scenario is None
    assert [one.place for one in found.faults] == [
        "",
        "devices[1]",
        "faults[0].kind",
        "faults[1].at.event",
        "faults[2].at",
        "faults[3].device",
        "faults[4].at.task",
        "faults[5].by_s",
        "faults[6].device",
        "faults[7].device",
        "expect.state",
        "expect.at_most_once[0]",
        "expect.tasks.worl",
    ]
    hints = {one.place: one.hint for one in found.faults}
    assert hints["faults[3].device"] == "Did you mean `north`?"
    assert hints["faults[4].at.task"] == "Did you mean `work`?"
    assert hints["expect.state"] == "Did you mean `succeeded`?"


def test_a_wrong_field_hides_no_fault_of_the_plan() -> None:
    found = places(plan={"starloom": 1, "tasks": [{"id": "work"}]}, faults=[fault(kind="explode")], sed=1)
    assert "sed" in found
    assert "faults[0].kind" in found
    assert any(place.startswith("plan.tasks[0]") for place in found)


def test_a_wrong_field_hides_no_fault_beside_it() -> None:
    found = places(
        starloom_scenario="one",
        devices=["north", "any"],
        faults=[
            fault(kind="explode", device="north"),
            fault(at={"event": 3, "task": "wrok"}, target="link", kind="cut", device="nort"),
            fault(at={"after_s": "soon"}, target="link", kind="kill"),
            fault(target="moon", at={"event": "task_begun"}),
            "cut",
            fault(target="device", by_s="x", colour="red"),
            {"kind": "clock_skew", "target": "hub", "by_s": 3},
        ],
        expect={"state": "succeded", "within_s": -1, "tasks": {"worl": "unknown"}},
    )
    assert sorted(found) == sorted(
        [
            "starloom_scenario",
            "devices[1]",
            "faults[0].kind",
            "faults[0].device",
            "faults[1].at.event",
            "faults[1].at.task",
            "faults[1].device",
            "faults[2].at.after_s",
            "faults[2].kind",
            "faults[2].device",
            "faults[3].target",
            "faults[3].at.event",
            "faults[4]",
            "faults[5].by_s",
            "faults[5].colour",
            "faults[5].device",
            "faults[6].at",
            "faults[6].kind",
            "expect.state",
            "expect.within_s",
            "expect.tasks.worl",
        ]
    )


@pytest.mark.parametrize("plan", [[], "x", None, {"tasks": "y"}, {"tasks": [1, {"id": 2}]}])
def test_a_wrong_plan_hides_no_fault_of_the_rest(plan: Any) -> None:
    found = places(plan=plan, expect={"state": "succeded"})
    assert "expect.state" in found
    assert len(found) >= 2


@pytest.mark.parametrize("target", FaultTarget)
def test_what_cannot_happen_to_a_target_is_refused_and_what_can_is_taken(target: FaultTarget) -> None:
    where = {"device": "north"} if target in (FaultTarget.DEVICE, FaultTarget.LINK) else {}
    for kind in FaultKind:
        found = places(faults=[fault(target=target, kind=kind, **where)])
        assert found == ([] if kind in CAN[target] else ["faults[0].kind"])


def test_a_device_may_be_left_out_where_a_task_says_it() -> None:
    at = {"event": "task_started", "task": "work"}
    assert places(faults=[fault(at=at, target="device")]) == []
    assert places(faults=[fault(target="device", device="any")]) == []
    assert places(devices=["only"], faults=[fault(target="device")]) == []


@pytest.mark.parametrize("text", ["", "[]", "a: b: c", "\xff", "starloom_scenario: 1", "{" * 200, "&a *a"])
def test_no_text_makes_it_raise(text: str) -> None:
    assert read_scenario(text).faults


def test_there_are_at_least_ten_and_they_cover_all_targets_and_kinds() -> None:
    assert len(SCENARIOS) >= 10
    met = set()
    for path in SCENARIOS:
        scenario = read_scenario(path.read_bytes()).scenario
        assert scenario is not None, path.name
        met |= {(one.target, one.kind) for one in scenario.faults}
    assert {target for target, _ in met} == set(FaultTarget)
    assert {kind for _, kind in met} == set(FaultKind)


def test_the_document_names_every_scenario_and_its_example_is_one() -> None:
    text = (ROOT / "docs" / "lab.md").read_text()
    assert [path.name for path in SCENARIOS if f"`{path.name}`" not in text] == []
    example = text.split("```yaml\n")[1].split("```")[0]
    assert read_scenario(example).faults == []


@pytest.mark.parametrize("target", FaultTarget)
def test_every_fault_that_may_be_asked_for_has_a_size_and_its_words(target: FaultTarget) -> None:
    for kind in CAN[target]:
        fault = FaultDoc(at=AtDoc(after_s=1), target=target, kind=kind)
        assert size_of(fault) == BY_S.get(kind, 0.0)
        assert sentence(target, kind, "north", size_of(fault)).startswith("the ")
