"""Drafts: while a person has one open, nobody else edits the tasks that it names; the person does, wherever it is.

A draft is renewed by the page that shows it, and expires: an expired one blocks nothing. Its author's edit closes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from starloom.core.rights.authorship import check_control
from starloom.core.state.inputs import DraftClosed, DraftOpened
from starloom.core.state.model import Constellation
from starloom.core.state.work import Refusal, Work, fault, named_constellation
from starloom_protocol.records.entities import Draft, Fault
from starloom_protocol.stream.authors import ENGINE, name_of, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code

DRAFT_MOST_S = 120
"""A page that was closed reserves its tasks no longer than this."""
DRAFTS_MOST = 100
"""One a person; each edit looks at all of them."""


def on_opened(work: Work, item: DraftOpened) -> None:
    """Open or renew a person's draft; the newest one of each person counts."""
    constellation = _live(work, item.constellation)
    # It would keep those who may edit from it.
    check_control(work.shard.fleet, constellation, "draft", author=work.by, approves=item.approves)
    unknown = [task for task in item.tasks if task not in constellation.specs]
    if unknown:
        raise Refusal(*(fault(Code.UNKNOWN_TASK, f"there is no task {task}", "tasks") for task in unknown))
    if not 1 <= item.ttl_s <= DRAFT_MOST_S:
        raise Refusal(fault(Code.BAD_REQUEST, f"a draft lasts 1 to {DRAFT_MOST_S} s and is renewed", "ttl_s"))
    for name, other in list(constellation.drafts.items()):
        if other.expires_ms <= work.at_ms and name != work.by:
            work.emit(constellation, EventKind.DRAFT_CLOSED, name, [("draft", name, None)], by=ENGINE)
    if work.by not in constellation.drafts and len(constellation.drafts) >= DRAFTS_MOST:
        raise Refusal(fault(Code.CONFLICT, f"{DRAFTS_MOST} people edit this already"))
    before = constellation.drafts.get(work.by)
    draft = Draft(
        by=work.by,
        expires_ms=work.at_ms + item.ttl_s * 1000,
        opened_ms=before.opened_ms if before is not None and before.expires_ms > work.at_ms else work.at_ms,
        tasks=sorted(dict.fromkeys(item.tasks)),
    )
    work.emit(constellation, EventKind.DRAFT_OPENED, work.by, [("draft", work.by, draft)])
    work.answer({"expires_ms": draft.expires_ms, "tasks": draft.tasks})


def on_closed(work: Work, item: DraftClosed) -> None:
    """Close a draft that a person has applied or left; idempotent."""
    constellation = named_constellation(work, item.constellation)
    close(work, constellation, work.by)
    work.answer({"closed": True})


def close(work: Work, constellation: Constellation, by: str) -> None:
    """Close the draft of one person, if there is one."""
    if by in constellation.drafts:
        work.emit(constellation, EventKind.DRAFT_CLOSED, by, [("draft", by, None)])


def judge_rights(work: Work) -> None:
    """Close the drafts of those whose right to run work was taken: nobody else could edit these tasks meanwhile."""
    shard = work.shard
    for name in shard.live:
        constellation = shard.constellations[name]
        for by in [by for by in constellation.drafts if shard.access.right_was_taken_from(by)]:
            work.emit(constellation, EventKind.DRAFT_CLOSED, by, [("draft", by, None)], by=ENGINE)


def _live(work: Work, name: str) -> Constellation:
    constellation = named_constellation(work, name)
    if name not in work.shard.live:
        state = constellation.head.state
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"the constellation is {state}: there is nothing to edit"))
    return constellation


def held_back(constellation: Constellation, author: str, tasks: Iterable[str], now_ms: int) -> list[Fault]:
    """Return a fault for each of the tasks that someone else is editing; a group includes its tasks."""
    people_by_task: dict[str, str] = {}
    for draft in constellation.drafts.values():
        if who(draft.by) != who(author) and draft.expires_ms > now_ms:
            for task in draft.tasks:
                people_by_task.setdefault(task, draft.by)
    if not people_by_task:
        return []
    faults = []
    for task in dict.fromkeys(tasks):
        spec = constellation.specs.get(task)
        by = people_by_task.get(task) or (people_by_task.get(spec.group) if spec is not None and spec.group else None)
        if by is not None:
            faults.append(fault(Code.PERSON_EDITING, f"{task} is being edited by {name_of(by)}", task))
    return faults
