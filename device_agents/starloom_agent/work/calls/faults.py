"""Unexpected faults inside the running agent: their words, and the bounds of their cost."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from starloom_agent.toolkit.messages import Ended
from starloom_agent.wire.connection import ConnectionEnded
from starloom_agent.work.ledger import LedgerFault
from starloom_protocol.vocabulary import Code, Outcome

AFTER_FAULT_S: Final = 5.0
"""A hub sends again what could not be followed, and a lasting fault must not become a busy loop of connections."""


def said_of(error: BaseException) -> str:
    """Return an unexpected error in a line: its words, and the place it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def not_begun(detail: str) -> Ended:
    """Return the end of a call that this agent could not begin: nothing of it has happened."""
    return Ended(outcome=Outcome.NEVER_STARTED, code=Code.TOOL_UNAVAILABLE, detail=detail)


def stopped_early(tool: str, why: str) -> Ended:
    """Return the end of a call that was stopped while it could not have changed anything yet: it may run again."""
    return Ended(outcome=Outcome.NEVER_STARTED, detail=f"{tool} was ended before it began: {why}", stopped=why)


@contextmanager
def ends_connection_on_fault(what: str, take_fault: Callable[[LedgerFault], None]) -> Iterator[None]:
    """Around what a message of the hub sets off: a fault ends the connection, and neither the agent nor its calls.

    Raises:
        ConnectionEnded: both sides begin again on the next connection, which settles what is open.
    """
    try:
        yield
    except ConnectionEnded:
        raise
    except LedgerFault as fault:
        take_fault(fault)
        raise ConnectionEnded(str(fault), retry_after_s=AFTER_FAULT_S) from fault
    except Exception as error:
        reason = f"this agent could not follow {what}: {said_of(error)}"
        raise ConnectionEnded(reason, retry_after_s=AFTER_FAULT_S) from error
