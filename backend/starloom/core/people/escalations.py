"""Escalations: proposals of a reviewer that need a person, and the end of a plan that a reviewer gives up.

An edit that goes beyond the approved plan is put to a person, who allows or denies it. The question is bound to the
edit, its version and the ways in which it is wider; these are computed again when it is answered. Events, questions and
texts call such an edit a wish of the reviewer. Only a person's answer applies the edit, in that person's name. No
answer in time is a denial. Tasks held by the review stay held until then, because an edit must come before they begin.

A reviewer may end a plan of a model, but no plan that a person wrote or changed: its reason then goes to the person,
who may cancel. Giving up makes no outcome better: the constellation has failed, or is done in part.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from starloom.core.people.approvals.questions import due_moment
from starloom.core.people.controls import cancel_tasks
from starloom.core.plan import review
from starloom.core.plan.edits import apply_edit
from starloom.core.rights.authorship import check_edit
from starloom.core.rights.consent import ALLOW, DENY
from starloom.core.rights.edit_scope import needs_a_person, wider_than_approved
from starloom.core.state.inputs import QuestionAnswered, ReviewProposed, TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Refusal, Work, answer_put, attend, fault, unattend
from starloom_protocol.records.edits import EditOperation, SetPolicy
from starloom_protocol.records.entities import Job, Question
from starloom_protocol.stream.authors import ENGINE, MODEL, RULE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Attention, Code, ConstellationState

KIND: Final = "review"
WAIT_MS: Final = 3_600_000
"""An hour: what the reviewer saw is old by then."""
WIDER_MOST: Final = 50
"""A person reads each of them."""
OPERATIONS_BYTES_MOST: Final = 64 * 1024
"""The edit is kept in the question until it is answered."""
BECAUSE_CHARS_MOST: Final = 500
"""The reason of a model is shown in one paragraph."""
_NAME: Final = "wish-"
_OWN: Final = frozenset({MODEL, ENGINE})
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(list[EditOperation]).decode


def open_wishes(constellation: Constellation) -> list[Question]:
    """Return the open escalations of a constellation."""
    return [question for key in constellation.open_questions if (question := constellation.questions[key]).kind == KIND]


def on_proposed(work: Work, item: ReviewProposed) -> None:
    """Apply a reviewer's edit, or give up for it.

    An edit that is wider than the approved plan is put to a person if it says `ask`.

    Raises:
        Refusal: with every fault of the edit.
    """
    constellation = work.shard.constellations.get(item.constellation)
    job = constellation.jobs.get(item.job) if constellation else None
    asks = item.ask and item.operations and not any(isinstance(part, SetPolicy) for part in item.operations)
    if item.give_up and constellation and job and review.may_propose(work, constellation, job, item):
        give_up(work, constellation, job, item)
        return
    if constellation is None or job is None or not asks or not review.may_propose(work, constellation, job, item):
        review.on_proposed(work, item)
        return
    part = work.part()
    wider = _apply(work, constellation, item.operations, item.base_version, author=MODEL, reason="", trigger="")
    work.undo_part(part)
    if not wider:
        review.on_proposed(work, item)
        return
    _ask(work, constellation, job, item, wider)
    work.answer({"accepted": False})


def _apply(
    work: Work,
    constellation: Constellation,
    operations: list[EditOperation],
    base_version: int,
    *,
    author: str,
    reason: str,
    trigger: str,
) -> list[str]:
    before, flows = dict(constellation.specs), dict(constellation.deps)
    apply_edit(
        work,
        constellation,
        operations,
        author=author,
        base_version=base_version,
        reason=reason or "the plan was reviewed",
        trigger=trigger,
        proposed=True,
    )
    fleet = work.shard.fleet
    check_edit(fleet, constellation, before, flows, operations, author=author, approves=True)
    binds = bool(work.shard.settings.binds_approvals)
    wider = wider_than_approved(fleet, constellation, before, flows, binds=binds)
    return wider + needs_a_person(fleet, constellation, before, operations)


def _ask(work: Work, constellation: Constellation, job: Job, item: ReviewProposed, wider: list[str]) -> None:
    operations = _encode(item.operations).decode()
    if len(operations) > OPERATIONS_BYTES_MOST or len(wider) > WIDER_MOST:
        reason = f"a wish has at most {OPERATIONS_BYTES_MOST} bytes and is wider in at most {WIDER_MOST} ways"
        raise Refusal(fault(Code.NEEDS_APPROVAL, reason, "operations"))
    question = Question(
        action=_hash(item.base_version, operations, wider),
        expires_ms=work.at_ms + min(WAIT_MS, work.shard.settings.approval_ms),
        id=_NAME + job.id,
        kind=KIND,
        opened_ms=work.at_ms,
        operations=operations,
        reason=item.reason,
        text=f"The model would change {constellation.head.name} beyond what was approved: {item.reason or 'a review'}",
        version=item.base_version,
        wider=wider,
    )
    puts: list[Put] = [("job", job.id, replace(job, state="done")), ("question", question.id, question)]
    work.emit(constellation, EventKind.REVIEW_WISH_ASKED, question.id, puts, by=ENGINE)
    attend(work, constellation, Attention.REVIEW_WISHES, note="; ".join(wider))
    attend(work, constellation, Attention.QUESTION_OPEN)
    work.order(due_moment(constellation, question))


def _hash(version: int, operations: str, wider: list[str]) -> str:
    return sha256(canonical({"operations": operations, "version": version, "wider": wider}).encode()).hexdigest()


def decide(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    """Carry out a person's answer: the edit is applied in their name, or nothing changes.

    Raises:
        Refusal: the answer is unknown; the plan, or the edit's effect on it, has changed since.
    """
    if item.value not in (ALLOW, DENY):
        raise Refusal(fault(Code.BAD_REQUEST, f"a wish is answered {ALLOW} or {DENY}, not {item.value}", "value"))
    _answered(work, constellation, question, item.value, item.reason, by=work.by)
    if item.value == ALLOW:
        wider = _apply(
            work,
            constellation,
            _decode(question.operations),
            question.version,
            author=work.by,
            reason=f"{question.reason or 'the plan was reviewed'}; allowed by a person",
            trigger=question.id,
        )
        if _hash(question.version, question.operations, wider) != question.action:
            wider_words = "; ".join(wider) or "nothing wider"
            hint = "Answer no, and change the plan yourself."
            raise Refusal(fault(Code.EDIT_CONFLICT, f"it would do something else by now: {wider_words}", "value", hint))
    _close(work, constellation, question, "allowed" if item.value == ALLOW else "denied")


def _answered(
    work: Work, constellation: Constellation, question: Question, value: str, reason: str, *, by: str
) -> None:
    put = answer_put(work, question, value, by=by)
    work.emit(constellation, EventKind.REVIEW_WISH_ANSWERED, question.id, [put], note=reason, by=by)


def _close(work: Work, constellation: Constellation, question: Question, note: str) -> None:
    if not open_wishes(constellation):
        unattend(work, constellation, Attention.REVIEW_WISHES)
    review.close(work, constellation, constellation.jobs[question.id.removeprefix(_NAME)], note)


def is_wish(constellation: Constellation | None, question: str) -> bool:
    """Tell whether a question, open or not, is an escalation."""
    record = constellation.questions.get(question) if constellation is not None else None
    return record is not None and record.kind == KIND


def on_timer(work: Work, item: TimerFired) -> None:
    """Deny an escalation that was not answered in its time."""
    constellation = work.shard.constellations[item.constellation]
    question = constellation.questions[item.entity]
    if question.answer is not None or work.at_ms < question.expires_ms:
        work.ignore("the timer is stale")
        return
    _answered(work, constellation, question, DENY, "nobody answered in time, which is a no", by=ENGINE)
    _close(work, constellation, question, "nobody answered")
    if not constellation.open_questions:
        unattend(work, constellation, Attention.QUESTION_OPEN)


def give_up(work: Work, constellation: Constellation, job: Job, item: ReviewProposed) -> None:
    """End the constellation with the reviewer's reason, or tell it to the person whose plan it is.

    Running work that may not be repeated runs to its end; everything else stops as after a cancel.
    """
    because = item.reason[:BECAUSE_CHARS_MOST].strip() or "it gave no reason"
    if not _is_by_the_model(constellation):
        attend(work, constellation, Attention.REVIEW_WISHES, note=f"it would give up: {because}")
        review.close(work, constellation, job, f"it would give up: {because}")
        work.answer({"accepted": False})
        return
    head = replace(constellation.head, state=ConstellationState.CANCELLING, cancelled_by=MODEL, given_up=because)
    review.close(work, constellation, job, f"given up: {because}")
    work.emit(constellation, EventKind.CANCELLING, "", [("head", "", head)], note=f"given up: {because}", by=MODEL)
    cancel_tasks(work, constellation, "the plan was given up", cut=False)
    work.answer({"accepted": True})


def _is_by_the_model(constellation: Constellation) -> bool:
    """Tell whether a model wrote the plan and nobody else changed it; rules are a part of the plan."""
    authors = (version.author for version in constellation.versions.values())
    return constellation.versions["1"].author == MODEL and all(
        author in _OWN or author.startswith(RULE) for author in authors
    )
