"""T209: somebody who may run work, and not approve, takes back what another person asked for and has relied on."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.vocabulary import Code
from tests.builders import Driver
from tests.core.people.test_compensation import CHAIN, moved

pytestmark = pytest.mark.short


def asked(driver: Driver, by: str, *, approves: bool, tasks: tuple[str, ...] = ()) -> i.UndoRequested:
    return i.UndoRequested(id=driver.ident(), approves=approves, by=by, constellation="c1", tasks=list(tasks))


@pytest.mark.parametrize("tasks", [(), ("b",)], ids=["all", "one"])
@pytest.mark.parametrize("by", ["person:lo#t7", "program:ci", "assistant:ann", "person:ANN"])
def test_t209_the_work_of_others_stays(by: str, tasks: tuple[str, ...]) -> None:
    driver = moved(*CHAIN)
    asker = driver.shard.constellations["c1"].head.author
    (refused,) = driver.do(asked(driver, by, approves=False, tasks=tasks)).faults
    assert refused.code is Code.FORBIDDEN
    assert "may undo own work only" in refused.reason
    assert "starloom undo c1" in refused.hint
    assert driver.take() == []
    assert driver.shard.constellations["c1"].head.author == asker
    driver.folded_equals_state()


@pytest.mark.parametrize("approves", [True, False])
def test_t209_own_work_is_taken_back_on_any_sign_in(approves: bool) -> None:
    driver = moved(*CHAIN)
    asker = driver.shard.constellations["c1"].head.author
    assert driver.do(asked(driver, f"{asker}#other", approves=approves)).value["undoing"] == ["b", "a"]


def test_t209_somebody_who_approves_takes_back_any_work() -> None:
    driver = moved(*CHAIN)
    assert driver.do(asked(driver, "person:lo", approves=True)).value["undoing"] == ["b", "a"]


def test_t209_a_look_at_what_would_be_undone_changes_nothing() -> None:
    driver = moved(*CHAIN)
    version = driver.shard.constellations["c1"].head.version
    looked = driver.do(i.UndoRequested(id=driver.ident(), by="person:lo", constellation="c1", preview=True))
    says = [f"t.idem runs for {name} on one, which cannot be undone itself" for name in ("b", "a")]
    assert looked.value == {"version": version, "undoing": ["b", "a"], "cannot_be_undone": [], "says": says}
    assert driver.shard.constellations["c1"].head.version == version
    assert driver.take() == []
    driver.folded_equals_state()
