"""Standing allowances: calls that a person allows for good by the answer `always`, and takes back.

One is a tool with one set of arguments on the devices of that day; `need` tells which calls it covers.
"""

from __future__ import annotations

from hashlib import sha256

from starloom.core.people.approvals.need import action_of
from starloom.core.state.inputs import StandingRevoked
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.approvals import Standing
from starloom_protocol.records.entities import Question
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code


def allow_for_good(work: Work, constellation: Constellation, question: Question) -> None:
    """Make a standing allowance of each call of the question.

    Raises:
        Refusal: there would be too many of them.
    """
    fleet = work.shard.fleet
    puts: list[Put] = []
    for call in question.calls:
        action = action_of(call.tool, call.args)
        standing = Standing(
            action=action,
            args=call.args,
            at_ms=work.at_ms,
            by=work.by,
            constellation=constellation.name,
            devices=call.devices,
            effects=call.effects,
            id="s-" + sha256(f"{action} {' '.join(call.devices)}".encode()).hexdigest()[:12],
            tool=call.tool,
        )
        puts.append(("standing", standing.id, standing))
    most = work.shard.settings.standing_most
    if len({*fleet.standing, *(key for _, key, _ in puts)}) > most:
        reason = f"{most} calls are allowed for good already, which is the most"
        hint = "Answer allow, which is for this time, or take some back in Settings."
        raise Refusal(fault(Code.CONFLICT, reason, "value", hint))
    work.emit(fleet, EventKind.STANDING_ALLOWED, constellation.name, puts)


def on_standing_revoked(work: Work, item: StandingRevoked) -> None:
    """Revoke a standing allowance: from the next plan on, its call needs approval again."""
    standing = work.shard.fleet.standing.get(item.standing)
    if standing is None:
        raise Refusal(fault(Code.NOT_FOUND, f"nothing that is called {item.standing} is allowed for good"))
    puts: list[Put] = [("standing", standing.id, None)]
    work.emit(work.shard.fleet, EventKind.STANDING_REVOKED, standing.id, puts, note=item.reason)
    work.answer({"id": standing.id})
