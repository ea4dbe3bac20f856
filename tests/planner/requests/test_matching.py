"""Words to recipes: what is exact, what is near, what is neither; and what fills a slot."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import CANDIDATES_MOST, Match, match, match_all
from starloom.planner.requests.slots import take
from starloom_protocol.plan import ParamDoc
from tests.cost import GROWTH_MOST, calls
from tests.planner.corpus import plain_values
from tests.planner.fleets import device, fleet, offer, sample

RECIPES = load_catalogue().all()
SAMPLE = "Back up the pictures of my phone to the server, check every copy, and put a contact sheet on my desktop."
DEVICE = ParamDoc(type="device")
DEVICES = ParamDoc(type="device", many=True)


def test_the_sample_request_is_exact() -> None:
    found = match(SAMPLE, RECIPES, sample())
    assert found.outcome is Match.EXACT
    assert found.candidates[0].recipe == "photo-backup"
    assert found.candidates[0].params == {
        "source": {"name": "demo-phone"},
        "target": {"name": "demo-server"},
        "sheet_on": {"name": "vm"},
    }


def test_a_real_phone_is_meant_rather_than_the_demonstration_s() -> None:
    view = fleet(device("demo-phone", demo=True), device("pixel", labels=["phone"]), device("nas", labels=["server"]))
    found = match("back up the pictures of my phone to the server", RECIPES, view)
    assert found.candidates[0].params["source"] == {"name": "pixel"}


@pytest.mark.parametrize(
    ("words", "recipe", "params"),
    [
        ("How are my machines?", "fleet-health", {}),
        ("please check my devices", "fleet-health", {}),
        ("what's filling my disks", "disk-space", {}),
        ("where is the March invoice", "find-file", {"what": "the March invoice"}),
        ('find "tax 2025" on the nas', "find-file", {"what": "tax 2025", "where": {"name": "nas"}}),
        ("copy the folder results from laptop to nas", "copy-folder", None),
        ("run `df -h /` on all servers", "run-everywhere", {"command": ["df", "-h", "/"]}),
        ("run uptime everywhere", "run-everywhere", {"command": ["uptime"]}),
        (
            "Back up ~/Documents of the laptop to nas and vps, keep 3",
            "backup-folder",
            {"folder": "~/Documents", "target": {"any": [{"name": "nas"}, {"name": "vps"}]}, "keep": 3},
        ),
        (
            "back up ~/Documents of the laptop to two machines",
            "backup-folder",
            {"target": {"any": [{"name": "nas"}, {"name": "vps"}]}},
        ),
        ("back up the pictures of the laptop to the nas", "photo-backup", {"target": {"name": "nas"}}),
        ("prove that the backup on the nas can be restored on my laptop", "restore-drill", {"source": {"name": "nas"}}),
        ("collect all PDFs from Downloads everywhere on nas", "collect-files", {"what": "PDFs", "folder": "Downloads"}),
        ("Which files do I have twice?", "find-duplicates", {}),
        ("restart nginx on nas and vps one by one", "restart-and-check", {"service": "nginx"}),
        ("restart nginx on the vps and check port 80", "restart-and-check", {"service": "nginx", "port": 80}),
        ("update all servers one at a time", "patch-one-by-one", None),
        ("run the tests of shop from the laptop on all servers", "test-matrix", {"source": {"name": "laptop"}}),
        ("run count.py over data/*.csv of the laptop everywhere", "split-work", {"data": "data/*.csv"}),
        ("copy the database shop.sqlite from the vps to the laptop", "database-copy", {"file": "shop.sqlite"}),
        ("dump the database a.db of the vps, check it, and keep it on the nas", "database-copy", None),
        ("find duplicates on the nas and put the extra ones into the trash", "find-duplicates", None),
        ("is example.org up?", "site-check", {"url": "https://example.org"}),
        ("when does the certificate of example.org expire", "site-check", {"url": "https://example.org"}),
        ("why is https://example.org/shop on the nas down", "site-down", {"server": {"name": "nas"}}),
        ("errors since 22:00 everywhere", "log-hunt", {"since": "22:00"}),
        ("what went wrong on vps since yesterday", "log-hunt", {"where": {"name": "vps"}, "since": "yesterday"}),
        (
            "search the logs in /var/log on vps for the word ERROR since 2026-11-01",
            "log-hunt",
            {"contains": "ERROR", "since": "2026-11-01"},
        ),
        ("search the logs of vps for the word ERROR of the last 7 days", "log-hunt", {"since": "7 days"}),
        ("run the tests of site from nas on nas", "test-matrix", {"repo": "site", "source": {"name": "nas"}}),
        ("test the repository site from nas on nas", "test-matrix", {"repo": "site"}),
        ("how fast is example.org", "site-check", {"url": "https://example.org"}),
    ],
)
def test_phrases_are_understood_with_their_slots(words: str, recipe: str, params: dict[str, Any] | None) -> None:
    view = fleet(device("laptop"), device("nas", labels=["server"]), device("vps"))
    found = match(words, RECIPES, view)
    assert (found.outcome, found.candidates[0].recipe) == (Match.EXACT, recipe), found
    for name, value in (params or {}).items():
        assert found.candidates[0].params[name] == value


def test_a_file_that_is_sent_to_a_phone_is_asked_where_it_is() -> None:
    pixel = device("pixel", labels=["phone"], os="android")
    view = fleet(device("nas"), pixel, offers={"pixel": offer(without=("fs.write", "fs.hash"))})
    found = match("send the file notes.txt to pixel", RECIPES, view)
    assert (found.outcome, found.candidates[0].recipe) == (Match.NEAR, "file-to-phone")
    assert [missing.name for missing in found.candidates[0].missing] == ["source"]


def test_a_device_that_may_be_two_is_asked_for_with_its_choices() -> None:
    view = fleet(device("nas", labels=["server"]), device("vps", labels=["server"]), device("phone"))
    found = match("back up the pictures of my phone to the server", RECIPES, view)
    assert found.outcome is Match.NEAR
    missing = found.candidates[0].missing
    assert [(item.name, item.choices) for item in missing] == [("target", ("nas", "vps"))]
    assert "target" not in found.candidates[0].params


def test_what_is_given_beside_the_words_wins_and_completes() -> None:
    view = fleet(device("nas", labels=["server"]), device("vps", labels=["server"]), device("phone"))
    words = "back up the pictures of my phone to the server"
    found = match(words, RECIPES, view, params={"target": "vps"})
    assert (found.outcome, found.candidates[0].params["target"]) == (Match.EXACT, "vps")


def test_source_and_target_must_differ() -> None:
    found = match("copy papers from laptop to the laptop", RECIPES, fleet(device("laptop"), device("nas")))
    assert found.outcome is Match.NEAR
    assert "another device" in found.candidates[0].missing[0].reason


@pytest.mark.parametrize("words", ["backup pictures", "pictures backup please", "back up my photos"])
def test_near_words_fill_what_they_can_and_start_nothing(words: str) -> None:
    found = match(words, RECIPES, sample())
    assert found.outcome is Match.NEAR
    assert found.candidates[0].recipe == "photo-backup"
    assert {item.name for item in found.candidates[0].missing} >= {"source", "target"}
    assert len(found.candidates) <= CANDIDATES_MOST


@pytest.mark.parametrize(
    ("words", "recipe", "asks"),
    [
        ("back up ~/Documents to two machines, keep 7", "backup-folder", {"source", "target"}),
        ("back up ~/Documents of the laptop to three machines", "backup-folder", {"target"}),
        ("prove that my backup can be restored", "restore-drill", {"source", "target"}),
        ("collect all PDFs from Downloads everywhere", "collect-files", {"target"}),
        ("the site is down, why", "site-down", {"url", "server"}),
        ("why is example.org down", "site-down", {"server"}),
        ("is the toaster up", "site-check", {"url"}),
    ],
)
def test_what_a_recipe_needs_and_the_words_leave_out_is_asked_for(words: str, recipe: str, asks: set[str]) -> None:
    found = match(words, RECIPES, fleet(device("laptop"), device("nas"), device("vps")))
    assert (found.outcome, found.candidates[0].recipe) == (Match.NEAR, recipe), found
    assert {item.name for item in found.candidates[0].missing} == asks


@pytest.mark.parametrize("words", ["", "   ", "make me a sandwich", "?!", "word " * 200])
def test_words_that_mean_nothing_here_are_none(words: str) -> None:
    assert match(words, RECIPES, sample()).outcome is Match.NONE


def test_a_command_that_needs_a_shell_is_not_run() -> None:
    found = match("run `rm -rf / ; echo done` everywhere", RECIPES, sample())
    assert found.outcome is not Match.EXACT
    assert "shell" in found.candidates[0].missing[0].reason


@given(st.text(max_size=300))
def test_any_text_has_an_outcome(words: str) -> None:
    found = match(words, RECIPES, sample())
    assert len(found.candidates) <= CANDIDATES_MOST
    assert (found.outcome is Match.EXACT) <= (len(found.candidates) == 1 and not found.candidates[0].missing)


@pytest.mark.parametrize("verb", ["copy", "back up", "send", "put", "run", "save", "deploy", "collect", "gather"])
@pytest.mark.parametrize("of", ["of", "from"])
@pytest.mark.parametrize("to", ["to", "to each of"])
@pytest.mark.parametrize("what", ["results", "the old results again", "the file a.txt", "all pictures", "that"])
def test_no_candidate_turns_source_and_target_round(verb: str, of: str, to: str, what: str) -> None:
    view = fleet(device("nas"), device("vps"), device("laptop"))
    found = match(f"{verb} {what} {of} nas {to} vps", RECIPES, view)
    for candidate in found.candidates:
        taken = plain_values(candidate.params)
        assert "vps" not in (taken.get("source"), taken.get("builder")), candidate
        assert "nas" not in (taken.get("target"), taken.get("desk")), candidate


def test_words_that_leave_a_device_out_keep_their_folder() -> None:
    view = fleet(device("nas"), device("vps"), device("laptop"))
    found = match("copy results to vps", RECIPES, view)
    assert (found.outcome, found.candidates[0].recipe) == (Match.NEAR, "copy-folder")
    assert plain_values(found.candidates[0].params) == {"folder": "results", "target": "vps"}
    assert [item.name for item in found.candidates[0].missing] == ["source"]


def test_a_misspelt_word_in_a_name_is_offered_as_what_it_may_be() -> None:
    view = fleet(device("nas"), device("vps"))
    found = match("copy the databse notes.sqlite of vps to nas", RECIPES, view)
    assert [item.recipe for item in found.candidates] == ["database-copy", "copy-folder"]
    assert found.outcome is Match.NEAR


def test_two_misspelt_words_are_named_once_each() -> None:
    found = match("copy the newest 5 pictres from lapotp to vps", RECIPES, fleet(device("laptop"), device("vps")))
    first = found.candidates[0]
    assert (found.outcome, first.recipe, first.unused) == (Match.NEAR, "collect-files", ())
    assert [item.reason for item in first.missing] == ["there is no device lapotp; the nearest is laptop"]
    assert (first.params["count"], first.params["what"]) == (5, "pictures")


@pytest.mark.parametrize("words", [SAMPLE, "find " + "on " * 55, "run " + "`a` on " * 20, "copy a from b to c on " * 6])
def test_matching_costs_in_proportion_to_the_fleet(words: str) -> None:
    shared = offer()

    def cost(count: int) -> int:
        names = [f"box-{number}" for number in range(count)]
        view = fleet(*(device(name) for name in names), offers=dict.fromkeys(names, shared))
        match(words, RECIPES, view)
        return calls(lambda: match(words, RECIPES, view))

    assert cost(200) < GROWTH_MOST * cost(100)


@pytest.mark.parametrize(("words", "most"), [(SAMPLE, 16_000), ("make me a sandwich", 9_000)])
def test_a_request_costs_less_than_when_every_phrase_was_tried(words: str, most: int) -> None:
    """It is matched at each key: trying all phrases made 46,000 and 12,500 calls.

    Where a phrase fits, no recipe that is merely near is looked at.
    """
    match(words, RECIPES, sample())
    assert calls(lambda: match(words, RECIPES, sample())) < most


def test_a_text_of_rhythms_costs_no_more_than_a_request() -> None:
    """Each rhythm is taken out in a pass over all words: 300 of them kept the hub from everybody for a second."""

    def cost(count: int) -> int:
        words = "every monday " * count
        return calls(lambda: match(words, RECIPES, sample()))

    cost(20)
    assert cost(300) < cost(20)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("demo-phone", {"name": "demo-phone"}),
        ("my phone", {"name": "demo-phone"}),
        ("the Server", {"name": "demo-server"}),
        ("my desktop", {"name": "vm"}),
        ("my laptop", {"name": "vm"}),
        ("VM", {"name": "vm"}),
    ],
)
def test_a_device_is_found_by_name_and_class(words: str, value: Any) -> None:
    assert take(words, DEVICE, sample()).value == value


def test_several_devices_are_named_together() -> None:
    view = fleet(device("a", labels=["server"]), device("b-server"), device("phone"), device("demo-server", demo=True))
    assert take("all servers", DEVICES, view).value == {"any": [{"name": "a"}, {"name": "b-server"}]}
    assert take("my machines", DEVICES, view).value == {"any": [{"name": "a"}, {"name": "b-server"}, {"name": "phone"}]}
    reason = "there are no tablets here; `starloom device label NAME tablet` makes a device one"
    assert take("all tablets", DEVICES, view).reason == reason


def test_devices_named_one_by_one_are_taken_together() -> None:
    view = fleet(device("laptop"), device("nas", labels=["server"]), device("vps"))
    assert take("the laptop and vps", DEVICES, view).value == {"any": [{"name": "laptop"}, {"name": "vps"}]}
    assert take("laptop, nas, and vps", DEVICES, view).value == {
        "any": [{"name": "laptop"}, {"name": "nas"}, {"name": "vps"}]
    }
    assert take("nas and NAS", DEVICES, view).value == {"name": "nas"}
    assert take("laptop and the toaster", DEVICES, view).reason == "there is no device like the toaster"
    assert take("three machines", DEVICES, view).value == {
        "any": [{"name": "laptop"}, {"name": "nas"}, {"name": "vps"}]
    }
    two = take("two machines", DEVICES, view)
    assert (two.filled, two.choices) == (False, ("laptop", "nas", "vps"))


def test_only_devices_with_the_tools_are_taken_by_class() -> None:
    view = fleet(
        device("a", labels=["server"]), device("b", labels=["server"]), offers={"a": offer(without=["shell.run"])}
    )
    param = ParamDoc(type="device", needs=["shell.run"])
    assert take("the server", param, view).value == {"name": "b"}


@pytest.mark.parametrize(
    ("kind", "words", "value"),
    [
        ("integer", "three", 3),
        ("integer", "-12", -12),
        ("number", "1.5", 1.5),
        ("boolean", "yes", True),
        ("duration", "the last 3 days", 259_200),
        ("duration", "an hour", 3600),
        ("duration", "15m", 900),
        ("date", "2026-03-01", "2026-03-01"),
        ("path", "the folder ~/My Papers", "~/My Papers"),
        ("path", "my Papers folder", "Papers"),
        ("text", '"two words"', "two words"),
        ("url", "example.org/x", "https://example.org/x"),
        ("hosts", "example.org and 10.0.0.1", ["example.org", "10.0.0.1"]),
        ("argv", "git log --format='%h %s'", ["git", "log", "--format=%h %s"]),
    ],
)
def test_each_type_takes_its_words(kind: str, words: str, value: Any) -> None:
    found = take(words, ParamDoc(type=kind), FleetSnapshot())
    assert found.filled, found.reason
    assert found.value == value
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("integer", "many"),
        ("number", "1.2.3"),
        ("boolean", "maybe"),
        ("duration", "ages"),
        ("duration", "blue hours"),
        ("date", "2026-13-01"),
        ("url", "not an address"),
        ("hosts", "nothing"),
        ("argv", "cat a | sh"),
        ("argv", "'open"),
        ("device", "the toaster"),
        ("device", "the"),
        ("text", "  "),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(kind: str, words: str) -> None:
    found = take(words, ParamDoc(type=kind), sample())
    assert not found.filled
    assert found.value is None


@pytest.mark.parametrize(
    ("words", "recipe", "asked"),
    [
        ("run the tests of shop on all servers", "test-matrix", ["source"]),
        ("run count.py over data/*.csv everywhere", "split-work", ["source"]),
    ],
)
def test_words_that_say_more_are_not_taken_for_a_command(words: str, recipe: str, asked: list[str]) -> None:
    view = fleet(
        device("laptop", labels=["laptop"]), device("nas", labels=["server"]), device("vps", labels=["server"])
    )
    found = match(words, RECIPES, view)
    assert found.outcome is Match.NEAR
    assert [item.name for item in found.candidates[0].missing] == asked
    assert [item.recipe for item in found.candidates] == [recipe, "run-everywhere"]


def test_a_device_that_stands_where_a_folder_stands_is_that_device_and_the_folder_is_asked() -> None:
    view = fleet(device("keller"), device("buero"))
    found = match("back up keller to buero", RECIPES, view)
    first = found.candidates[0]
    assert (found.outcome, first.recipe) == (Match.NEAR, "backup-folder")
    assert first.params == {"source": {"name": "keller"}, "target": {"name": "buero"}}
    assert [(item.name, item.reason) for item in first.missing] == [("folder", "keller is a device; name the folder")]
    quoted = match("back up 'keller' to buero", RECIPES, view).candidates[0]
    assert quoted.params["folder"] == "keller"


@pytest.mark.parametrize(
    ("words", "recipe", "unused"),
    [
        ("back up the photos of June of my phone to the server", "photo-backup", ("June",)),
        ("please back up some photos of the phone", "photo-backup", ()),
        ("newest files on the server", "list-folder", ("newest",)),
        ("make the first pictures on the server smaller", "smaller-pictures", ("first",)),
        ("clean up temporary files but ask me first", "list-folder", ("clean", "temporary", "but ask me first")),
    ],
)
def test_a_near_match_names_the_words_that_it_has_no_place_for(
    words: str, recipe: str, unused: tuple[str, ...]
) -> None:
    found = match(words, RECIPES, sample())
    assert found.outcome is not Match.EXACT
    assert {one.recipe: one.unused for one in found.candidates}[recipe] == unused, found


@pytest.mark.parametrize("which", ["first three", "last 3", "newest", "largest three"])
def test_a_choice_among_pictures_is_no_name_of_a_folder(which: str) -> None:
    for words in (
        f"copy the {which} pictures from laptop to server",
        f"contact sheet of the {which} pictures on laptop",
    ):
        assert match(words, RECIPES, sample()).outcome is not Match.EXACT, words


def test_two_devices_that_are_named_fill_a_place_for_several() -> None:
    view = fleet(device("lena"), device("Tablet"), device("Speicher"), device("vps"))
    said = "collect the photos of the last week from lena and Tablet on Speicher, without duplicates"
    (found,) = match(said, RECIPES, view).candidates
    both = {"any": [{"name": "lena"}, {"name": "Tablet"}]}
    assert (found.recipe, found.params) == ("collect-files", {"where": both, "target": {"name": "Speicher"}})


def test_a_device_without_a_place_in_a_recipe_is_named() -> None:
    view = fleet(device("lena"), device("Speicher"))
    found = match("pick the pictures in Bilder on lena for a client", RECIPES, view).candidates[0]
    assert found.recipe == "picked-pictures"
    assert "lena" in found.unused
    assert "Speicher" not in found.unused


def test_a_command_for_one_device_is_not_offered_for_several() -> None:
    """*Logs* may be those of the system, so it is asked - about one device, not as two recipes that do the same."""
    found = match_all("copy logs from laptop to nas", load_catalogue(), fleet(device("laptop"), device("nas")))
    assert found.outcome is Match.NEAR
    assert [one.recipe for one in found.candidates] == ["copy-folder"]


def test_nothing_is_near_words_that_share_a_mere_verb() -> None:
    found = match_all("make me a coffee", load_catalogue(), fleet(device("laptop"), device("nas")))
    assert (found.outcome, found.candidates) == (Match.NONE, ())
