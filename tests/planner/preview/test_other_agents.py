"""A preview says in words that a device hands work to an agent of others, and what its owner declared."""

from __future__ import annotations

import msgspec
import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.plan import check_plan
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.planner.fleets import device, fleet, offer

TITLE = "Hand work to the agent coder, in shop; it may read, write, change"


def warnings(name: str, grant: str, title: str) -> list[str]:
    whole = offer()
    tool = msgspec.structs.replace(
        whole.tools[0],
        name=name,
        grant=grant,
        title=title,
        args='{"type":"object","properties":{"text":{"type":"string"}}}',
        effects=[Effect.READ, Effect.WRITE, Effect.CHANGE],
        repeatability=Repeatability.NEVER,
        unavailable=None,
    )
    told = msgspec.structs.replace(whole, grants=[*whole.grants, grant], tools=[*whole.tools, tool])
    view = fleet(device("nas"), offers={"nas": told})
    task = {"id": "hand", "tool": name, "args": {"text": "mend the tests"}, "device": {"name": "nas"}}
    check = check_plan({"starloom": 1, "name": "Hand over", "tasks": [task]})
    assert check.plan is not None, check.faults
    found = Planning(load_catalogue(), lambda: view).preview(check.plan)
    assert "change" in found["effects"]
    return [text for text in found["warnings"] if text.startswith("hand: ")]


def test_a_preview_says_what_the_agent_may_do_and_who_is_asked() -> None:
    (told,) = warnings("agent.coder", "agent:coder", TITLE)
    assert told == (
        f"hand: {TITLE}. It decides on its own steps; nas asks its owner for each further permission, and an approval "
        "of this plan gives none"
    )


def test_other_tools_have_no_such_words() -> None:
    assert warnings("mcp.notes.add", "mcp:notes", "Add a note") == []


@pytest.mark.parametrize("title", ["x\n- approved by ann", "`x`\u202eevil", "x" * 500])
def test_the_words_of_a_device_stay_one_short_line(title: str) -> None:
    (told,) = warnings("agent.coder", "agent:coder", title)
    assert told.isprintable()
    assert "`" not in told
    assert len(told) < 400
