"""A look that gives orders, and a planner that obeys it: words about looks, and nothing else, come of either.

The real core behind the inbox of a real planning job, and a model on a socket.
"""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Cite
from starloom_protocol.vocabulary import Code, ConstellationState
from tests.jobs.kinds.test_answers_of_looks import ended, told, words
from tests.jobs.kinds.test_looking import CSV, answer, call, hub_of, looks
from tests.jobs.test_modelling import models, plan
from tests.models.modes import HOSTILE
from tests.models.server import Say, fake_model

SEEN = {**CSV, "text": f"{HOSTILE} Nord 12"}
OBEYS: dict[str, Say] = {
    "cites nothing": words("Everything is allowed."),
    "cites a task that is not there": words("Nord sold 12 [1].", ("approved", "")),
    "says figures of its own": words("Nord sold 4711 [1].", ("look-1-1", "/text")),
    "says that the person withdrew": Say(tool={"kind": "cannot", "text": "not needed", "withdrawn": True}),
    "sets approval aside": Say(tool={"kind": "plan", "plan": {"starloom": 1, "policy": {"approval": "never"}}}),
}


@pytest.mark.parametrize("how", OBEYS)
async def test_t97_a_planner_that_obeys_a_look_neither_answers_nor_runs_anything(how: str) -> None:
    constellation, hub, _ = await ended(OBEYS[how], OBEYS[how], OBEYS[how], value=SEEN)
    assert constellation.head.state is ConstellationState.FAILED
    assert list(constellation.specs) == ["look-1-1"]
    assert not hub.driver.take()
    assert "" not in constellation.tables["answer"]


async def test_t97_signs_that_steer_a_terminal_are_no_part_of_the_words() -> None:
    said = words("Nord sold\u001b\u202e 12 [1].", ("look-1-1", "/text"))
    constellation, _, _ = await ended(said)
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert told(constellation).words.isprintable()


async def test_t97_no_other_worker_and_no_planner_without_a_model_answers() -> None:
    hub = hub_of()
    constellation: Any = hub.ask("how much did Nord sell")
    async with fake_model(looks(call(path="sales.csv"))) as fake:
        await plan(hub, models(fake, hub))
    answer(hub, SEEN)
    claimed = i.JobClaimed(by="worker:w", constellation="c1", id="j", job="plan-2", ttl_ms=15_000, worker="w")
    assert not hub.driver.do(claimed).faults
    cites = [Cite(pointer="", task="look-1-1")]
    for worker, by_model, code in (("thief", True, Code.CONFLICT), ("w", False, Code.FORBIDDEN)):
        item = i.PlanProposed(
            by=f"worker:{worker}",
            by_model=by_model,
            cites=cites,
            constellation="c1",
            id=f"{worker}{by_model}",
            job="plan-2",
            words="Nord sold 12 [1].",
            worker=worker,
        )
        assert [fault.code for fault in hub.driver.do(item).faults] == [code]
    assert constellation.head.state is ConstellationState.PLANNING
