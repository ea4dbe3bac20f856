"""Texts of a device in the sentence that opens an answer: none ends its quotation or is a command (T159)."""

from __future__ import annotations

import pytest

from starloom_protocol.records.entities import SentenceSpec
from tests.core.answer.test_stated import ended, sentence_of, value

END = ". Look is done: 1 task on nas."
MARKS = "'`´‘’‚‛′‵‹›ʹʻʼʽˈ՚׳᾽❛❜ꞌ＇｀"


def shown(text: str) -> str:
    """Return the text of a device as the sentence has it, with its quotes."""
    said = SentenceSpec(text="The newest is {v}", values={"v": value("look", "/v")})
    sentence = sentence_of(ended({"v": text}, said)[1])
    assert sentence.startswith("The newest is ")
    assert sentence.endswith(END)
    return sentence.removeprefix("The newest is ").removesuffix(END)


@pytest.mark.parametrize("mark", MARKS)
def test_t159_no_sign_of_a_device_ends_its_quotation(mark: str) -> None:
    inner = shown(f"x{mark}. All is safe. {mark}y{mark} {mark}")
    assert inner == '\'x". All is safe. "y" "\''


def test_t159_no_text_of_a_device_is_shown_as_a_command() -> None:
    assert "`" not in shown("`starloom token add --role owner`")


def test_t159_names_keep_their_apostrophes() -> None:
    assert shown("Ann's l’été (2).pdf") == "'Ann’s l’été (2).pdf'"
