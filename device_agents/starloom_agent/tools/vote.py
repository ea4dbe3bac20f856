"""`data.vote`: which result most of several like calls agree on.

Pure, as the other `data` tools: the same ballots give the same answer, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_protocol.text.wording import value_words
from starloom_protocol.values import MISSING, canonical, point
from starloom_protocol.vocabulary import Code, Repeatability

BALLOTS_MOST = 1000
_SHOWN_MOST = 25


class Vote(Args, frozen=True, kw_only=True):
    """Return the value at `on` (a JSON pointer) that most of the `ballots` have, or fail with `no_winner`.

    A winner has more than half of `of` votes (absent: of all ballots), or with `ahead_by` that many more than the
    next. Without `tolerance` values must be equal; with it they are numbers, and all that agree lie within it. A
    ballot without such a value agrees with none. `voters` has the task and device of each ballot, in the same order.
    With `chosen`, the ballot of that task wins, as a judge or a person decided; the others are only counted.
    """

    class Voter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        device: str = ""
        task: str = ""

    ballots: Annotated[list[Any], msgspec.Meta(max_length=BALLOTS_MOST)]
    voters: list[Voter] | None = None
    on: str = ""
    of: Annotated[int, msgspec.Meta(ge=1, le=BALLOTS_MOST)] | None = None
    ahead_by: Annotated[int, msgspec.Meta(ge=1, le=BALLOTS_MOST)] | None = None
    tolerance: Annotated[float, msgspec.Meta(ge=0)] | None = None
    chosen: str | None = None


class Cast(TypedDict):
    """`value` is null where the ballot has none."""

    device: str
    task: str
    value: Any


class Winner(TypedDict):
    """`winner` is the value, `result` the whole ballot that has it; `count` of `of` agree, `dissent` do not."""

    ballots: list[Cast]
    count: int
    dissent: list[Cast]
    of: int
    result: Any
    unanimous: bool
    winner: Any


@dataclass(frozen=True, slots=True)
class _Ballot:
    cast: Cast
    whole: Any
    key: str | Fraction | None


def _key(value: Any, *, numbers: bool) -> str | Fraction | None:
    """Return the part of a value that is compared; None if the ballot agrees with no other."""
    if value is MISSING:
        return None
    if not numbers:
        return canonical(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # By their decimal form, so that 0.3 and 0.4 lie within 0.1.
    return Fraction(str(value))


def _read(args: Vote) -> list[_Ballot]:
    voters = args.voters if args.voters is not None else [Vote.Voter()] * len(args.ballots)
    if len(voters) != len(args.ballots):
        raise ToolFailed(Code.BAD_ARGUMENTS, f"there are {len(args.ballots)} ballots and {len(voters)} voters")
    ballots = []
    for whole, voter in zip(args.ballots, voters, strict=True):
        value = point(whole, args.on)
        cast: Cast = {"device": voter.device, "task": voter.task, "value": None if value is MISSING else value}
        ballots.append(_Ballot(cast, whole, _key(value, numbers=args.tolerance is not None)))
    # An order that the ballots themselves give, so that the order of their arrival changes nothing.
    return sorted(ballots, key=lambda ballot: (canonical(ballot.cast), canonical(ballot.whole)))


def _camps(ballots: Sequence[_Ballot], tolerance: float | None) -> list[list[_Ballot]]:
    """Return the largest sets of ballots that agree with one another, the largest first."""
    if tolerance is None:
        equal: dict[Any, list[_Ballot]] = {}
        for ballot in ballots:
            if ballot.key is not None:
                equal.setdefault(ballot.key, []).append(ballot)
        return sorted(equal.values(), key=len, reverse=True)
    near = Fraction(str(tolerance))
    ordered = sorted(
        ((ballot.key, ballot) for ballot in ballots if isinstance(ballot.key, Fraction)), key=lambda pair: pair[0]
    )
    camps: list[list[_Ballot]] = []
    reached = end = 0
    for at, (least, _) in enumerate(ordered):
        while end < len(ordered) and ordered[end][0] - least <= near:
            end += 1
        if end > reached:
            # A set that ends where the one before ended is a part of it.
            camps.append([ballot for _, ballot in ordered[at:end]])
            reached = end
    return sorted(camps, key=len, reverse=True)


def vote(_context: ToolContext, args: Vote) -> Winner:
    ballots = _read(args)
    of = args.of if args.of is not None else len(ballots)
    if of < len(ballots):
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{len(ballots)} ballots were cast, and only {of} were asked for")
    if args.chosen is not None:
        return _by_choice(ballots, of, args)
    camps = _camps(ballots, args.tolerance)
    if not camps:
        raise _no_winner(ballots, of, "no ballot has a value to compare")
    most, tied = camps[0], [camp for camp in camps[1:] if len(camp) == len(camps[0])]
    if tied:
        raise _no_winner(ballots, of, f"{len(tied) + 1} values have {len(most)} each")
    agreed = {id(ballot) for ballot in most}
    next_most = max((sum(id(ballot) not in agreed for ballot in camp) for camp in camps[1:]), default=0)
    if args.ahead_by is None and len(most) * 2 <= of:
        raise _no_winner(ballots, of, f"the most are {len(most)}, and more than half of {of} are needed")
    if args.ahead_by is not None and len(most) - next_most < args.ahead_by:
        lead = f"the most are {len(most)} and the next {next_most}"
        raise _no_winner(ballots, of, f"{lead}, and a lead of {args.ahead_by} is needed")
    # Of numbers that agree the middle one wins: it was cast, and no other is further from the rest.
    return _won(ballots, of, most[(len(most) - 1) // 2], most)


def _by_choice(ballots: Sequence[_Ballot], of: int, args: Vote) -> Winner:
    if args.tolerance is not None or args.ahead_by is not None:
        raise ToolFailed(Code.BAD_ARGUMENTS, "`chosen` goes with neither `tolerance` nor `ahead_by`")
    picked = [ballot for ballot in ballots if ballot.cast["task"] == args.chosen]
    if len(picked) != 1:
        raise _no_winner(ballots, of, f"{args.chosen or 'nothing'} was chosen, and {len(picked)} ballots are its own")
    (winner,) = picked
    alike = [ballot for ballot in ballots if ballot is winner or (ballot.key is not None and ballot.key == winner.key)]
    return _won(ballots, of, winner, alike)


def _won(ballots: Sequence[_Ballot], of: int, winner: _Ballot, alike: Sequence[_Ballot]) -> Winner:
    agreed = {id(ballot) for ballot in alike}
    return {
        "winner": winner.cast["value"],
        "result": winner.whole,
        "count": len(alike),
        "of": of,
        "unanimous": len(alike) == of,
        "ballots": [ballot.cast for ballot in ballots],
        "dissent": [ballot.cast for ballot in ballots if id(ballot) not in agreed],
    }


def _no_winner(ballots: Sequence[_Ballot], of: int, because: str) -> ToolFailed:
    devices = [ballot.cast["device"] for ballot in ballots]
    # The device says more than the name of the call, where no other ballot comes from it.
    apart = len(set(devices)) == len(devices)
    words = [_words(ballot, apart=apart) for ballot in ballots[:_SHOWN_MOST]]
    more = [f"and {len(ballots) - _SHOWN_MOST} more"] if len(ballots) > _SHOWN_MOST else []
    cast = f"{len(ballots)} of {of} ballots: {', '.join([*words, *more])}" if ballots else f"none of {of} ballots came"
    return ToolFailed(Code.NO_WINNER, f"{because} ({cast})")


def _words(ballot: _Ballot, *, apart: bool) -> str:
    who = (ballot.cast["device"] if apart else "") or ballot.cast["task"]
    # One line for all ballots: the first line of a reason stands in the answer.
    value = "no value" if ballot.key is None else " ".join(value_words(ballot.cast["value"]).split())
    return f"{who}: {value}" if who else value


TOOLS = (
    Tool(
        name="data.vote",
        title="Let like results vote",
        args=Vote,
        run=vote,
        effects=(),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
    ),
)
