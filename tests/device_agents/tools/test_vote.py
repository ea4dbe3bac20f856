"""`data.vote`: the value that most ballots have, or no winner."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools import vote as votes
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

VALUES = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b", None, True, 1.0, [1], {"x": 1}]))
NUMBERS = st.one_of(st.integers(-5, 5), st.sampled_from([0.5, 1.25, -0.1, "1", None, True]))


def counted(ballots: list[Any], **args: Any) -> dict[str, Any] | Code:
    """Return the answer of a vote, or the code with which it failed; the tool uses nothing of its context."""
    try:
        found = votes.vote(None, votes.Vote(ballots=ballots, **args))  # type: ignore[arg-type]
    except ToolFailed as failed:
        return failed.code
    return dict(found)


def test_the_value_of_most_wins_and_the_others_dissent(device: Device) -> None:
    found = device.call(
        "data.vote",
        ballots=[{"sha": "x", "at": 1}, {"sha": "y", "at": 2}, {"sha": "x", "at": 3}],
        voters=[{"task": "t.1", "device": "nas"}, {"task": "t.2", "device": "vps"}, {"task": "t.3", "device": "pi"}],
        on="/sha",
        of=3,
    )
    assert (found["winner"], found["count"], found["of"], found["unanimous"]) == ("x", 2, 3, False)
    assert found["result"]["sha"] == "x"
    assert found["dissent"] == [{"device": "vps", "task": "t.2", "value": "y"}]
    assert sorted(cast["task"] for cast in found["ballots"]) == ["t.1", "t.2", "t.3"]


@pytest.mark.parametrize(
    ("ballots", "args", "winner"),
    [
        ([1, 1, 2], {}, 1),
        ([1, 1.0, 2], {}, 1),
        ([1, True, "1"], {}, Code.NO_WINNER),
        ([1, 1, 2], {"of": 4}, Code.NO_WINNER),
        ([1, 1, 2], {"ahead_by": 1}, 1),
        ([1, 1, 2], {"ahead_by": 2}, Code.NO_WINNER),
        ([1, 1, 2, 3, 4], {"ahead_by": 1}, 1),
        ([1, 2], {"ahead_by": 1}, Code.NO_WINNER),
        ([], {"of": 3}, Code.NO_WINNER),
        ([1.0, 1.2, 5], {"tolerance": 0.2}, 1.0),
        ([0.3, 0.4, 9], {"tolerance": 0.1}, 0.3),
        ([1, 2, 3], {"tolerance": 1}, Code.NO_WINNER),
        ([1, 2, 3], {"tolerance": 2}, 2),
        (["1", 1, 1], {"tolerance": 5}, 1),
        (["1", "1", "1"], {"tolerance": 5}, Code.NO_WINNER),
        ([{"a": 1}, {"b": 1}, {"a": 1}], {"on": "/a"}, 1),
        ([{"b": 1}, {"b": 1}], {"on": "/a"}, Code.NO_WINNER),
        ([None, None, 1], {}, None),
        ([1, 1], {"of": 1}, Code.BAD_ARGUMENTS),
        ([1, 1], {"voters": []}, Code.BAD_ARGUMENTS),
    ],
)
def test_a_rule_decides_who_wins(ballots: list[Any], args: dict[str, Any], winner: Any) -> None:
    found = counted(ballots, **args)
    assert found == winner if isinstance(winner, Code) else isinstance(found, dict) and found["winner"] == winner


def test_without_a_winner_the_ballots_are_in_the_detail(device: Device) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call(
            "data.vote",
            ballots=[{"n": 1}, {"n": 2}, {}],
            voters=[{"task": "t.1", "device": "nas"}, {"task": "t.2", "device": "vps"}, {"task": "t.3"}],
            on="/n",
            of=4,
        )
    assert failed.value.code is Code.NO_WINNER
    for part in ("2 values have 1 each", "3 of 4 ballots", "nas: 1", "vps: 2", "t.3: no value"):
        assert part in failed.value.detail


def test_ballots_of_one_device_are_named_by_their_calls() -> None:
    voters = [votes.Vote.Voter(device="gpu", task=f"t.{number}") for number in (1, 2)]
    with pytest.raises(ToolFailed, match=r"t\.1: 1, t\.2: 2"):
        votes.vote(None, votes.Vote(ballots=[1, 2], voters=voters))  # type: ignore[arg-type]


def test_ballots_of_several_lines_stand_in_one() -> None:
    voters = [votes.Vote.Voter(device=name, task="t") for name in ("nas", "vps")]
    with pytest.raises(ToolFailed, match=r"nas: a b, vps: c"):
        votes.vote(None, votes.Vote(ballots=["a\nb\n", "c\n"], voters=voters))  # type: ignore[arg-type]


def test_a_detail_shows_at_most_so_many_ballots() -> None:
    with pytest.raises(ToolFailed, match="and 175 more"):
        votes.vote(None, votes.Vote(ballots=list(range(200))))  # type: ignore[arg-type]


@given(st.lists(VALUES, max_size=8), st.integers(1, 4) | st.none(), st.randoms(use_true_random=False))
def test_the_order_of_equal_or_unlike_ballots_is_no_matter(ballots: list[Any], lead: int | None, draw: Any) -> None:
    other = list(ballots)
    draw.shuffle(other)
    assert counted(other, ahead_by=lead) == counted(ballots, ahead_by=lead)


@given(st.lists(NUMBERS, max_size=8), st.sampled_from([0, 0.5, 1, 3]), st.randoms(use_true_random=False))
def test_the_order_of_near_numbers_is_no_matter(ballots: list[Any], tolerance: float, draw: Any) -> None:
    other = list(ballots)
    draw.shuffle(other)
    assert counted(other, tolerance=tolerance) == counted(ballots, tolerance=tolerance)


@given(st.lists(VALUES, min_size=1, max_size=8), st.integers(1, 3) | st.none())
def test_a_winner_has_more_than_any_other_value(ballots: list[Any], lead: int | None) -> None:
    found = counted(ballots, ahead_by=lead)
    counts: dict[str, int] = {}
    for ballot in ballots:
        counts[canonical(ballot)] = counts.get(canonical(ballot), 0) + 1
    ordered = sorted(counts.values(), reverse=True)
    ahead = ordered[0] - (ordered[1] if len(ordered) > 1 else 0)
    due = ordered[0] * 2 > len(ballots) if lead is None else ahead >= lead
    assert (found is not Code.NO_WINNER) is due
    if isinstance(found, dict):
        assert counts[canonical(found["winner"])] == found["count"] == ordered[0]
        assert len(found["dissent"]) == len(ballots) - found["count"]


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=8), st.integers(0, 3))
def test_numbers_that_agree_lie_within_the_tolerance(ballots: list[int], tolerance: int) -> None:
    found = counted(ballots, tolerance=tolerance)
    if isinstance(found, dict):
        agreed = [cast["value"] for cast in found["ballots"]]
        for cast in found["dissent"]:
            agreed.remove(cast["value"])
        assert max(agreed) - min(agreed) <= tolerance
        assert found["winner"] in agreed
        assert len(agreed) * 2 > len(ballots)
    else:
        within = [sum(0 <= other - least <= tolerance for other in ballots) for least in ballots]
        tied = len({tuple(sorted(o for o in ballots if 0 <= o - least <= tolerance)) for least in ballots}) > 1
        assert max(within) * 2 <= len(ballots) or tied


def test_a_chosen_ballot_wins_and_the_rest_are_counted(device: Device) -> None:
    found = device.call(
        "data.vote",
        ballots=[{"sha": "x"}, {"sha": "y"}, {"sha": "x"}, {}],
        voters=[{"task": f"t.{number}", "device": "nas"} for number in range(1, 5)],
        on="/sha",
        of=5,
        chosen="t.2",
    )
    assert (found["winner"], found["result"]) == ("y", {"sha": "y"})
    assert (found["count"], found["of"], found["unanimous"]) == (1, 5, False)
    assert sorted(cast["task"] for cast in found["dissent"]) == ["t.1", "t.3", "t.4"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"chosen": "t.9"}, Code.NO_WINNER),
        ({"chosen": ""}, Code.NO_WINNER),
        ({"chosen": "t.1", "ahead_by": 1}, Code.BAD_ARGUMENTS),
        ({"chosen": "t.1", "tolerance": 1}, Code.BAD_ARGUMENTS),
    ],
)
def test_a_choice_of_no_ballot_has_no_winner(args: dict[str, Any], code: Code) -> None:
    voters = [votes.Vote.Voter(task="t.1"), votes.Vote.Voter(task="t.2")]
    assert counted([1, 2], voters=voters, **args) is code
