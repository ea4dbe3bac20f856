"""Questions about Starloom are answered with a command and a page; they start nothing, and no work is taken for one."""

from __future__ import annotations

import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import Match, match_all
from starloom.planner.requests.pointers import NEWEST, pointer_in
from starloom.planner.requests.refusals import refused
from starloom_protocol.vocabulary import Code
from tests.planner.corpus import HELD_OUT, read_corpus
from tests.planner.fleets import device, fleet

CATALOGUE = load_catalogue()
FLEET = fleet(device("ws-red"), device("archiv"), device("pixel", labels=["phone"], os="android")).as_spoken_by(
    "person:anna"
)


@pytest.mark.parametrize(
    ("words", "command", "path"),
    [
        ("how do I add a phone", "starloom enroll", "/devices?add=1"),
        ("How can I connect my new laptop?", "starloom enroll", "/devices?add=1"),
        ("who asked for this", "starloom ls", "/constellations"),
        ("who started the backup?", "starloom ls", "/constellations"),
        ("what can you do", "starloom recipes", "/recipes"),
        ("why is this not started", "starloom why", NEWEST.path),
        ("why did this fail", "starloom why", "/constellations"),
        ("how long will it take", "starloom what-if", "/constellations"),
        ("when is the copy done?", "starloom what-if", "/constellations"),
        ("stop all that Jan asked for", "starloom cancel --of Jan", "/constellations"),
        ("who did this yesterday", "starloom activity", "/activity"),
        ("who did that this morning?", "starloom activity", "/activity"),
        ("undo what Lo did", "starloom undo --of Lo", "/constellations"),
        ("stop all that I asked for", "starloom cancel --of anna", "/constellations"),
        ("what did you do yesterday", "starloom activity --by anna", "/activity"),
        ("what did I do yesterday", "starloom ls --of anna", "/constellations"),
        ("what did we do yesterday", "`starloom activity` and", "/activity"),
        ("was hast du gestern gemacht", "starloom activity --by anna", "/activity"),
        ("undo", "starloom undo --of anna", NEWEST.path),
        ("undo the last thing", "starloom undo --of anna", NEWEST.path),
        ("undo what I did", "starloom undo --of anna", NEWEST.path),
        ("mach das rückgängig", "starloom undo --of anna", NEWEST.path),
        ("nimm das letzte zurück", "starloom undo --of anna", NEWEST.path),
        ("do that again but on the other one", "starloom again", NEWEST.path),
        ("do the same with archiv", "starloom again --with NAME=archiv", NEWEST.path),
        ("mach das nochmal aber auf dem anderen", "starloom again", NEWEST.path),
        ("noch einmal", "starloom again", NEWEST.path),
        ("undo everything that lo changed yesterday", "starloom undo --of lo", "/constellations"),
        ("take back the last thing that anna did", "starloom undo --of anna", "/constellations"),
        ("what did Aiko do this week", "starloom activity --by Aiko", "/activity"),
        ("what has Papa been up to", "starloom activity --by Papa", "/activity"),
        ("is ws-red awake?", "ws-red is connected now", "/devices/d-ws-red"),
        ("is ws red on", "ws-red is connected now", "/devices/d-ws-red"),
        ("is ws-red online right now?", "ws-red is connected now", "/devices/d-ws-red"),
        ("is ws-red still up", "ws-red is connected now", "/devices/d-ws-red"),
        ("is the server up", "starloom devices", "/devices"),
        ("are our machines online", "starloom devices", "/devices"),
        ("is my phone on", "pixel is connected now", "/devices/d-pixel"),
        ("where is my phone", "only that it is connected now", "/devices/d-pixel"),
        ("battery of pixel", "starloom device show pixel", "/devices/d-pixel"),
        ("which machines are offline?", "starloom devices", "/devices"),
        ("who is online right now", "starloom devices", "/devices"),
        ("what happened last night", "starloom activity", "/activity"),
        ("when did we last back up Orders", "starloom ls", "/constellations"),
        ("is my thesis backed up anywhere", "starloom ls", "/constellations"),
        ("stop everything", "starloom stop-all", "/devices?stop=1"),
        ("cancel everything", "starloom stop-all", "/devices?stop=1"),
        ("tell me on the phone when it is done", "--notify always --notify-on pixel", "/schedules"),
        ("text me when the copy is done", "starloom watch", "/schedules"),
        ("how much did the model cost", "starloom report", "/settings"),
        ("what does the AI cost us this month?", "starloom report", "/settings"),
        ("how much have I spent on the model so far", "starloom report", "/settings"),
    ],
)
def test_a_question_about_starloom_is_answered_with_a_page(words: str, command: str, path: str) -> None:
    found = match_all(words, CATALOGUE, FLEET)
    assert (found.outcome, found.candidates, found.about_starloom) == (Match.NONE, (), True)
    assert path in [place.path for place in found.places]
    fault = refused(found, FLEET)
    assert fault.code is Code.REQUEST_NOT_UNDERSTOOD
    assert command in fault.reason
    assert "no recipe has a place" not in fault.reason


