"""Words that no recipe carries out are told so, with requests that work on the devices that they name."""

from __future__ import annotations

import re

import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import Match, match_all
from starloom.planner.requests.refusals import refused
from starloom_protocol.vocabulary import Code
from tests.planner.fleets import device, fleet

CATALOGUE = load_catalogue()
FLEET = fleet(device("laptop"), device("Große Kiste"), device("nas"))


@pytest.mark.parametrize(
    ("words", "says", "names"),
    [
        ("restart the computer laptop", "restarts a whole device", "laptop"),
        ("reboot große kiste", "restarts a whole device", "Große Kiste"),
        ("compare Papers on nas with Papers on laptop", "compares folders", "laptop and nas"),
        ("compare laptop and Große Kiste", "compares folders", "Große Kiste and laptop"),
        ("which programs use most memory", "lists programs", "Große Kiste"),
        ("delete the old photos on laptop", "deletes files", "laptop"),
        ("find all photos on laptop from last summer", "by date", "laptop"),
    ],
)
def test_a_gap_is_told_with_requests_that_work(words: str, says: str, names: str) -> None:
    found = match_all(words, CATALOGUE, FLEET)
    assert (found.outcome, found.candidates) == (Match.NONE, ())
    fault = refused(found, FLEET)
    assert fault.code is Code.REQUEST_NOT_UNDERSTOOD
    assert says in fault.reason
    offered = re.findall(r"\*([^*]+)\*", fault.reason)
    assert offered
    assert all(names in request for request in offered)
    for request in offered:
        assert match_all(request, CATALOGUE, FLEET).outcome is Match.EXACT, request


@pytest.mark.parametrize("words", ["restart nginx on laptop", "find duplicates on laptop", "how are my machines"])
def test_words_that_a_recipe_takes_have_no_gap(words: str) -> None:
    assert match_all(words, CATALOGUE, FLEET).outcome is Match.EXACT


@pytest.mark.parametrize("words", ["restart nginx on everything that is red", "sing me a song", "compare two logs"])
def test_other_words_keep_their_candidates(words: str) -> None:
    assert match_all(words, CATALOGUE, FLEET).gap == ""


def test_without_a_device_nothing_is_offered() -> None:
    assert match_all("delete my photos", CATALOGUE, FleetSnapshot()).gap == ""
