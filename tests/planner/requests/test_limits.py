"""Negations and limits in words: no recipe runs without heeding them, and the refusal names them."""

from __future__ import annotations

import re

import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import Match, match, match_all
from starloom.planner.requests.refusals import refused
from starloom_protocol.plan import Recipe
from tests.planner.corpus import read_corpus
from tests.planner.fleets import device, fleet

CATALOGUE = load_catalogue()
RECIPES = CATALOGUE.all()
FLEET = fleet(
    device("laptop"),
    device("nas", labels=["server"]),
    device("vps", labels=["server"]),
    device("pixel", labels=["phone"]),
)
HOME = read_corpus().fleets["home"]
DEVICES = {"phone": "pixel", "source": "laptop", "target": "nas", "one": "laptop", "other": "nas", "builder": "laptop"}
VALUES = {
    "argv": "`uptime`",
    "choice": "and replace it",
    "duration": "2h",
    "file": "notes.txt",
    "files": "PDFs",
    "integer": "3",
    "path": "./Papers",
    "service": "nginx",
    "since": "yesterday",
    "text": '"a word"',
    "url": "example.org",
}
LIMITS = (
    "except Music",
    "but not the videos",
    "but only the PDFs",
    "without subfolders",
    "only ./Music",
    "at most 10",
    "no more than 10",
    "older than 2 weeks",
    "over 1 GB",
    "unless it is full",
    "do not delete anything",
    "excluding *.tmp",
    "not hidden files",
)


def filled(recipe: Recipe, phrase: str) -> str:
    """Return a phrase of a recipe with a value for each slot."""

    def value(slot: re.Match[str]) -> str:
        param = recipe.params[slot[1]]
        if param.type == "device":
            return DEVICES.get(slot[1], "vps")
        return VALUES[param.type]

    return re.sub(r"\{([a-z_]+)\}", value, phrase).replace('""', '"')


def with_limit(words: str, limit: str) -> list[str]:
    """Return words with a limit at each place between them, outside of quotes."""
    tokens = re.findall(r"\"[^\"]*\",?|`[^`]*`,?|\S+", words)
    return [" ".join([*tokens[:at], limit, *tokens[at:]]) for at in range(len(tokens) + 1)]


def samples(recipe: Recipe) -> list[str]:
    """Return the phrases of a recipe with limits at their places, so that each place and each limit has its turn."""
    made = []
    for number, phrase in enumerate(recipe.phrases):
        for at, limit in enumerate((*LIMITS, *LIMITS)[number % len(LIMITS) :][: len(LIMITS)]):
            places = with_limit(filled(recipe, phrase), limit)
            made += places[at :: len(LIMITS)]
    return made


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_no_recipe_runs_words_whose_limit_it_cannot_heed(recipe: Recipe) -> None:
    words = samples(recipe)
    assert len(words) > len(recipe.phrases)
    assert [said for said in words if match(said, RECIPES, FLEET).outcome is Match.EXACT] == []


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_refusal_of_every_recipe_names_the_limit(recipe: Recipe) -> None:
    unnamed = []
    for number, limit in enumerate(LIMITS):
        words = f"{filled(recipe, recipe.phrases[number % len(recipe.phrases)])} {limit}"
        said = refused(match_all(words, CATALOGUE, FLEET), FLEET).reason
        if f"'{limit}'" not in said:
            unnamed.append((words, said))
    assert unnamed == []


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("do not back up the pictures of pixel to nas", "do not back up the pictures of pixel to nas"),
        ("don't run uptime everywhere", "don't run uptime everywhere"),
        ("run uptime on all servers except the old one, please", "except the old one"),
        ("back up Documents of laptop to nas, but only what is new, and tell me", "but only what is new"),
        ("copy at most 10 files from Documents of laptop to nas", "at most 10 files from Documents of laptop to nas"),
        ("zip Fotos on nas without the videos and keep it", "without the videos"),
        ("sing me a song without words", "without words"),
        ("compare laptop with nas, not the music", "not the music"),
        ("which of the machines has at least 10 GB free", "at least 10 GB free"),
    ],
)
def test_the_part_that_is_not_heeded_is_named_as_typed(words: str, limit: str) -> None:
    found = match_all(words, CATALOGUE, HOME)
    assert found.outcome is not Match.EXACT
    assert f"'{limit}'" in refused(found, HOME).reason


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("run uptime on all servers except vps, please", {"nas"}),
        ("every day at 8 how are my machines except vps", {"laptop", "nas", "pixel"}),
        ("find duplicates on nas without nas", set()),
    ],
)
def test_a_device_behind_a_negation_is_never_filled_in(words: str, left: set[str]) -> None:
    found = match_all(words, CATALOGUE, HOME)
    assert found.outcome is Match.NEAR
    where = found.candidates[0].params.get("where", {"any": []})
    assert {one["name"] for one in where.get("any", [where])} == left
    assert ("not for " in refused(found, HOME).reason) == bool(left)


def test_of_words_that_forbid_an_act_no_recipe_is_offered() -> None:
    assert match_all("don't empty the trash of nas", CATALOGUE, HOME).candidates == ()


@pytest.mark.parametrize(
    "words",
    [
        "make the pictures in Fotos on laptop at most 1600 pixels",
        "why does nginx on nas not answer at https://example.org/health",
        'search the files of laptop for the word "without"',
        'send "do not forget the milk" to my phone',
        "find not-now.txt",
        "run `ls --only-dirs` on nas",
        "back up 'At most ten' of laptop to nas",
        "just check my machines",
    ],
)
def test_words_of_a_phrase_and_quoted_ones_are_no_limit(words: str) -> None:
    found = match_all(words, CATALOGUE, HOME)
    assert found.limit == ""
    assert all(not any(" " in one for one in candidate.unused) for candidate in found.candidates)


@pytest.mark.parametrize("act", ["delete", "zip"])
def test_an_act_on_the_results_is_no_device_and_starts_nothing(act: str) -> None:
    found = match_all(f"find duplicates on nas and {act} them", CATALOGUE, HOME)
    first = found.candidates[0]
    assert (found.outcome, first.recipe, first.params["where"]) == (Match.NEAR, "find-duplicates", {"name": "nas"})
    assert first.missing == ()
    assert ("extras" in first.params) is (act == "delete")
    assert first.unused == (() if act == "delete" else ("zip them",))


def test_the_one_word_left_over_fills_the_one_open_place() -> None:
    found = match_all("search the files of nas for Museum", CATALOGUE, HOME)
    assert found.outcome is Match.NEAR
    first = found.candidates[0]
    assert (first.params, first.missing, first.unused) == ({"where": {"name": "nas"}, "text": "Museum"}, (), ())


def test_a_place_behind_in_is_no_kind_of_device() -> None:
    reason = refused(match_all("find duplicates on all machines in one folder", CATALOGUE, HOME), HOME).reason
    assert "says more than a device ('in')" in reason
    assert "device label" not in reason
