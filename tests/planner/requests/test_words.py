"""The corpus of requests: nothing runs that was not asked for, and every recipe still hears its own words."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import Match, match, match_all
from starloom_protocol.plan import read_recipe
from starloom_protocol.plan.recipe import Recipe
from tests.planner.corpus import HELD_OUT, Judged, Request, Verdict, figures, judge_all, plain_values, read_corpus, told

CORPUS = read_corpus()
TAKES_LEAST = 5
REQUESTS_LEAST = 200
TRAPS_LEAST = 40
HELD_OUT_LEAST = 25
TRAPS = ("orders.yaml", "typos.yaml", "devices.yaml", "clauses.yaml", "strangers.yaml")


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return judge_all(CORPUS)


def test_no_request_of_the_corpus_is_taken_wrongly(judged: list[Judged]) -> None:
    wrong = [told(item) for item in judged if item.verdict is not Verdict.RIGHT]
    assert wrong == []
    assert figures(judged)["wrong_takes"] == 0


def test_no_request_that_was_held_out_is_taken_wrongly() -> None:
    held_out = judge_all(read_corpus(HELD_OUT))
    found = figures(held_out)
    assert found["requests"] >= HELD_OUT_LEAST
    assert found["wrong_takes"] == 0, [told(item) for item in held_out if item.verdict is Verdict.WRONG_TAKE]
    assert found["deaf"] + found["stray"] <= found["requests"] / 10
    tuned = {(request.fleet, request.words) for request in CORPUS.requests}
    assert tuned.isdisjoint((item.request.fleet, item.request.words) for item in held_out)


def test_every_recipe_hears_five_requests_of_the_corpus(judged: list[Judged]) -> None:
    takes = Counter(item.found.candidates[0].recipe for item in judged if item.found.outcome is Match.EXACT)
    assert {recipe.name for recipe in load_catalogue().all() if takes[recipe.name] < TAKES_LEAST} == set()


def test_the_corpus_has_enough_requests_and_traps() -> None:
    files = Counter(request.place.split(":")[0] for request in CORPUS.requests)
    assert sum(files.values()) >= REQUESTS_LEAST
    assert sum(files[name] for name in TRAPS) >= TRAPS_LEAST
    assert len({(request.fleet, request.words) for request in CORPUS.requests}) == len(CORPUS.requests)


def test_the_corpus_finds_a_wrong_take() -> None:
    recipes = load_catalogue().all()
    taken = match("how are my machines", recipes, CORPUS.fleets["home"])
    wrong = Request("here:1", "home", "how are my machines", near=("disk-space",))
    other = Request("here:2", "home", "how are my machines", exact="fleet-health", values={"where": "nas"})
    found = judge_all(type(CORPUS)(CORPUS.fleets, (wrong, other)))
    assert (taken.outcome, plain_values(taken.candidates[0].params)) == (Match.EXACT, {})
    assert [item.verdict for item in found] == [Verdict.WRONG_TAKE, Verdict.WRONG_TAKE]
    assert figures(found)["wrong_takes"] == 2


OWN = """
starloom_recipe: 1
name: groesste
title: Größte Dateien
version: 1
phrases:
  - "zeige die größten Dateien auf {where}"
  - "räume {folder} auf {where} aus"
  - "montre les fichiers détaillés de {where}"
params:
  where: {type: device, title: Gerät, needs: [fs.list]}
  folder: {type: path, title: Ordner, default: .}
plan:
  starloom: 1
  name: Look
  tasks: [{id: look, tool: fs.list, device: {param: where}, args: {path: {param: folder}}}]
"""


@pytest.mark.parametrize(
    "words",
    [
        "zeige die größten Dateien auf Küche",
        "Zeige die GRÖSSTEN Dateien auf kuche",
        "zeige die grossten Dateien auf kueche",
        "zeige die groessten Dateien auf Küche",
        "zeige die gro\u0308ßten Dateien auf Ku\u0308che",
        "montre les fichiers détaillés de Küche",
        "montre les fichiers detailles de Kueche",
    ],
)
def test_own_phrases_are_taken_with_and_without_their_accents(words: str) -> None:
    recipe = read_recipe(OWN).recipe
    assert recipe is not None
    found = match(words, [*load_catalogue().all(), recipe], CORPUS.fleets["accents"])
    assert (found.outcome, plain_values(found.candidates[0].params)) == (Match.EXACT, {"where": "Küche"})


@pytest.mark.parametrize(
    "words", ["räume Straße auf Küche aus", "raume Straße auf kuche aus", "raeume Straße auf kueche aus"]
)
def test_values_keep_the_accents_that_were_typed(words: str) -> None:
    recipe = read_recipe(OWN).recipe
    assert recipe is not None
    found = match(words, [recipe], CORPUS.fleets["accents"])
    assert found.outcome is Match.EXACT
    assert plain_values(found.candidates[0].params) == {"folder": "Straße", "where": "Küche"}


SLOT = re.compile(r"\{([a-z0-9_-]+)\}")
WORDS_OF = {"file": "notes.txt", "files": "PDFs", "integer": "30", "text": "invoice", "service": "nginx"} | {
    "url": "example.org",
    "since": "yesterday",
    "argv": "`uptime`",
}


def _filled(recipe: Recipe, phrase: str, folder: str) -> str:
    """Return a phrase with words for each slot, the first folder among them."""
    devices, folders = iter(("box", "server", "laptop", "Lenas Handy")), iter((folder, "Bilder", "Bilder"))

    def words(found: re.Match[str]) -> str:
        param = recipe.params[found[1]]
        if param.type in ("device", "path"):
            return next(devices if param.type == "device" else folders)
        return WORDS_OF[param.type] if param.type in WORDS_OF else next(iter(param.values.values()))[0]

    return SLOT.sub(words, phrase)


def test_a_folder_of_two_words_is_read_as_one_of_one_word_in_every_phrase() -> None:
    catalogue, seen = load_catalogue(), CORPUS.fleets["desks"]
    for recipe in catalogue.all():
        for phrase in recipe.phrases:
            if not any(recipe.params[slot].type == "path" for slot in SLOT.findall(phrase)):
                continue
            one, two = (
                match_all(_filled(recipe, phrase, name), catalogue, seen) for name in ("Fotos", "Fotos Werkstatt")
            )
            read = {
                name: "Fotos" if value == "Fotos Werkstatt" else value
                for name, value in two.candidates[0].params.items()
            }
            expected = (one.outcome, one.candidates[0].params)
            assert (two.outcome, read) == expected, _filled(recipe, phrase, "Fotos Werkstatt")
