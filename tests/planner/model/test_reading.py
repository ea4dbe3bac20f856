"""A reply of another form is answered with the form of its own stage, or the model could not mend it."""

from __future__ import annotations

import pytest

from starloom.planner.model.conversations import answering, judging, reviewing
from starloom.planner.model.port import Reply
from starloom.planner.model.reading import PLANNING_FORM, Judged, read_reply
from starloom_protocol.records.entities import Fault


@pytest.mark.parametrize("form", [PLANNING_FORM, answering.FORM, judging.FORM, reviewing.FORM])
def test_a_reply_of_no_known_form_is_told_that_of_its_stage(form: str) -> None:
    read = read_reply(Reply(text='{"verdict": "yes"}'), form)
    assert isinstance(read, Fault)
    assert read.reason == form


def test_the_form_of_a_verdict_is_what_a_judge_reads() -> None:
    assert isinstance(read_reply(Reply(text='{"holds": "yes", "because": "it is there", "cites": []}')), Judged)
    assert all(name in judging.FORM for name in ("holds", "because", "cites"))
