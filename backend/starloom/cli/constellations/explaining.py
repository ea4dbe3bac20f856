"""The answer of `why` as commands use it: its rows, their lines to type, and a constellation with both beside it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from starloom_protocol.text.presentation import presentation
from starloom_protocol.vocabulary import Reason, TaskState

if TYPE_CHECKING:
    from starloom.client.answers import SnapshotJson, TaskRowJson
    from starloom_protocol.api.constellations import WhyAll, WhyRow

_ANSWERING: Final = frozenset({"answer", "approve"})
"""The actions that answer a question, whose line names it."""
_WAITS: Final = frozenset({TaskState.READY, TaskState.WAITING})


def explained(explanation: WhyAll | WhyRow) -> list[WhyRow]:
    """Return the explanations in an answer of `why`; that of one task is the answer itself."""
    if "items" in explanation:
        return explanation["items"]
    return [explanation]


def open_words(item: WhyRow) -> str:
    """Return how a person wakes the browser tabs for which an item of `why` waits: an address, and where to open it."""
    where = " or ".join(item.get("asleep") or ["the device"])
    page = item.get("open")
    return f"open {page['url']} on {where}" if page else f"open its page on {where}"


def ways_out(item: WhyRow, constellation: str) -> list[str]:
    """Return the lines to type for a row of `why`, the most useful first; an open question has its own."""
    return [_to_type(action, constellation, item) for action in item.get("actions") or [] if action not in _ANSWERING]


def _to_type(action: str, constellation: str, item: WhyRow) -> str:
    """Return the line to type for an action of `why`; one that is a line already stays."""
    task = quote(str(item.get("task")))
    confirm = "".join(f" --confirm {quote(name)}" for name in item.get("confirm") or [])
    about = f"{task} {constellation}"
    if action == "open":
        return open_words(item)
    lines = {
        "resume": f"starloom resume {constellation}",
        "reassign": f"starloom reassign {about} --device NAME",
        "cancel": f"starloom cancel {constellation}",
        "edit": f"starloom edit {constellation} --editor",
        "enroll": "starloom enroll",
        "mark": f"starloom mark {about} --state succeeded - or: starloom mark {about} --state failed",
        "release": f"starloom release {about}",
        "retry": f"starloom retry {about}{confirm}",
        "skip": f"starloom skip {about}",
    }
    return lines.get(action, action)


def explained_snapshot(snapshot: SnapshotJson, explanation: WhyAll | WhyRow) -> dict[str, Any]:
    """Return a constellation whose tasks have the reasons that `why` gives, with its sentences and lines to type.

    No event has the reason for which a ready task is held: the hub joins it from its fleet.
    """
    rows = {item["task"]: item for item in explained(explanation)}
    tasks = [_with_reason(task, rows.get(task["id"])) for task in snapshot["tasks"]]
    waiting = [_waiting(task, rows.get(task["id"]), snapshot["id"]) for task in tasks if task["state"] in _WAITS]
    return {**snapshot, "tasks": tasks, "waiting": [row for row in waiting if row["reason"] or row["sentence"]]}


def _waiting(task: TaskRowJson, item: WhyRow | None, constellation: str) -> dict[str, Any]:
    row = {"task": task["id"], "state": task["state"], "reason": task["reason"], "word": task["word"]}
    return {
        **row,
        "sentence": item["sentence"] if item is not None else "",
        "ways": ways_out(item, constellation) if item is not None else [],
    }


def _with_reason(task: TaskRowJson, item: WhyRow | None) -> TaskRowJson:
    """Return a ready task with the reason of its row; it is shown as the page and `starloom show` show it."""
    reason = item.get("reason") if item is not None else None
    if reason is None or task["reason"] is not None or task["state"] != TaskState.READY:
        return task
    presented = presentation(TaskState.READY, Reason(reason), attempt=task["attempt"], checked=task["checked"])
    return {**task, "reason": reason, "word": presented.word, "glyph": presented.glyph, "tone": presented.tone}
