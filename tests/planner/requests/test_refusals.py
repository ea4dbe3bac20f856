"""Words that start nothing: what is said instead, with requests that would work here."""

from __future__ import annotations

import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import Match, match, match_all
from starloom.planner.requests.refusals import EXAMPLES, examples, refused
from starloom.planner.service import Planning
from starloom_protocol.records.entities import Device, Offer, ToolOffer
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import CODES, Code, Effect, Repeatability
from tests.planner.corpus import read_corpus
from tests.planner.fleets import device, fleet, offer

RECIPES = load_catalogue().all()
FLEETS = read_corpus().fleets


@pytest.mark.parametrize("name", FLEETS)
def test_the_examples_work_on_the_devices_that_are_here(name: str) -> None:
    shown = examples(FLEETS[name])
    assert len(shown) == (EXAMPLES if FLEETS[name].devices else 0)
    for words in shown:
        assert match(words, RECIPES, FLEETS[name]).outcome is Match.EXACT, words


TAB = Offer(
    digest="t",
    grants=["tab:camera"],
    tools=[
        ToolOffer(name=name, repeatability=Repeatability.NEVER, effects=[Effect.CONTROL])
        for name in ("ask", "camera.capture", "clipboard", "file.pick", "file.save", "geolocation", "notify", "share")
    ],
)
KINDS: dict[str, tuple[Device, Offer | None]] = {
    "a tab of a phone": (device("anna-handy", os="browser", labels=["phone"]), TAB),
    "a tab of a computer": (device("aula", os="browser"), TAB),
    "an agent that only looks": (device("attic"), offer(grants=[])),
    "an agent without a folder": (device("archive"), offer(grants=["net:reach"])),
    "an agent on a phone": (device("antons-handy", os="android"), offer(without=["shell.run", "service.restart"])),
    "a server": (device("anker"), None),
    "a device that has not told its tools yet": (device("apple"), Offer(digest="n")),
    "a demonstration device": (device("demo-a", demo=True), None),
    "a device that is off": (device("aus", online=False), None),
}


def kinds_of(*names: str) -> FleetSnapshot:
    made = [KINDS[name] for name in names]
    return fleet(*(one for one, _ in made), offers={one.name: told for one, told in made if told is not None})


@pytest.mark.parametrize("other", ["", *KINDS])
@pytest.mark.parametrize("kind", KINDS)
def test_each_example_can_be_carried_out_on_the_devices_that_it_names(kind: str, other: str) -> None:
    view = kinds_of(*dict.fromkeys(filter(None, (kind, other))))
    planning = Planning(load_catalogue(), lambda: view)
    for words in examples(view):
        found = match(words, RECIPES, view)
        assert found.outcome is Match.EXACT, words
        plan = planning.plan_recipe(found.candidates[0].recipe, found.candidates[0].params).plan
        assert plan is not None, words
        shown = planning.preview(plan)
        optional = {spec.id for spec in plan.specs if spec.optional}
        assert [fault for fault in shown["faults"] if fault["task"] not in optional] == [], words
        assert shown["missing_grants"] == [], words


def test_devices_that_can_do_nothing_here_get_no_example_and_no_word_of_an_empty_fleet() -> None:
    fault = refused(
        match("hello", RECIPES, kinds_of("a device that has not told its tools yet")),
        kinds_of("a device that has not told its tools yet"),
    )
    assert "for example" not in fault.reason
    assert "No device has joined yet" not in fault.reason


@pytest.mark.parametrize("words", ["hello", "wie geht es meinen Rechnern", "バックアップして", "thanks"])
def test_a_greeting_and_another_language_get_examples(words: str) -> None:
    fault = refused(match(words, RECIPES, FLEETS["family"]), FLEETS["family"])
    assert fault.code is Code.REQUEST_NOT_UNDERSTOOD
    assert "'how are my machines'" in fault.reason
    assert "'back up the pictures of galaxy to anna-laptop'" in fault.reason


def test_a_phone_that_is_a_browser_tab_is_in_the_examples() -> None:
    fault = refused(match("hello", RECIPES, FLEETS["tab"]), FLEETS["tab"])
    assert "'back up the pictures of pixel2 to bramble'" in fault.reason


def test_without_a_device_the_answer_says_how_to_add_one() -> None:
    fault = refused(match("hello", RECIPES, FleetSnapshot()), FleetSnapshot())
    assert "starloom enroll" in fault.reason


