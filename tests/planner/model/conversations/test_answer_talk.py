"""An answer in words rests on what was found, never on what the plan itself wrote down."""

from __future__ import annotations

import json
from collections.abc import Sequence

from starloom.planner.context.cards import OWN_WORDS, Card
from starloom.planner.model.answers import Stage
from starloom.planner.model.conversations.answering import AnswerTalk, ResultSeen, Words
from starloom.planner.model.port import Reply, Turn

ROWS = {"rows": [{"recipe": "pesto", "nuts": 99}]}
FOUND = Card("find", "fs.find", "desk", "succeeded", head=ROWS)
TYPED = Card("typed", "data.table", "desk", "succeeded", head=ROWS, own_words=True)


class Model:
    """Says one answer again and again, and keeps what it was asked."""

    def __init__(self, text: str, *cites: tuple[str, str]) -> None:
        told = [{"pointer": pointer, "task": task} for task, pointer in cites]
        self._said = json.dumps({"cites": told, "kind": "answer", "text": text})
        self.asked: list[str] = []

    async def ask(self, _instructions: str, turns: Sequence[Turn], _stage: Stage = Stage.PLANNING) -> Reply:
        self.asked.append(turns[-1].text)
        return Reply(self._said)


async def written(model: Model, *results: ResultSeen) -> Words:
    return await AnswerTalk(model, "Which recipes have nuts?", "It is done.", results).write()


async def test_what_was_found_is_cited() -> None:
    found = await written(Model("Pesto has 99 [1].", ("find", "/rows")), ResultSeen(FOUND, ROWS))
    assert (found.words, found.struck) == ("Pesto has 99 [1].", ())


async def test_what_the_plan_wrote_itself_is_no_evidence_and_is_marked_so() -> None:
    model = Model("Pesto has 99 [1]. That is all.", ("typed", "/rows"))
    found = await written(model, ResultSeen(TYPED, ROWS))
    assert OWN_WORDS in model.asked[0]
    assert "typed cannot be cited" in model.asked[1]
    assert (found.words, found.struck) == ("That is all.", ("Pesto has 99 .",))


async def test_a_title_of_the_plan_may_be_named_but_a_figure_in_it_proves_nothing() -> None:
    titled = ResultSeen(FOUND, {"rows": []}, title="Nuts in 12 Recipes")
    found = await written(Model("See Recipes. There are 12.", ("find", "/rows")), titled)
    assert (found.words, found.struck) == ("See Recipes.", ("There are 12.",))


async def test_a_withheld_value_fills_its_place_without_signs_that_steer_a_terminal() -> None:
    card = Card("read", "fs.read", "desk", "succeeded", withheld="not shown")
    value = {"long": "x" * 200, "many": [1, 2], "text": "a\x1b[31mb", "yes": True}
    places = [("read", f"/{name}") for name in sorted(value)]
    model = Model("It is {1} [1].\nAlso {2}.\nAnd {3}.\nOr {4}.\nFor {5}.", *places)
    found = await written(model, ResultSeen(card, withheld=value))
    assert found.words == "And a [31mb."
    assert len(found.struck) == 4
    assert "x" * 200 not in "".join(model.asked)


FAILED = Card("copy", "fs.copy", "desk", "failed", code="no_space", message="no room for it")


async def test_words_that_are_silent_about_what_failed_are_refused() -> None:
    model = Model("Everything was copied and is safe.")
    found = await written(model, ResultSeen(FOUND, ROWS), ResultSeen(FAILED, owed=True))
    assert found.words == ""
    assert "it does not say that copy failed" in found.reason
    assert "it does not say that copy failed; say so and cite it" in model.asked[1]


async def test_words_that_cite_what_failed_are_taken_in_any_language() -> None:
    model = Model("La copia non \u00e8 riuscita [1].", ("copy", ""))
    found = await written(model, ResultSeen(FOUND, ROWS), ResultSeen(FAILED, owed=True))
    assert (found.words, len(model.asked)) == ("La copia non \u00e8 riuscita [1].", 1)


async def test_a_cite_that_no_sentence_has_tells_nothing() -> None:
    model = Model("Everything was copied.", ("copy", ""))
    found = await written(model, ResultSeen(FAILED, owed=True))
    assert found.words == ""


async def test_a_failure_that_takes_nothing_away_may_go_untold() -> None:
    model = Model("Pesto has 99 [1].", ("find", "/rows"))
    found = await written(model, ResultSeen(FOUND, ROWS), ResultSeen(FAILED))
    assert found.words == "Pesto has 99 [1]."
