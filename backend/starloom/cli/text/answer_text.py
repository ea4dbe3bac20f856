"""The answer as `/result` gives it, as text."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType

from starloom.cli.text.constellation_text import answer_text
from starloom_protocol.entities import Answer, AnswerItem, Cite
from starloom_protocol.values import canonical


def answer_lines(answer: dict[str, Any], devices: dict[str, str]) -> RenderableType:
    """Return the words, the sentence and the items of a `/result` document."""
    told = Answer(
        cites=[Cite(task=cite["task"], pointer=cite["pointer"]) for cite in answer.get("cites") or []],
        items=[_item(item) for item in answer.get("items") or []],
        sentence=answer.get("sentence", ""),
        state=answer["state"],
        struck=list(answer.get("struck") or []),
        words=answer.get("words", ""),
    )
    return answer_text(told, devices)


def _item(item: dict[str, Any]) -> AnswerItem:
    origin = item.get("from") or {}
    value = item.get("value")
    return AnswerItem(
        artifact=item.get("artifact"),
        attempt=int(origin.get("attempt") or 0),
        bytes=int(item.get("bytes") or 0),
        checked=bool(item.get("checked")),
        device=origin.get("device"),
        media=item.get("media"),
        pointer=str(item.get("pointer") or ""),
        show=str(item.get("show") or "value"),
        task=str(origin.get("task") or ""),
        title=str(item["title"]),
        value=None if "value" not in item else canonical(value),
    )
