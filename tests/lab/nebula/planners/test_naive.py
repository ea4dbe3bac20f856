"""Models that begin wrong: what comes back for each mistake names the way out, and the kinds of mistakes are spread."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from starloom.lab.nebula.planners.script import NAIVE, Script, read_script, reply_to
from starloom.lab.nebula.task import Task, all_tasks
from starloom.lab.nebula.world.files.ground import Facts
from starloom.planner.model.answers import Stage
from starloom.planner.model.conversations.planning import Conversation
from starloom.planner.model.port import Reply, Turn
from starloom.planner.model.reading import Looked
from starloom_protocol.records.edits import LoweredPlan
from tests.lab.nebula.fleets import nebula_fleet

TASKS = [task for task in all_tasks() if NAIVE in task.transcripts]


class Scripted:
    """A transcript as a model, without a wire."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.calls = 0
        self.faults: list[str] = []

    async def ask(self, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        text, faults = reply_to(self._script, self.calls, str(stage), [instructions, *(turn.text for turn in turns)])
        self.calls += 1
        self.faults += faults
        return Reply(text)


def script_of(task: Task, facts: Facts) -> Script:
    return read_script(task.transcripts[NAIVE], task.gold, facts.words(), task.id)


@pytest.mark.quick
def test_every_task_with_a_plan_has_a_naive_transcript_and_the_mistakes_are_spread(facts: Facts) -> None:
    scripts = {task.id: script_of(task, facts) for task in TASKS}
    assert [task.id for task in all_tasks() if task.gold and task.id not in scripts] == []
    assert [name for name, script in scripts.items() if not script.opening.mistake] == []
    late = {name for name, script in scripts.items() if any(line.stage == "reviewing" for line in script.lines)}
    assert len({script.opening.mistake for name, script in scripts.items() if name not in late}) >= 12
    assert len({scripts[name].opening.mistake for name in late}) >= 10


@pytest.mark.quick
def test_what_comes_back_is_held_to_a_hint_in_each_transcript(facts: Facts) -> None:
    bare = [task.id for task in TASKS if not any(line.hints for line in script_of(task, facts).lines)]
    assert bare == []


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
async def test_a_plan_that_begins_wrong_is_mended_by_what_comes_back(task: Task, facts: Facts) -> None:
    script = script_of(task, facts)
    model = Scripted(script)
    made = await Conversation(model, task.words(facts.words()), {}, nebula_fleet()).plan()
    assert model.faults == []
    assert isinstance(made, LoweredPlan | Looked), made
    planned = [line for line in script.lines if line.stage == "planning"]
    assert model.calls == len(planned) or isinstance(made, Looked)
