from __future__ import annotations

from typing import Any

import pytest

from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.lab.nebula.person.under_way import under_way


class Refusing:
    """A hub of three devices that takes controls and refuses every plan."""

    def __init__(self) -> None:
        self.draining: set[str] = set()
        self.when_asked: set[str] = set()

    def create(self, path: str, body: Any) -> Any:
        self.when_asked = set(self.draining)
        raise Problem("bad_plan", path, str(body), "", Exit.USAGE)

    def events(self, constellation: str, after: int, *, wait_s: float) -> list[Any]:
        raise AssertionError((constellation, after, wait_s))

    def get(self, path: str) -> Any:
        assert path == "/devices"
        return {"items": [{"id": name, "name": name, "draining": name in self.draining} for name in ("a", "b", "c")]}

    def names(self) -> dict[str, str]:
        return {}

    def post(self, path: str, body: Any = None) -> Any:
        _, _, device, action = path.split("/")
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