@pytest.mark.parametrize("words", ["sing me a song", "back up my pictures", "find invoice.pdf and print it"])
def test_a_refusal_says_nothing_twice(words: str) -> None:
    fault = refused(match(words, RECIPES, FLEETS["home"]), FLEETS["home"])
    title = CODES[fault.code].title
    assert title.casefold() not in fault.reason.casefold()
    assert fault.reason.count("nearest") <= 1


def test_a_near_request_names_what_stands_in_its_way() -> None:
    words = "back up the pictures of pixel to nas and vps"
    fault = refused(match(words, RECIPES, FLEETS["home"]), FLEETS["home"])
    assert fault.code is Code.REQUEST_AMBIGUOUS
    assert "it takes one device, and nas and vps are 2" in fault.reason


def test_words_with_a_rhythm_start_nothing_and_are_told_the_line_of_a_schedule() -> None:
    words = "Every evening copy the folder bills from vm to demo-server"
    found = match(words, RECIPES, FLEETS["demo"])
    assert found.outcome is Match.NEAR
    fault = refused(found, FLEETS["demo"])
    line = "starloom schedule add 'copy the folder bills from vm to demo-server' --cron '0 19 * * *'"
    assert fault.reason.endswith(f"to repeat it: {line}")
    assert match("copy the folder bills from vm to demo-server", RECIPES, FLEETS["demo"]).outcome is Match.EXACT


def test_a_rhythm_of_words_that_lack_a_value_is_told_the_line_of_the_recipe() -> None:
    found = match("restart nginx on all my sheep every night at 2", RECIPES, FLEETS["demo"])
    fault = refused(found, FLEETS["demo"])
    line = "starloom schedule add -r restart-and-check -p service=nginx -p where=... --cron '0 2 * * *'"
    assert fault.reason.endswith(f"to repeat it: {line}")


def test_a_misspelt_rhythm_is_told_the_line_of_the_recipe() -> None:
    found = match("bakcup Uni of laptop to nas every school day at 6:30", RECIPES, FLEETS["home"])
    line = "starloom schedule add -r backup-folder -p folder=Uni -p source=laptop -p target=nas --cron '30 6 * * 1-5'"
    assert refused(found, FLEETS["home"]).reason.endswith(f"to repeat it: {line}")


def test_a_rhythm_that_no_clock_has_is_told_with_the_nearest() -> None:
    found = match("every other day how are my machines", RECIPES, FLEETS["home"])
    said = refused(found, FLEETS["home"]).reason
    assert "to repeat it (no clock says 'every other day'; this one goes off on day 1, 3, 5" in said
    assert said.endswith("starloom schedule add 'how are my machines' --cron '0 8 */2 * *'")


def test_the_refusal_names_the_words_that_the_recipe_has_no_place_for() -> None:
    here = fleet(device("phone", labels=["phone"]), device("server", labels=["server"]))
    found = match("back up the photos of June of my phone to the server", RECIPES, here)
    said = refused(found, here).reason
    first = f"they may mean '{found.candidates[0].title}', which has no place for 'June' and still needs "
    assert first in said, said


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        ("wie voll ist wohl die Platte von nas", "what fills the disk of nas"),
        ("such doch doppelte Sachen", "find duplicates on laptop"),
        ("Zeige wohl die größten Dateien auf nas", "largest files on nas"),
        ("sichere meine schönsten Bilder vom Handy auf nas", "back up the pictures of pixel to nas"),
        ("was sind die Fehler seit gestern", "errors since yesterday on laptop"),
        ("duplicates, perhaps on nas, or not", "find duplicates on nas"),
        ("wohl die zehn größten Dateien in Übungen auf nas", "largest files on nas"),
        ("die zehn groessten Dateien wohl auf nas", "largest files on nas"),
        ("welcher Rechner hat wohl am meisten freien Platz", "which machine has the most free space"),
        ("finde wohl das Wort Rechnung in Textdateien auf nas", "search the files of nas for the word invoice"),
        ("packe den Ordner Dokumente mal auf nas zusammen", "zip the folder Documents on nas"),
    ],
)
def test_the_nearest_sentences_are_named_for_german_words_as_well(words: str, nearest: str) -> None:
    found = match_all(words, load_catalogue(), FLEETS["home"])
    assert found.outcome is not Match.EXACT
    assert nearest in examples(FLEETS["home"], found)
    if found.outcome is Match.NONE:
        assert quoted(nearest) in refused(found, FLEETS["home"]).reason


def test_german_words_that_no_recipe_carries_out_are_told_what_comes_near() -> None:
    found = match_all("vergleiche nas und laptop", load_catalogue(), FLEETS["home"])
    assert refused(found, FLEETS["home"]).reason.startswith("no recipe compares whole devices. *compare ")


