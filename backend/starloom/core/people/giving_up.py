"""Giving up: a review ends a constellation whose aim no edit can reach, with its reason.

A model may stop what a model planned, and nothing that a person wrote or changed: there its reason is told to the
person, who may cancel. It only ever makes an outcome worse: the constellation has failed, or is done in part.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from starloom.core.people.controls import stop_all
from starloom.core.plan import review
from starloom.core.state.inputs import ReviewProposed
from starloom.core.state.model import Constellation
from starloom.core.state.work import Work, attend
from starloom_protocol.authors import MODEL
from starloom_protocol.entities import Job
from starloom_protocol.events import EventKind
from starloom_protocol.vocabulary import Attention, ConstellationState

BECAUSE_CHARS_MOST: Final = 500
_RULE: Final = "rule:"
_OWN: Final = frozenset({MODEL, "engine"})


def give_up(work: Work, constellation: Constellation, job: Job, item: ReviewProposed) -> None:
    """End the constellation with the reviewer's reason, or tell it to the person whose plan it is.

    What runs and may not be repeated runs to its end; everything else stops as after a cancel.
    """
    because = item.reason[:BECAUSE_CHARS_MOST].strip() or "it gave no reason"
    if not _is_its_own(constellation):
        attend(work, constellation, Attention.REVIEW_WISHES, note=f"it would give up: {because}")
        review.close(work, constellation, job, f"it would give up: {because}")
        work.answer({"accepted": False})
        return
    head = replace(constellation.head, state=ConstellationState.CANCELLING, cancelled_by=MODEL, given_up=because)
    review.close(work, constellation, job, f"given up: {because}")
    work.emit(constellation, EventKind.CANCELLING, "", [("head", "", head)], note=f"given up: {because}", by=MODEL)
    stop_all(work, constellation, "the plan was given up", cut=False)
    work.answer({"accepted": True})


def _is_its_own(constellation: Constellation) -> bool:
    """Tell whether a model wrote the plan and nobody else changed it; rules are a part of the plan."""
    authors = (version.author for version in constellation.versions.values())
    return constellation.versions["1"].author == MODEL and all(
        author in _OWN or author.startswith(_RULE) for author in authors
    )
