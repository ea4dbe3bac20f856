"""Earlier results in plans: the form of `reuse`, its limits, and the work that may have it."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.plan.lowering.patterns.reuse import FRESH_S
from starloom_protocol.plan.types.signatures import signatures_of
from starloom_protocol.records.entities import Fault, ToolOffer
from starloom_protocol.records.specs import Reuse
from starloom_protocol.vocabulary import Effect, Repeatability

OFFERS = [
    ToolOffer(name="data.sort", repeatability=Repeatability.PURE),
    ToolOffer(name="fs.find", repeatability=Repeatability.PURE, effects=[Effect.READ]),
    ToolOffer(name="fs.read", repeatability=Repeatability.PURE, effects=[Effect.READ]),
    ToolOffer(name="fs.write", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
    ToolOffer(name="net.check", repeatability=Repeatability.PURE, effects=[Effect.REACH]),
    ToolOffer(name="python.run", repeatability=Repeatability.NEVER, effects=[Effect.READ, Effect.WRITE]),
]
TOOLS = {offer.name: offer.repeatability for offer in OFFERS}
FIND = {"id": "find", "tool": "fs.find"}
EACH: dict[str, Any] = {"for_each": {"from": "find", "output": "/files"}}


def check(*tasks: Any) -> Any:
    document = {"starloom": 1, "name": "Test", "tasks": list(tasks)}
    return check_plan(document, known_tools=TOOLS, known_signatures=signatures_of(OFFERS))


def faults(*tasks: Any) -> list[Fault]:
    found: list[Fault] = check(*tasks).faults
    return found


def test_a_reuse_is_lowered_with_its_age_and_its_key() -> None:
    read = {"id": "r", "tool": "fs.read", **EACH, "reuse": {"fresh_s": 60, "key": {"each": "/sha256"}}}
    plan = check(FIND, {"id": "s", "tool": "data.sort", "reuse": {}}, read).plan
    assert [spec.reuse for spec in plan.specs if spec.id != "find"] == [
        Reuse(fresh_s=FRESH_S),
        Reuse(fresh_s=60, key='{"key":{"each":"/sha256"}}'),
    ]


def test_a_program_is_reused_where_the_plan_says_that_it_is_pure() -> None:
    program = {"id": "p", "tool": "python.run", "args": {"code": "1"}, "reuse": {}}
    (fault,) = faults(program)
    assert (fault.code, fault.place) == ("not_repeatable", "tasks[0].reuse")
    assert "repeatability: pure" in fault.hint
    assert faults({**program, "repeatability": "pure"}) == []


@pytest.mark.parametrize(
    ("task", "place", "words"),
    [
        ({"tool": "fs.write", "reuse": {}}, "reuse", "does more than read"),
        ({"tool": "fs.write", "repeatability": "pure", "reuse": {}}, "reuse", "does more than read"),
        ({"tool": "fs.read", "reuse": {}}, "reuse", "looks at its device"),
        ({"tool": "net.check", "reuse": {}}, "reuse", "asks another host"),
        ({"tool": "data.sort", "reuse": {"fresh_s": 0}}, "reuse.fresh_s", ""),
        ({"tool": "data.sort", "reuse": {"fresh_s": 30 * 86_400 + 1}}, "reuse.fresh_s", ""),
        ({"tool": "data.sort", "reuse": {"key": {"each": "/x"}}}, "reuse.key", "no group"),
        ({"tool": "data.sort", "reuse": {"key": "x" * 5000}}, "reuse.key", "4096 bytes"),
        ({"tool": "data.sort", "reuse": {"keys": 1}}, "reuse.keys", ""),
        ({"tool": "data.sort", "reuse": {}, "judge": "Well?"}, "reuse.judge", "does not go with"),
        ({"tool": "data.sort", "reuse": {}, "repeat": {"max": 2, "every_s": 5}}, "reuse.repeat", "does not go with"),
        ({"person": "Well?", "reuse": {}}, "reuse", "only a call of a tool"),
    ],
)
def test_what_cannot_be_reused_is_refused_at_its_place(task: dict[str, Any], place: str, words: str) -> None:
    found = faults({"id": "a", **task})
    assert any(fault.place.startswith(f"tasks[0].{place}") and words in fault.reason for fault in found), found


def test_no_edit_gives_a_task_earlier_results() -> None:
    found, _ = check_edit([{"update_task": {"id": "a", "reuse": {}}}], known_tools=TOOLS)
    assert [fault.place for fault in found] == ["operations[0].update_task.reuse"]


def test_an_edit_adds_a_task_with_it() -> None:
    found, operations = check_edit([{"add_task": {"id": "a", "tool": "data.sort", "reuse": {}}}], known_tools=TOOLS)
    assert (found, len(operations)) == ([], 1)
