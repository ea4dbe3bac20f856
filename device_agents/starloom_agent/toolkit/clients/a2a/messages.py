"""The events of a task of A2A as a tool reads them: state, words, artifacts. Pure; each part is bounded and is data."""

from __future__ import annotations

from typing import Any, Final

import msgspec

TEXT_CHARS_MOST: Final = 256 * 1024
"""It becomes the result of a task; `complete` says whether more was there."""
DATA_MOST: Final = 50
_WORDS_MOST: Final = 4_000
"""Words about a state are a line of the log, or the question that a person reads."""
FINAL: Final = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})
STATES: Final = FINAL | {"SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"}


class TaskFault(Exception):
    """The agent said something that no agent of this protocol says: what, in words."""


class Followed:
    """A task as far as its events told. Events of another task are a fault."""

    def __init__(self) -> None:
        self.task = ""
        self.context = ""
        self.state = ""
        self.words = ""
        self._texts: dict[str, str] = {}
        self._data: dict[str, list[Any]] = {}
        self._status_data: list[Any] = []

    @property
    def text(self) -> str:
        """The text of all artifacts or of the message, at most `TEXT_CHARS_MOST` characters."""
        return "\n".join(self._texts.values())[:TEXT_CHARS_MOST]

    @property
    def is_complete(self) -> bool:
        return sum(map(len, self._texts.values())) <= TEXT_CHARS_MOST and len(self._all_data()) <= DATA_MOST

    @property
    def data(self) -> list[Any]:
        """The data of all artifacts or of the message; where they have none, those of the words about the state."""
        return self._all_data()[:DATA_MOST]

    def _all_data(self) -> list[Any]:
        return [one for listed in self._data.values() for one in listed] or self._status_data

    def take(self, result: Any) -> None:
        """Take the result of a call, or one event of a stream.

        Raises:
            TaskFault: it is none, or is about another task.
        """
        if not isinstance(result, dict):
            raise TaskFault("its answer has no result")
        if isinstance(result.get("message"), dict):
            self._keep("message", result["message"], append=False)
            self.state = "COMPLETED"
            return
        task = result.get("task")
        if isinstance(task, dict):
            self._same(task.get("id"), task.get("contextId"))
            for one in task.get("artifacts") or ():
                self._artifact(one, append=False)
            self._status(task.get("status"))
        elif isinstance(result.get("statusUpdate"), dict):
            update = result["statusUpdate"]
            self._same(update.get("taskId"), update.get("contextId"))
            self._status(update.get("status"))
        elif isinstance(result.get("artifactUpdate"), dict):
            update = result["artifactUpdate"]
            self._same(update.get("taskId"), update.get("contextId"))
            self._artifact(update.get("artifact"), append=update.get("append") is True)
        else:
            raise TaskFault("it sent an event that is none of A2A 1.0")

    def _same(self, task: Any, context: Any) -> None:
        if not isinstance(task, str) or not task or len(task) > 200:
            raise TaskFault("an event names no task")
        if self.task and task != self.task:
            raise TaskFault("it speaks of another task than the one that it began")
        self.task = task
        self.context = str(context or "")[:200]

    def _status(self, status: Any) -> None:
        fields = status if isinstance(status, dict) else {}
        state = str(fields.get("state", "")).removeprefix("TASK_STATE_")
        if state not in STATES:
            raise TaskFault("it told a state that is none of A2A 1.0")
        if self.state in FINAL and state != self.state:
            raise TaskFault("it went on with a task that it had ended")
        self.state = state
        self.words = _words(fields.get("message"))[:_WORDS_MOST]
        self._status_data = _data(fields.get("message"))

    def _artifact(self, artifact: Any, *, append: bool) -> None:
        fields = artifact if isinstance(artifact, dict) else {}
        identity = str(fields.get("artifactId"))[:200]
        if len(self._texts) >= DATA_MOST and identity not in self._texts:
            raise TaskFault(f"it has made more than {DATA_MOST} artifacts")
        self._keep(identity, fields, append=append)

    def _keep(self, identity: str, holder: dict[str, Any], *, append: bool) -> None:
        """Keep text and data of an artifact or a message; one more than the most, so that a cut shows."""
        text_before = self._texts.get(identity, "") if append else ""
        self._texts[identity] = (text_before + _words(holder))[: TEXT_CHARS_MOST + 1]
        before = self._data.get(identity, []) if append else []
        self._data[identity] = [*before, *_data(holder)][: DATA_MOST + 1]


def message(text: str, identity: str, followed: Followed) -> dict[str, Any]:
    """Return a message to the agent, as an answer within its task where there is one."""
    fields: dict[str, Any] = {"messageId": identity, "role": "ROLE_USER", "parts": [{"text": text}]}
    if followed.task:
        fields |= {"taskId": followed.task, "contextId": followed.context}
    return fields


def _parts(holder: Any) -> list[dict[str, Any]]:
    listed = holder.get("parts") if isinstance(holder, dict) else None
    return [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []


def _data(holder: Any) -> list[Any]:
    return [part["data"] for part in _parts(holder) if "data" in part][: DATA_MOST + 1]


def _words(holder: Any) -> str:
    lines = []
    for part in _parts(holder):
        if isinstance(part.get("text"), str):
            lines.append(part["text"])
        elif "url" in part:
            lines.append(f"(a file at {str(part['url'])[:500]}, which was not fetched)")
        elif "raw" in part:
            lines.append("(a file, which was left out)")
    return "\n".join(lines)


encode = msgspec.json.encode
