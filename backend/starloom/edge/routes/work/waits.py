"""The sentence that says for whom, for which devices and until when a constellation waits.

Reads the explanations of its tasks and finds no cause of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.roles import called
from starloom_protocol.api.constellations import WhyRow
from starloom_protocol.records.entities import TaskRecord
from starloom_protocol.text.wording import few, listed, utc_words
from starloom_protocol.vocabulary import Reason

NAMED_MOST: Final = 3
_PLAIN: Final = {
    Reason.APPROVAL: "for an approval",
    Reason.BUSY: "for a free slot",
    Reason.HELD: "for its release by a person",
    Reason.JUDGE: "for its judge",
    Reason.MISSING_SECRET: "for a secret that is not set",
    Reason.NO_CAPABLE_DEVICE: "for a device that can do it",
    Reason.REVIEW: "for a review by the model",
}
_OF_DEVICES: Final = {
    Reason.DEVICE_ASIDE: "for {}, which takes no work now",
    Reason.DEVICE_AWAY: "for {}, which is away",
    Reason.MISSING_GRANT: "for a grant on {}",
}
_OF_ITS_DEVICE: Final = {
    Reason.ABSENT: "for {}, which does not answer",
    Reason.OWNER_ASKED: "for the owner of {}",
    Reason.TAP: "for a tap on {}",
}


def waits_sentence(constellation: Constellation, fleet: Fleet, items: Sequence[WhyRow]) -> str:
    """Return the sentence about the explained tasks; tasks that wait for the same are named together."""
    groups: dict[str, list[str]] = {}
    for name, whom in _waiting(constellation, fleet, items):
        groups.setdefault(whom, []).append(name)
    if not groups:
        return ""
    parts = [f"{whom} ({few(names, NAMED_MOST)})" for whom, names in groups.items()]
    more = len(parts) - NAMED_MOST
    printed = [*parts[:NAMED_MOST], *([f"for {more} other things"] if more > 1 else parts[NAMED_MOST:])]
    return f"It waits {'; '.join(printed)}."


def _waiting(constellation: Constellation, fleet: Fleet, items: Sequence[WhyRow]) -> Iterator[tuple[str, str]]:
    for item in items:
        task = item["task"]
        record = constellation.tasks.get(task) if task is not None else None
        if task is None or record is None:
            continue
        reason = Reason.ABSENT if record.absent_since_ms else item.get("reason")
        if whom := _whom(constellation, fleet, item, reason, record):
            yield called(constellation, fleet, task), whom


def _whom(constellation: Constellation, fleet: Fleet, item: WhyRow, reason: Reason | None, record: TaskRecord) -> str:
    """Return for whom, for what or until when a task waits; empty where another task or the whole holds it back."""
    spec = constellation.specs[item["task"] or ""]
    if reason is Reason.PERSON:
        return f"for the answer of {listed(spec.ask) or 'a person'}"
    if reason in (Reason.MOMENT, Reason.BACKOFF) and record.not_before_ms:
        return f"until {utc_words(record.not_before_ms)}"
    if reason in _OF_DEVICES:
        names = [candidate["name"] for candidate in item["candidates"] if candidate["code"] is reason]
        return _OF_DEVICES[reason].format(few(names, NAMED_MOST) or "a device")
    if reason in _OF_ITS_DEVICE:
        return _OF_ITS_DEVICE[reason].format(fleet.name_of(record.device) or "a device")
    return _PLAIN.get(reason, "") if reason is not None else ""
