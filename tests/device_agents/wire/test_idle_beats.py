"""How often an agent says `alive`, and when it takes the hub for lost."""

from __future__ import annotations

from starloom_agent.wire.connection import Heartbeat


def said(beat: Heartbeat, until_s: int, *, running_from_s: int | None = None) -> list[int]:
    """Look once each interval of five seconds; return when `alive` was said."""
    looked = range(5, until_s + 1, 5)
    return [at for at in looked if beat.due(at, running=running_from_s is not None and at >= running_from_s)]


def test_an_agent_speaks_every_interval() -> None:
    assert said(Heartbeat(5, 0), 20) == [5, 10, 15, 20]


def test_an_idle_agent_speaks_as_seldom_as_the_hub_asks() -> None:
    beat = Heartbeat(5, 0)
    beat.idle_s = 20
    assert said(beat, 60) == [20, 40, 60]


def test_an_agent_that_begins_to_work_speaks_at_the_next_interval() -> None:
    beat = Heartbeat(5, 0)
    beat.idle_s = 100
    assert said(beat, 30, running_from_s=13) == [15, 20, 25, 30]


def test_a_hub_may_ask_for_no_more_than_the_interval() -> None:
    beat = Heartbeat(5, 0)
    beat.idle_s = 1
    assert said(beat, 15) == [5, 10, 15]


def test_the_hub_is_lost_after_four_answers_or_two_seldom_ones() -> None:
    beat = Heartbeat(5, 0)
    assert beat.lost_after_s(running=False) == 20
    beat.idle_s = 100
    assert beat.lost_after_s(running=False) == 205
    assert beat.lost_after_s(running=True) == 20
    assert Heartbeat(0.5, 0).lost_after_s(running=False) == 10
