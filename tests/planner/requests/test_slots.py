"""Devices that words name, where the corpus of words has no case for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import Match, match
from starloom.planner.requests.slots import take, take_device
from starloom_protocol.plan.recipe import ParamDoc
from starloom_protocol.records.fleet import Device
from tests.planner.fleets import device, fleet, offer, tab_offer

NEEDS = ["fs.find", "artifact.put"]
PHONE = ParamDoc(type="device", needs=["file.pick"])
MOTOROLA = device("motorola von Jule", os="browser", let_in_by="person:jule")
SAMPLE = (device("vm"), device("demo-server", demo=True), device("demo-phone", demo=True))


def test_my_phone_is_no_phone_of_the_demonstration_where_there_is_a_real_one() -> None:
    real, demo = device("handy", os="browser", labels=["phone"]), device("demo-phone", labels=["phone"], demo=True)
    param = ParamDoc(type="device", needs=NEEDS)
    taken = take_device("my phone", param, fleet(real, demo, device("atlas"), offers={"handy": offer(without=NEEDS)}))
    assert not taken.filled
    assert "handy does not offer fs.find" in taken.reason
    assert take_device("my phone", param, fleet(demo, device("atlas"))).value == {"name": "demo-phone"}


@pytest.mark.parametrize("count", ["\u00b3", "9" * 4400], ids=["small", "long"])
def test_odd_digits_before_a_kind_of_device_count_nothing(count: str) -> None:
    assert match(f"restart nginx on {count} servers", load_catalogue().all(), fleet(*SAMPLE)).outcome is not Match.EXACT


@pytest.mark.parametrize("browser", ["Android phone Chrome", "iPhone Safari", "Linux Chrome", ""])
def test_my_phone_is_a_phone_s_browser_whatever_its_name(browser: str) -> None:
    tab = {MOTOROLA.name: tab_offer(browser)}
    beside_the_sample = fleet(MOTOROLA, *SAMPLE, offers=tab)
    assert take_device("my phone", PHONE, beside_the_sample).value == {"name": MOTOROLA.name}
    found = match("back up the pictures of my phone to demo-server", load_catalogue().all(), beside_the_sample)
    assert found.outcome is Match.EXACT
    assert found.candidates[0].recipe == "picked-pictures"
    assert found.candidates[0].params["phone"] == {"name": MOTOROLA.name}
    assert take_device("the phone", PHONE, fleet(MOTOROLA, device("vm"), offers=tab)).value == {"name": MOTOROLA.name}


@pytest.mark.parametrize("browser", ["Windows Edge", "Mac Safari", "iPad Safari"])
def test_a_browser_that_is_no_phone_s_is_not_my_phone(browser: str) -> None:
    view = fleet(device("screen", os="browser"), device("vm"), offers={"screen": tab_offer(browser)})
    assert not take_device("my phone", PHONE, view).filled


def test_a_device_that_is_no_browser_is_no_phone_by_what_it_says() -> None:
    view = fleet(device("vault"), device("vm"), offers={"vault": tab_offer("iPhone Safari")})
    assert not take_device("my phone", PHONE, view).filled


def test_of_two_phones_a_person_is_asked_which_by_name() -> None:
    other = device("galaxy", os="browser")
    offers = {MOTOROLA.name: tab_offer("Android phone Chrome"), "galaxy": tab_offer("Android phone Firefox")}
    taken = take_device("my phone", PHONE, fleet(MOTOROLA, other, offers=offers))
    assert taken.choices == ("galaxy", MOTOROLA.name)
    assert taken.reason == "my phone may be galaxy or motorola von Jule"


def test_my_phone_is_the_one_of_the_person_that_asks() -> None:
    hers = device("pixel", os="browser", let_in_by="person:anna")
    offers = {MOTOROLA.name: tab_offer("Android phone Chrome"), "pixel": tab_offer("Android phone Chrome")}
    both = fleet(MOTOROLA, hers, offers=offers)
    for person, name in (("person:jule", MOTOROLA.name), ("person:anna", "pixel")):
        assert take_device("my phone", PHONE, replace(both, asked_by=person)).value == {"name": name}
    assert not take_device("the phone", PHONE, replace(both, asked_by="person:anna")).filled
    alone = fleet(MOTOROLA, device("vm"), offers=offers)
    taken = take_device("my phone", PHONE, replace(alone, asked_by="person:anna"))
    assert taken.reason == "motorola von Jule joined by a code of jule; say it by its name"
    assert taken.choices == (MOTOROLA.name,)
    assert take_device("motorola von jule", PHONE, replace(alone, asked_by="person:anna")).filled


@pytest.mark.parametrize("real", [device("vps1", labels=["server"]), device("schul-server"), device("server")])
def test_a_real_server_is_meant_before_the_demo_server(real: Device) -> None:
    view = fleet(real, *SAMPLE)
    for words in ("the server", "server", "my server"):
        assert take_device(words, ParamDoc(type="device", needs=NEEDS), view).value == {"name": real.name}


@pytest.mark.parametrize("words", ["the one", "one", "the same", "the other", "that", "them", "those", "it", "this"])
def test_a_word_that_stands_for_a_thing_is_no_name_of_one(words: str) -> None:
    for kind in ("path", "file"):
        assert not take(words, ParamDoc(type=kind), fleet()).filled
        assert take(f'"{words}"', ParamDoc(type=kind), fleet()).value == words
    assert take("one.csv", ParamDoc(type="path"), fleet()).value == "one.csv"


def test_the_nearest_name_is_told_without_denying_it() -> None:
    taken = take_device("basment", ParamDoc(type="device"), fleet(device("basement")))
    assert (taken.reason, taken.choices) == ("there is no device basment; the nearest is basement", ("basement",))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("all switches", "there are no switches here; `starloom device label NAME switch`"),
        ("all Schüler-PCs", "there are no schüler-pcs here; `starloom device label NAME schüler-pc`"),
        ("both mailboxes", "there are no mailboxes here; `starloom device label NAME mailbox`"),
    ],
)
def test_a_kind_that_no_device_is_of_is_told_with_its_label(words: str, reason: str) -> None:
    taken = take(words, ParamDoc(type="device", many=True), fleet(device("nas"), device("pi")))
    assert taken.reason.startswith(reason), taken.reason
