"""The reasons of `starloom why`: tasks of one reason share a line, and a whole constellation has few lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starloom_protocol.text.wording import counted
from starloom_protocol.vocabulary import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starloom_protocol.api.constellations import WhyRow

LINES_MOST = 20
"""The lines that `why` prints of a whole constellation; a terminal shows about as many at once."""
_NAMED_MOST = 3
_NUMBER = re.compile(r"\d+")


@dataclass
class AlikeTasks:
    """Tasks that do not move for one reason; `first` stands for them all."""

    first: WhyRow
    others: list[str] = field(default_factory=list)
    unnamed: int = 0
    """The tasks alike that the hub has counted without a name."""

    @property
    def sentence(self) -> str:
        """Return the reason of one task, or of them all with their number."""
        if not self.others and not self.unnamed:
            return self.first["sentence"]
        count_others = len(self.others) + self.unnamed
        count = 1 + count_others
        busy = [item for item in self.first["candidates"] if item["code"] == Reason.BUSY]
        if self.first.get("reason") == Reason.BUSY and busy:
            devices = "the only device that can is" if len(busy) == 1 else f"all {len(busy)} devices that can are"
            named = self._listed([str(self.first["task"]), *self.others])
            return f"{count} tasks wait: {devices} busy. They are {named}."
        names = f": {self._listed(self.others)}" if self.others else ""
        return f"{self.first['sentence']} So it is with {counted(count_others, 'more task')}{names}."

    def _listed(self, names: Sequence[str]) -> str:
        more = max(len(names) - _NAMED_MOST, 0) + self.unnamed
        return ", ".join(names[:_NAMED_MOST]) + (f" and {more} more" if more > 0 else "")


def alike(items: Iterable[WhyRow]) -> list[AlikeTasks]:
    """Return the explanations in the order of the first of each reason; tasks of one reason are one entry."""
    groups: dict[object, AlikeTasks] = {}
    for item in items:
        key = _reason_of(item)
        if key in groups:
            groups[key].others.append(str(item["task"]))
        else:
            groups[key] = AlikeTasks(item)
        groups[key].unnamed += item.get("alike", 0)
    return list(groups.values())


def _reason_of(item: WhyRow) -> object:
    """Return what tasks of one reason have in common: all words but their own names and the numbers in them."""
    task = item["task"]
    candidates = tuple(
        (candidate["name"], candidate.get("code"), _plain(candidate["reason"], task))
        for candidate in item["candidates"]
    )
    actions = tuple(_plain(action, task) for action in item.get("actions") or ())
    # A warning, a confirmation and a question about a task are of that one alone.
    has_question = any(question["task"] is not None for question in item.get("questions") or ())
    own_task = task if has_question or item.get("warning") or item.get("confirm") or item.get("doubted") else None
    sentence = "" if item.get("reason") == Reason.BUSY else _plain(item["sentence"], task)
    return item["state"], item.get("reason"), sentence, candidates, actions, own_task


def _plain(text: str, task: str | None) -> str:
    pattern = rf"(?<![\w.-]){re.escape(task)}(?![\w-])" if task else r"(?!)"
    return _NUMBER.sub("#", re.sub(pattern, "~", text))
