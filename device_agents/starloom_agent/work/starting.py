"""The preparation of an agent's home before it runs: the lock, the policy, the key and a sound ledger.

On a full disk the agent waits for room and says so, because there may be nobody to start it again. An agent that
replaces another one waits for the other's end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from starloom_agent.home.directory import AgentHome
from starloom_agent.home.identity import load_or_make
from starloom_agent.home.locking import AlreadyRunning, hold_home
from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.file import adopt_policy
from starloom_agent.work.device_conditions import full_words, has_no_room
from starloom_agent.work.ledger import Ledger, LedgerFull

LOOK_EVERY_S: Final = 1.0
"""A person who has made room waits."""
TRY_EVERY_S: Final = 0.05
"""A person who upgrades waits for the agent before to let go of its home."""
SAY_EVERY_S: Final = 600.0
"""A full disk may stay so for days, and the log lies on it."""


@contextmanager
def begun_with_room(home: AgentHome, say: Callable[[str], None], *, takeover_s: float = 0.0) -> Iterator[Ledger]:
    """Hold the home and yield its ledger while the block runs; wait as long as the disk is full.

    Raises:
        AlreadyRunning: if another process holds the home, for longer than `takeover_s`.
        LedgerFault: if the ledger is corrupt or cannot be used for another reason than room.
    """
    waited_s = held_s = 0.0
    while True:
        with ExitStack() as resources:
            try:
                ledger = _begin(home, resources, say)
            except AlreadyRunning:
                if held_s >= takeover_s:
                    raise
                held_s += TRY_EVERY_S
                time.sleep(TRY_EVERY_S)
                continue
            except (OSError, LedgerFull) as error:
                if not isinstance(error, LedgerFull) and not has_no_room(error):
                    raise
                if waited_s % SAY_EVERY_S == 0:
                    say(f"{full_words(home.root)}. This agent waits until there is room; it cannot connect before")
            else:
                if waited_s:
                    say("there is room again")
                yield ledger
                return
        time.sleep(LOOK_EVERY_S)
        waited_s += LOOK_EVERY_S


def _begin(home: AgentHome, resources: ExitStack, say: Callable[[str], None]) -> Ledger:
    home.make()
    resources.enter_context(hold_home(home))
    try:
        adopt_policy(home.policy)
    except PolicyFault as fault:
        # The agent still runs, with the allowance of a faulty policy.
        say(str(fault))
    load_or_make(home.key)
    ledger = Ledger(home.ledger)
    resources.callback(ledger.close)
    ledger.check()
    if ledger.is_copy:
        say(
            f"the ledger {home.ledger} came from another place or machine: work that may not be repeated and was under"
            " way is left in doubt. Only one of the two may stay: for another device, join with a home of its own"
        )
    return ledger
