"""Every code has its row; sets of states do not meet."""

from __future__ import annotations

from starloom_protocol import vocabulary as v
from starloom_protocol.vocabulary import CODES, Code


def test_every_code_has_a_row_with_a_way_out() -> None:
    assert set(CODES) == set(Code)
    for info in CODES.values():
        assert info.title
        assert info.hint.endswith(".")
        assert 400 <= info.status < 600


def test_final_and_started_states_do_not_meet() -> None:
    assert not v.FINAL_TASK_STATES & v.STARTED_TASK_STATES
    assert frozenset({v.Repeatability.PURE, v.Repeatability.IDEMPOTENT}) == v.REPEATABLE
