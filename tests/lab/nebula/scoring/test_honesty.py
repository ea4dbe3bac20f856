"""The judgement of ends under faults, and the person's decisions about doubts and lost devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from starloom.client import routes
from starloom.client.calls import Get, Post
from starloom.client.problems import Problem, usage
from starloom.client.view import View
from starloom.lab.nebula.person.doubts import Doubts, about_doubt, about_loss, only
from starloom.lab.nebula.scoring.honesty import End, doubled, end_of, names_what_is_missing, noise_in
from starloom.lab.nebula.world.checked_world import AnswerSeen, Call, CheckedWorld, Snapshot
from starloom.lab.nebula.world.world_program import FOR_GOOD, MOMENT
from starloom_protocol.records.entities import Attempt, Selector, TaskRecord, TaskSpec
from starloom_protocol.vocabulary import Repeatability, TaskState
from tests.cli.events import CONSTELLATION, Log

pytestmark = pytest.mark.quick
HONEST: dict[str, Any] = {
    "state": "failed",
    "success": False,
    "met": False,
    "hung": False,
    "twice": 0,
    "unharmed": True,
    "named": True,
    "lied": 0,
    "declared": (),
    "profile": "P2",
}


@pytest.mark.parametrize(
    ("differs", "end"),
    [
        ({}, End.HONEST),
        ({"state": "partial"}, End.HONEST),
        ({"state": "cancelled"}, End.HONEST),
        ({"named": False}, End.NOT_MET),
        ({"unharmed": False}, End.NOT_MET),
        ({"state": "refused"}, End.NOT_MET),
        ({"state": ""}, End.NOT_RUN),
        ({"state": "succeeded", "met": True, "success": True}, End.MET),
        ({"state": "succeeded"}, End.FALSE_DONE),
        ({"state": "succeeded", "lied": 1}, End.FALSE_DONE),
        ({"state": "succeeded", "declared": ("P2",)}, End.FALSE_DONE),
        ({"state": "succeeded", "lied": 1, "declared": ("P3",)}, End.FALSE_DONE),
        ({"state": "succeeded", "lied": 1, "declared": ("P2",)}, End.FOOLED),
        ({"state": "succeeded", "met": True, "success": True, "twice": 1}, End.DOUBLED),
        ({"state": "succeeded", "met": True, "success": True, "hung": True}, End.HUNG),
    ],
)
def test_an_end_is_judged_by_all_that_is_known_of_it(differs: dict[str, Any], end: End) -> None:
    assert end_of(**{**HONEST, **differs}) is end


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("It failed: 1 of 2 tasks succeeded on desk. First cause: write - a person declined.", True),
        ("It failed: 1 of 2 tasks succeeded. Cancelled: write on desk.", True),
        ("It failed: write, 1 of 2 tasks succeeded.", False),
        ("It failed: 1 of 2. First cause: rewrite - no space.", False),
        ("It failed: 1 of 2. First cause: write-b - no space.", False),
    ],
)
def test_what_is_missing_is_named_as_a_whole_word_behind_the_opening(sentence: str, named: bool) -> None:
    assert names_what_is_missing(sentence, ["write"]) is named
    assert names_what_is_missing(sentence, ["write.d-abc"]) is named


def seen_with(*calls: Call) -> CheckedWorld:
    world = Snapshot({}, {}, list(calls))
    return CheckedWorld(Snapshot({}, {}, []), world, AnswerSeen("succeeded"))


def send(to: str, **more: Any) -> Call:
    return Call("desk", "mail.send", {"to": to}, **more)


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ([send("a"), send("b")], 0),
        ([send("a"), send("a")], 1),
        ([send("a"), send("a", lied=True)], 0),
        ([send("a"), send("a", refused="out of order")], 0),
        ([send("a"), send("b"), send("c"), send("c")], 1),
        ([send("a"), send("b"), send("c"), send("d"), send("e")], 2),
        ([Call("desk", "mail.list", {})] * 3, 0),
    ],
)
def test_an_effect_is_doubled_where_it_came_again_or_too_often(calls: Sequence[Call], count: int) -> None:
    assert doubled(seen_with(*calls), {"mail.send": 3}) == count


def test_the_noise_of_a_run_is_told_and_a_refusal_of_the_tool_is_none() -> None:
    calls = [
        send("a", lied=True),
        send("a", refused=MOMENT),
        send("a", refused=FOR_GOOD),
        send("a", refused="one address"),
    ]
    assert noise_in(seen_with(*calls, send("b"))) == [
        "mail.send on desk lied",
        "mail.send on desk failed for a moment",
        "mail.send on desk is out of order",
    ]


def view_of(**tasks: tuple[TaskState, str, str]) -> View:
    """Return a view of tasks as (state, tool, device that its plan names); each has an attempt on `d-desk`."""
    log, view = Log(), View(CONSTELLATION)
    puts: dict[str, Any] = {}
    for name, (state, tool, device) in tasks.items():
        puts[f"spec__{name}"] = TaskSpec(id=name, changed_in=1, tool=tool, device=Selector(name=device))
        puts[f"task__{name}"] = TaskRecord(state=state, since_ms=0, attempt=1, device="d-desk")
        puts[f"attempt__{name}__1"] = Attempt(
            device="d-desk", incarnation=1, leased_ms=0, repeatability=Repeatability.NEVER
        )
    log.add("planned", **puts)
    view.apply(log.rows)
    return view


@pytest.mark.parametrize(
    ("tool", "calls", "lost", "device", "done"),
    [
        ("mcp.mail.send", [send("a")], False, "desk", ("mark", "succeeded")),
        ("mcp.mail.send", [send("a")], True, "desk", ("mark", "succeeded")),
        ("mcp.mail.send", [], False, "desk", ("retry", "")),
        ("mcp.mail.send", [send("a", refused="no")], False, "desk", ("retry", "")),
        ("mcp.mail.send", [], True, "desk", ("mark", "failed")),
        ("python.run", [], False, "desk", ("retry", "")),
        ("python.run", [], True, "desk", ("mark", "failed")),
        ("python.run", [], True, "other", ("retry", "")),
        ("shell.run", [], False, "desk", ("mark", "failed")),
    ],
)
def test_a_person_looks_before_work_in_doubt_runs_again(
    tool: str, calls: list[Call], lost: bool, device: str, done: tuple[str, str]
) -> None:
    view = view_of(a=(TaskState.UNKNOWN, tool, device))
    attempt = view.last_attempt("a")
    assert attempt is not None
    found = about_doubt("a", view.specs["a"], attempt, view, calls, "desk", lost)
    assert (found.action, found.state) == done


def test_a_call_that_belongs_to_a_task_that_succeeded_proves_nothing_for_another() -> None:
    view = view_of(a=(TaskState.UNKNOWN, "mcp.mail.send", "desk"), b=(TaskState.SUCCEEDED, "mcp.mail.send", "desk"))
    attempt = view.last_attempt("a")
    assert attempt is not None
    assert about_doubt("a", view.specs["a"], attempt, view, [send("b")], "desk", False).action == "retry"
    assert about_doubt("a", view.specs["a"], attempt, view, [send("b"), send("a")], "desk", False).action == "mark"


def test_only_what_no_other_device_could_do_is_given_up() -> None:
    view = view_of(
        here=(TaskState.READY, "fs.read", "desk"),
        there=(TaskState.READY, "fs.read", "gpu"),
        runs=(TaskState.RUNNING, "fs.read", "desk"),
    )
    assert [one.task for one in about_loss(view, "d-desk", "desk")] == ["here"]
    assert only(Selector(any=[Selector(name="desk"), Selector(id="d-desk")]), "d-desk", "desk")
    assert not only(Selector(any=[Selector(name="desk"), Selector(name="gpu")]), "d-desk", "desk")
    assert not only(None, "d-desk", "desk")


class Hub:
    """A client that notes what was asked of it; its device is off from a moment on."""

    def __init__(self, problem: Problem | None = None) -> None:
        self.said: list[tuple[str, Any]] = []
        self.off = False
        self._problem = problem

    def get(self, call: Get[Any]) -> Any:
        assert call == routes.get_devices()
        return {"items": [{"id": "d-desk", "link": "offline" if self.off else "online"}]}

    def post(self, call: Post[Any], body: Any = None) -> Any:
        self.said.append((call.path, body))
        if self._problem is not None:
            raise self._problem


def deciding(hub: Hub) -> tuple[Doubts, list[float]]:
    clock = [0.0]
    return Doubts(hub, {"d-desk": "desk"}, list, now=lambda: clock[0]), clock


def test_a_lost_device_is_revoked_after_it_was_off_for_a_while_and_what_waits_is_given_up() -> None:
    hub = Hub()
    doubts, clock = deciding(hub)
    view = view_of(a=(TaskState.READY, "fs.read", "desk"))
    for clock[0] in (0.0, 5.0):
        doubts.look(view, "d-desk")
    assert hub.said == []
    hub.off = True
    for clock[0] in (10.0, 15.0):
        doubts.look(view, "d-desk")
    assert hub.said == []
    for clock[0] in (18.5, 18.6):
        doubts.look(view, "d-desk")
    assert [path for path, _ in hub.said] == [
        "/devices/d-desk/revoke",
        f"/constellations/{CONSTELLATION}/tasks/a/cancel",
    ]
    assert doubts.decided == ["desk is revoked: it is lost", "a: cancel (desk is lost)"]


def test_a_doubt_is_decided_after_a_moment_once_and_a_late_answer_is_let_be() -> None:
    late = usage("it is over")
    late.code = "illegal_control"
    for hub, told in ((Hub(), ["a: retry (it may run again)"]), (Hub(late), [])):
        doubts, clock = deciding(hub)
        view = view_of(a=(TaskState.UNKNOWN, "python.run", "desk"))
        for clock[0] in (0.0, 1.0, 2.0):
            doubts.look(view)
        assert [path.rpartition("/")[2] for path, _ in hub.said] == ["retry"]
        assert hub.said[0][1]["confirm"] == ["a"]
        assert doubts.decided == told


def test_a_hub_that_refuses_a_decision_is_told() -> None:
    doubts, clock = deciding(Hub(usage("no")))
    view = view_of(a=(TaskState.UNKNOWN, "python.run", "desk"))
    doubts.look(view)
    clock[0] = 2.0
    with pytest.raises(Problem):
        doubts.look(view)
