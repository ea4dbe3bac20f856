"""Recovery after a start: ends processes that an earlier agent left, and finds the end of each of its attempts.

Reports nothing; the caller does, once for each returned attempt.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from starloom_agent.platforms import processes
from starloom_agent.toolkit.messages import Ended
from starloom_agent.work.ledger import Ledger
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import LeaseRef


def end_leftovers(ledger: Ledger, boot: str, *, say: Callable[[str], None]) -> list[tuple[LeaseRef, Ended]]:
    """End the process groups that the ledger names, and return the end of every attempt that it lists as unfinished.

    Groups of another boot are gone with it; their numbers mean other processes now.
    """
    unfinished = ledger.unfinished()
    groups = [
        (item.group, item.group_mark) for item in unfinished if item.group and item.group_mark and item.boot == boot
    ]
    left = processes.end_groups(groups)
    if left:
        say(f"groups {left} did not end within 5 s; their attempts are reported nevertheless")
    ends = []
    for item in unfinished:
        begun = item.state == "started"
        ended = Ended(
            outcome=Outcome.INTERRUPTED if begun else Outcome.NEVER_STARTED,
            code=Code.INTERRUPTED,
            detail="the agent was ended in the middle of it" if begun else "the agent was ended before it began",
            effect=EffectSeen(item.effect) if begun else EffectSeen.NONE,
        )
        ends.append((item.at, ended))
    return ends


def empty(work: Path) -> None:
    """Remove the directories of attempts that are over."""
    for folder in work.iterdir():
        shutil.rmtree(folder, ignore_errors=True)
