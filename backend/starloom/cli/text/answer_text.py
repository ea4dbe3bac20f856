"""The answer of a constellation, as `/result` gives it, as text for a terminal. Renders; decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType

from starloom.cli.text.constellation_text import answer_text
from starloom_protocol.records.entities import Answer, AnswerItem, Cite
from starloom_protocol.values import canonical

if TYPE_CHECKING:
    from starloom.client.answers import ResultJson
    from starloom_protocol.api.constellations import AnswerPart


def answer_lines(answer: ResultJson, devices: dict[str, str]) -> RenderableType:
    """Return the words, the sentence and the items of a `/result` document."""
    told = Answer(
        cites=[Cite(task=cite["task"], pointer=cite["pointer"]) for cite in answer.get("cites", ())],
        items=[_item(item) for item in answer["items"]],
        sentence=answer["sentence"],
        state=answer["state"],
        struck=list(answer.get("struck", ())),
        words=answer.get("words", ""),
    )
    return answer_text(told, devices)


def _item(item: AnswerPart) -> AnswerItem:
    origin = item["from"]
    return AnswerItem(
        artifact=item["artifact"],
        attempt=origin["attempt"],
        bytes=item["bytes"],
        checked=item["checked"],
        device=origin["device"],
        media=item["media"],
        pointer=item["pointer"],
        show=item["show"],
        task=origin["task"],
        title=item["title"],
        value=canonical(item["value"]),
    )