def test_german_words_are_told_how_a_phrase_of_one_s_own_is_added() -> None:
    fleet = FLEETS["home"]
    said = refused(match_all("wie steht es um meine Rechner", load_catalogue(), fleet), fleet).reason
    assert "may have `phrases` in your own language (docs/recipes.md)" in said
    assert "docs/recipes.md" not in refused(match_all("make everything well", load_catalogue(), fleet), fleet).reason


def test_a_phrase_of_one_s_own_may_be_german() -> None:
    fleet = FLEETS["home"]
    look = next(one for one in load_catalogue().all() if one.name == "list-folder")
    own = look.model_copy(update={"name": "schauen", "phrases": ["schau in den Ordner {folder} auf {where}"]})
    found = match("schau in den Ordner Dokumente auf nas", [own], fleet)
    assert (found.outcome, found.candidates[0].params) == (
        Match.EXACT,
        {"folder": "Dokumente", "where": {"name": "nas"}},
    )


def test_words_with_a_rhythm_keep_the_values_beside_them() -> None:
    nas = {"where": {"name": "nas"}}
    found = match_all("how are my machines every day", load_catalogue(), FLEETS["home"], params=nas)
    line = "starloom schedule add -r fleet-health -p where=nas --cron '0 8 * * *'"
    assert refused(found, FLEETS["home"]).reason.endswith(f"to repeat it: {line}")


def test_a_candidate_keeps_the_values_beside_the_words_and_those_in_them() -> None:
    nas = {"where": {"name": "nas"}}
    found = match_all("find duplicates in fotos", load_catalogue(), FLEETS["home"], params=nas)
    assert found.candidates[0].params == {"folder": "fotos", **nas}
    other = match_all("back up the pictures of pixel to nas", load_catalogue(), FLEETS["home"], params=nas)
    assert other.outcome is Match.NEAR
    assert other.candidates[0].unused == ("where=nas",)


@pytest.mark.parametrize("code", [Code.REQUEST_NOT_UNDERSTOOD, Code.REQUEST_AMBIGUOUS])
def test_a_refusal_of_words_names_the_ways_by_hand(code: Code) -> None:
    assert "*New request*, *Build*" in CODES[code].hint
    assert "`starloom submit -f PLAN.yaml`" in CODES[code].hint


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "every friday at 17 how are my machines except on 25 December",
            "schedule add 'how are my machines' --cron '0 17 * * 5' --except '25 December'",
        ),
        ("every day at 8 except weekends how are my machines", "'how are my machines' --cron '0 8 * * 1-5'"),
    ],
)
def test_the_line_of_a_schedule_has_the_days_that_words_except(words: str, line: str) -> None:
    view = FLEETS["demo"]
    assert refused(match_all(words, load_catalogue(), view), view).reason.endswith(line)


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (", ask me first", "waits for your yes anyway"),
        (" when nas is on", "waits anyway until it is connected"),
        (" only if there is more than 2 GB free", "refuses it and says so"),
        (", aber frag mich vorher", "waits for your yes anyway"),
    ],
)
def test_a_condition_that_holds_anyway_is_said_and_loses_no_value(tail: str, says: str) -> None:
    two = fleet(device("laptop"), device("nas"))
    words = "kopiere alle Rechnungen vom Laptop auf nas" if "frag" in tail else "copy Documents from laptop to nas"
    found = match_all(words + tail, load_catalogue(), two)
    assert (found.outcome, found.candidates[0].params["target"]) == (Match.NEAR, {"name": "nas"})
    reason = refused(found, two).reason
    assert says in reason
    assert "has no place for" in reason


@pytest.mark.parametrize(
    ("words", "asked"),
    [("print the letter on nas", False), ("hola", True), ("comment vont mes machines", True), ("guten Tag", True)],
)
def test_english_is_asked_of_nobody_who_wrote_it(words: str, asked: bool) -> None:
    reason = refused(match_all(words, load_catalogue(), FLEETS["home"]), FLEETS["home"]).reason
    assert ("Say it in English" in reason) is asked


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("cancel", "starloom cancel"),
        ("stop", "starloom cancel"),
        ("stop what is running and undo it", "starloom undo"),
        ("is nas up", "starloom devices"),
    ],
)
def test_an_end_of_work_and_a_device_that_is_away_name_their_commands(words: str, way: str) -> None:
    found = match_all(words, load_catalogue(), FLEETS["home"])
    assert found.candidates == ()
    assert f"`{way}`" in refused(found, FLEETS["home"]).reason