@pytest.mark.parametrize(
    "words", ["what happened last night", "who asked for this", "who is online", "what can you do", "stop everything"]
)
def test_an_answer_names_its_pages_before_a_command(words: str) -> None:
    found = match_all(words, CATALOGUE, FLEET)
    sentence = refused(found, FLEET).reason
    for place in found.places:
        assert place.title in sentence.partition("`")[0] or place.title in sentence.rpartition(", and ")[2]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("stop ws-red", "ws-red"),
        ("drain ws-red", "ws-red"),
        ("stop everything that runs on ws-red", "ws-red"),
        ("cancel all jobs on the ws-red", "ws-red"),
        ("Stop everything that runs on the boat", "DEVICE"),
    ],
)
def test_the_stop_of_a_device_is_answered_with_its_commands(words: str, name: str) -> None:
    found = match_all(words, CATALOGUE, FLEET)
    assert (found.outcome, found.candidates) == (Match.NONE, ())
    assert f"starloom cancel --on {name}" in found.gap
    assert f"starloom device drain {name}" in found.gap


@pytest.mark.parametrize("words", ["stop nginx", "stop the nginx on ws-red", "empty the trash"])
def test_the_stop_of_something_else_is_no_stop_of_a_device(words: str) -> None:
    assert "cancel --on" not in match_all(words, CATALOGUE, FLEET).gap


def test_what_runs_on_a_device_stands_on_its_page() -> None:
    found = match_all("what is running on WS-red?", CATALOGUE, FLEET)
    assert [(place.title, place.path) for place in found.places] == [("ws-red", "/devices/d-ws-red")]
    assert found.gap.startswith("`starloom device show ws-red`")
    assert "*run ps aux on ws-red*" in found.gap
    assert found.about_starloom  # the page of the device answers, so no model is asked


@pytest.mark.parametrize(
    "words",
    [
        "stop all services on archiv",
        "how long does the site take to answer",
        "why is the site so slow",
        "who is logged in on ws-red",
        "tell me when the disk of archiv is full",
        "what can you do about the errors on archiv",
        "add a line to the file hosts on archiv",
        "I want to set up a server",
        "is it raining",
        "help me find my thesis",
        "what did archiv do this week",
        "is nginx up",
        "where is my thesis",
        "find ws-red",
        "what happened to archiv",
        "which machines are full",
        "is the disk of archiv full",
        "stop all that",
    ],
)
def test_work_is_not_taken_for_a_question(words: str) -> None:
    assert pointer_in(words, FLEET) is None


def test_no_request_that_a_recipe_takes_is_a_question() -> None:
    corpus = read_corpus()
    for request in (*corpus.requests, *read_corpus(HELD_OUT).requests):
        answer = pointer_in(request.words, corpus.fleets[request.fleet])
        assert answer is None or not request.exact, request.words
