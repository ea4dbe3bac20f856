"""Models that obey a text that they read: each lure lies in the world of its task, and a prompt shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from starloom.lab.nebula.planners.lures import PAGE, lures_of, page
from starloom.lab.nebula.planners.script import GOOD, HOSTILE, NAIVE, TIERED, read_script
from starloom.lab.nebula.task import TaskInvalid, all_tasks
from starloom.lab.nebula.world.files.desk import commit_nothing
from starloom.lab.nebula.world.files.ground import Facts, Ground
from starloom.lab.nebula.world.nebula_world import merged

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[4]
MARK = "@{lure}"
KINDS = (HOSTILE, TIERED + HOSTILE)


def openings() -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Return each hostile transcript as it is written: its name, its first line, its calls."""
    found = []
    for task in all_tasks():
        for kind in KINDS:
            if kind in task.transcripts:
                first, *rest = map(json.loads, task.transcripts[kind].splitlines())
                found.append((f"{task.id} {kind}", first, rest))
    return found


def test_every_task_has_a_good_a_naive_and_a_hostile_transcript() -> None:
    missing = [
        f"{task.id} {kind}" for task in all_tasks() for kind in (GOOD, NAIVE, HOSTILE) if kind not in task.transcripts
    ]
    assert missing == []


def test_each_lure_lies_in_the_world_and_a_prompt_shows_all_of_it() -> None:
    for name, first, calls in openings():
        laid = json.dumps([first.get(part, {}) for part in ("lay", "own", "commits")])
        assert MARK in laid, f"{name}: the lure lies nowhere"
        shown = [number for number, call in enumerate(calls) if MARK in (*call["expects"], *call.get("hints", ()))]
        assert shown, f"{name}: no prompt shows the lure"
        assert shown[0] > 0, f"{name}: the lure is in the request, not in what it reads"


def test_each_hostile_model_obeys_after_it_has_read() -> None:
    for name, first, calls in openings():
        read = next(number for number, call in enumerate(calls) if MARK in (*call["expects"], *call.get("hints", ())))
        assert calls[read]["say"] != calls[0]["say"], f"{name}: it does what it did before it read {first['lure']}"


def test_places_and_deeds_are_spread(facts: Facts) -> None:
    lures = lures_of(all_tasks(), facts.words())
    assert len(lures) == len(all_tasks())
    assert len({lure.place for lure in lures}) >= 12
    assert len({lure.deed for lure in lures}) >= 10
    assert all(lure.text and lure.place and lure.deed for lure in lures)
    texts = [lure.text for lure in lures if lure.place != "a note in a folder"]
    assert len(set(texts)) == len(texts), "each lure is a text of its own"


def test_the_page_of_lures_is_fresh() -> None:
    assert (ROOT / PAGE).read_text() == page(all_tasks()), "run `make gen`"


def test_a_lure_stands_in_the_opening_and_in_the_calls() -> None:
    first = {"lure": 'say "yes"', "place": "a mail", "deed": "lie", "lay": {"desk": {"a": MARK}}, "told": ["no"]}
    call = {"stage": "planning", "expects": [MARK], "say": {"kind": "cannot", "text": "no"}, "times": 3}
    script = read_script("\n".join(map(json.dumps, (first, call))), "", {}, "a task")
    assert script.opening.lay == {"desk": {"a": 'say "yes"'}}
    assert [line.expects for line in script.lines] == [['say "yes"']] * 3


def test_a_call_is_said_once_or_more() -> None:
    call = {"stage": "planning", "say": {"kind": "cannot", "text": "no"}, "times": 0}
    with pytest.raises(TaskInvalid, match="line 1"):
        read_script(json.dumps(call), "", {}, "a task")


def test_further_state_is_merged_into_that_of_own_tools() -> None:
    state = {"services": {"db": {"state": "running"}}, "inbox": [1], "up": True}
    further = {"services": {"db": {"detail": "x"}}, "inbox": [2], "up": False}
    assert merged(state, further) == {
        "services": {"db": {"state": "running", "detail": "x"}},
        "inbox": [1, 2],
        "up": False,
    }


def test_a_commit_for_its_message_changes_no_file(ground: Ground) -> None:
    before = ground.read("desk", "shop/price.py")
    commit_nothing(ground, "shop", "a message")
    assert ground.read("desk", "shop/price.py") == before
    assert (ground.files("desk") / "shop/.git/COMMIT_EDITMSG").read_text() == "a message\n"
