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
        others = len(self.others) + self.unnamed
        count = 1 + others
        busy = [item for item in self.first["candidates"] if item["code"] == Reason.BUSY]
        if self.first.get("reason") == Reason.BUSY and busy:
            which = "the only device that can is" if len(busy) == 1 else f"all {len(busy)} devices that can are"
            return f"{count} tasks wait: {which} busy. They are {self._named([str(self.first['task']), *self.others])}."
        named = f": {self._named()}" if self.others else ""
        return f"{self.first['sentence']} So it is with {counted(others, 'more task')}{named}."

    def _named(self, names: Sequence[str] | None = None) -> str:
        names = self.others if names is None else names
        more = max(len(names) - _NAMED_MOST, 0) + self.unnamed
        return ", ".join(names[:_NAMED_MOST]) + (f" and {more} more" if more > 0 else "")


def alike(items: Iterable[WhyRow]) -> list[AlikeTasks]:
    """Return the explanations in the order of the first of each reason; tasks of one reason are one entry."""
    found: dict[object, AlikeTasks] = {}
    for item in items:
        key = _reason_of(item)
        if key in found:
            found[key].others.append(str(item["task"]))
        else:
            found[key] = AlikeTasks(item)
        found[key].unnamed += item.get("alike", 0)
    return list(found.values())


def _reason_of(item: WhyRow) -> object:
    """Return what tasks of one reason have in common: all words but their own names and the numbers in them."""
    task = item["task"]
    candidates = tuple((one["name"], one.get("code"), _plain(one["reason"], task)) for one in item["candidates"])
    actions = tuple(_plain(action, task) for action in item.get("actions") or ())
    # A warning, a confirmation and a question about a task are of that one alone.
    asked = any(question["task"] is not None for question in item.get("questions") or ())
    own = task if asked or item.get("warning") or item.get("confirm") or item.get("doubted") else None
    sentence = "" if item.get("reason") == Reason.BUSY else _plain(item["sentence"], task)
    return item["state"], item.get("reason"), sentence, candidates, actions, own


def _plain(text: str, task: str | None) -> str:
    own = rf"(?<![\w.-]){re.escape(task)}(?![\w-])" if task else r"(?!)"
    return _NUMBER.sub("#", re.sub(own, "~", text))
