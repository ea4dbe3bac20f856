from __future__ import annotations

from typing import Any

import pytest

from starloom.client import routes
from starloom.client.calls import Get, Post
from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.lab.nebula.person.person import A
from starloom.lab.nebula.person.under_way import Stay, under_way
from starloom.lab.nebula.task import chosen
from starloom.lab.nebula.world.checked_world import AnswerSeen, CheckedWorld, Snapshot
from starloom_protocol.records.entities import TaskSpec
from tests.cli.events import CONSTELLATION, Log


class Refusing:
    """A hub of three devices that takes controls and refuses every plan."""

    def __init__(self) -> None:
        self.draining: set[str] = set()
        self.when_asked: set[str] = set()

    def create(self, call: Post[A], body: Any) -> A:
        self.when_asked = set(self.draining)
        raise Problem("bad_plan", call.path, str(body), "", Exit.USAGE)

    def events(self, constellation: str, after: int, *, wait_s: float) -> list[Any]:
        raise AssertionError((constellation, after, wait_s))

    def get(self, call: Get[Any]) -> Any:
        assert call == routes.get_devices()
        return {"items": [{"id": name, "name": name, "draining": name in self.draining} for name in ("a", "b", "c")]}

    def names(self) -> dict[str, str]:
        return {}

    def post(self, call: Post[Any], body: Any = None) -> Any:
        _, _, device, action = call.path.split("/")
        (self.draining.add if action == "drain" else self.draining.discard)(device)
        return body


def test_work_begins_on_one_device_while_the_others_drain() -> None:
    hub = Refusing()
    with pytest.raises(Problem):
        under_way(hub, "plan", only_on="b")
    assert hub.when_asked == {"a", "c"}
    assert hub.draining == set()


def test_no_device_drains_where_the_hub_may_place_the_work() -> None:
    hub = Refusing()
    with pytest.raises(Problem):
        under_way(hub, "plan")
    assert hub.when_asked == set()


@pytest.mark.parametrize(
    ("named", "met"),
    [(["await.1"], True), ([], False), (["await.1", "await.2"], False)],
)
def test_moved_by_a_drain_is_what_was_there_when_it_began(named: list[str], met: bool) -> None:
    log = Log()
    log.add("planned", spec__dDOTx=TaskSpec(id="d.x", changed_in=1, tool="device.drain"))
    log.add("task_succeeded", about="d.x")
    at_ms = log.rows[-1].at_ms
    stays = {
        "await.1": [Stay("srv-a", at_ms - 9, at_ms + 5), Stay("srv-b", at_ms + 5, 0)],
        "await.2": [Stay("srv-a", at_ms - 9, at_ms - 3), Stay("srv-b", at_ms - 3, 0)],
    }
    rows = [{"device": "srv-a", "draining": True, "running": 0}]
    moved = [{"task": name, "constellation": CONSTELLATION} for name in named]
    answer = AnswerSeen("succeeded", "", [("Moved", moved), ("State", rows)])
    nothing = Snapshot({}, {}, [])
    (task,) = chosen(["54"])
    seen = CheckedWorld(nothing, nothing, answer, {"work": stays}, events=log.rows)
    found = {name: so for name, so, _ in task.checks(seen)}
    assert found.pop("the moved are named") is met
    assert all(found.values())
