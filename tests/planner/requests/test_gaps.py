"""Words that no recipe carries out are told so, with requests that work on the devices that they name."""

from __future__ import annotations

import re

import msgspec
import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.gaps import gap_in
from starloom.planner.requests.matching import Match, match_all
from starloom.planner.requests.refusals import refused
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Code, Repeatability
from tests.planner.fleets import device, fleet, offer, tab_offer

CATALOGUE = load_catalogue()
FLEET = fleet(device("laptop"), device("Große Kiste"), device("nas"))


@pytest.mark.parametrize(
    ("words", "says", "names"),
    [
        ("restart the computer laptop", "turns off a whole device", "laptop"),
        ("reboot große kiste", "turns off a whole device", "Große Kiste"),
        ("compare laptop and Große Kiste", "compares whole devices", "Große Kiste"),
        ("which programs use most memory", "lists programs", "Große Kiste"),
        ("delete the old photos on laptop", "deletes files", "laptop"),
        ("find all photos on laptop from last summer", "by date", "laptop"),
        ("move Papers from nas to laptop", "moves files", "copy Papers from nas to laptop"),
        ("sync Papers between große kiste and nas", "moves files", "copy Papers from Große Kiste to nas"),
        ("tell me when laptop is idle", 'add "how is laptop" --cron "every hour"', "laptop"),
        ("tell me when the disk of nas is full", 'add "is nas nearly full" --cron "every hour"', "nas"),
        ("warn me when laptop has little space", 'add "is laptop nearly full" --cron "every hour"', "laptop"),
        ("tell me when a file appears in Inbox on nas", 'Inbox on nas" --cron "every hour" --notify change', "nas"),
        ('tell me once a scan lands in "My Scans" on nas', 'add "list the files in My Scans on nas"', "My Scans"),
        ("move everything off nas onto laptop", "removes nothing", "copy everything from nas to laptop"),
        ("which files on laptop are not on nas", "only one of them has", "compare Documents on laptop"),
        ("run a.py of laptop over data/*.csv of nas", "copy the file a.py from laptop to nas", "a.py"),
        ("send my client 20 pictures by a link", "makes a link for others", "Documents"),
        ("share Papers of nas with a link", "makes a link for others", "Papers"),
        ("copy Papers from nas to laptop, skip what exists", "overwrites nothing", "copy Papers from nas to laptop"),
        ("turn off nas at night", "turns off a whole device", "nas"),
        ("what is running on laptop", "lists programs", "laptop"),
        ("delete the largest files on laptop", "deletes files", "laptop"),
        ("rename the photos in Fotos on laptop by the date they were taken", "no tool reads when", "laptop"),
        ("what runs on laptop", "lists programs", "laptop"),
        ("install htop on laptop", "starloom-agent grant shell:run -- apt-get install -y {[a-z0-9.+-]+}", "laptop"),
        ("Install Firefox on all desks", "no recipe installs programs", "Große Kiste"),
        ("cancel the backup of laptop", "words start work and end none", "laptop"),
        ("print invoice.pdf on nas", "no recipe and no tool prints", "run lp letter.pdf on nas"),
        ("print the letter on the office printer", "no recipe and no tool prints", "Große Kiste"),
        ("brief.pdf drucken", "no recipe and no tool prints", "Große Kiste"),
        ("drucke die Rechnung auf nas aus", "no recipe and no tool prints", "run lp letter.pdf on nas"),
        ("Bildschirm sperren", "operates a device itself", "run loginctl lock-sessions on Große Kiste"),
        ("sperre nas", "operates a device itself", "run loginctl lock-sessions on nas"),
        ("maile die Fotos an Anna", "sends mail or messages to people", "Große Kiste"),
        ("schreibe eine Mail an Anna", "sends mail or messages to people", "Große Kiste"),
        ("weck nas auf", "turns a device on", "how is nas"),
        ("fahre nas herunter", "turns off a whole device", "nas"),
        ("who still has old versions of contract.txt", "which version of a file is the old one", "find contract.txt"),
        ("wer hat noch alte Versionen von vertrag.txt", "which version of a file is the old one", "find vertrag.txt"),
        ("e-mail invoice.pdf to Anna", "sends mail or messages to people", "Große Kiste"),
        ("message Anna that I am late", "sends mail or messages to people", "Große Kiste"),
        ("send the pictures to Anna by mail", "sends mail or messages to people", "Große Kiste"),
        ("lock the screen", "operates a device itself", "run loginctl lock-sessions on Große Kiste"),
        ("lock nas", "operates a device itself", "run loginctl lock-sessions on nas"),
        ("wake up nas", "turns a device on", "how is nas"),
        ("tell me when nas is down", "`starloom devices` and the page *Fleet*", "nas"),
        ("let me know if my laptop comes back online", "`starloom devices` and the page *Fleet*", "laptop"),
    ],
)
def test_a_gap_is_told_with_requests_that_work(words: str, says: str, names: str) -> None:
    found = match_all(words, CATALOGUE, FLEET)
    assert (found.outcome, found.candidates) == (Match.NONE, ())
    fault = refused(found, FLEET)
    assert fault.code is Code.REQUEST_NOT_UNDERSTOOD
    assert says in fault.reason
    offered = [request for request in re.findall(r"\*([^*]+)\*", fault.reason) if request != "Fleet"]
    assert offered
    assert all(names in request for request in offered)
    for request in offered:
        assert match_all(request, CATALOGUE, FLEET).outcome is Match.EXACT, request


@pytest.mark.parametrize(
    "words",
    [
        "tell me when the website is down",
        "alert me as soon as https://shop.example is unreachable",
        "notify me if our web site goes offline",
        "tell me whenever shop.example.org is down",
    ],
)
def test_who_wants_to_hear_of_a_site_is_told_of_a_schedule(words: str) -> None:
    found = match_all(words, CATALOGUE, FLEET)
    assert (found.outcome, found.candidates) == (Match.NONE, ())
    assert '`starloom schedule add "is example.org up" --cron "every hour"`' in refused(found, FLEET).reason


@pytest.mark.parametrize(
    "words", ["install the updates on nas", "install updates everywhere", "tell me the site of nas"]
)
def test_words_that_only_begin_so_are_no_gap(words: str) -> None:
    assert gap_in(words, FLEET) == ""


@pytest.mark.parametrize("words", ["restart nginx on laptop", "find duplicates on laptop", "how are my machines"])
def test_words_that_a_recipe_takes_have_no_gap(words: str) -> None:
    assert match_all(words, CATALOGUE, FLEET).outcome is Match.EXACT


@pytest.mark.parametrize(
    "words",
    [
        "restart nginx on everything that is red",
        "sing me a song",
        "compare two logs",
        "move the ten biggest videos to the nas",
        "tell me when it rains",
        "tell me a joke",
        "rename the photos of last summer",
        "stop nginx on laptop",
        "what did the romans ever do for us",
        "empty the dishwasher",
    ],
)
def test_other_words_keep_their_candidates(words: str) -> None:
    assert match_all(words, CATALOGUE, FLEET).gap == ""


def test_a_name_of_a_device_counts_as_whole_words_alone() -> None:
    view = fleet(device("pi"), device("zeus"))
    assert match_all("compare two pictures of the pilot", CATALOGUE, view).gap == ""
    assert "*largest files on pi*" in match_all("delete the pictures of zeuss on pi", CATALOGUE, view).gap
    assert "*largest files on zeus*" in match_all("delete the pictures on zeus", CATALOGUE, view).gap
    assert match_all("reboot pi-hole", CATALOGUE, view).gap == ""


def test_no_request_is_offered_that_its_device_cannot_carry_out() -> None:
    tab = Offer(digest="t", tools=[ToolOffer(name="notify", repeatability=Repeatability.NEVER)])
    alone = fleet(device("handy", os="browser"), offers={"handy": tab})
    assert match_all("delete the pictures on handy", CATALOGUE, alone).gap == "no recipe deletes files"
    beside = fleet(device("handy", os="browser"), device("kiste"), offers={"handy": tab})
    assert "*largest files on kiste*" in match_all("delete the pictures on handy", CATALOGUE, beside).gap


def test_without_a_device_nothing_is_offered() -> None:
    assert match_all("delete my photos", CATALOGUE, FleetSnapshot()).gap == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("rename laptop to desk", "`starloom device rename`"),
        ("empty the bin on nas", "*empty the trash of nas* asks first"),
        ("when was nas last seen", "`starloom activity --device`. *how is nas* looks at it now"),
        ("what did nas do yesterday", "`starloom activity --device`"),
    ],
)
def test_a_request_for_something_else_than_work_is_told_where_it_is(words: str, says: str) -> None:
    assert says in match_all(words, CATALOGUE, FLEET).gap


REVOKED_MS = 1_795_848_300_000
GONE = msgspec.structs.replace(device("oldbox"), id="d-gone", revoked=True, link_since_ms=REVOKED_MS)


@pytest.mark.parametrize("words", ["how is oldbox", "disk space on oldbox", "what fills the disk of Oldbox", "oldbox"])
def test_a_revoked_device_is_told_with_the_way_back(words: str) -> None:
    view = fleet(device("laptop"), GONE)
    found = match_all(words, CATALOGUE, view)
    assert found.outcome is not Match.EXACT
    reason = refused(found, view).reason
    assert "oldbox was revoked on 28 November 2026 at 06:45 UTC" in reason
    assert "starloom-agent leave" in reason
    assert "no device like" not in reason


def test_a_device_that_left_is_told_so() -> None:
    view = fleet(device("laptop"), msgspec.structs.replace(GONE, left=True))
    assert "oldbox left this hub on" in refused(match_all("how is oldbox", CATALOGUE, view), view).reason


def test_a_name_that_another_device_has_is_no_revoked_one() -> None:
    pixel = device("pixel", labels=["phone"])
    for view in (fleet(device("oldbox"), GONE), fleet(pixel, msgspec.structs.replace(GONE, id="d-p", name="phone"))):
        said = "how is the weather on oldbox or phone"
        assert "revoked" not in refused(match_all(said, CATALOGUE, view), view).reason
    assert not fleet(device("laptop"), msgspec.structs.replace(GONE, forgotten=True)).gone


@pytest.mark.parametrize(
    "words",
    [
        "who is in a.txt and not in b.txt",
        "which lines of a.txt are not in b.txt",
        "what is in a.txt on nas but not in b.txt on laptop",
    ],
)
def test_lines_of_one_file_alone_are_told_with_requests_that_run(words: str) -> None:
    gap = match_all(words, CATALOGUE, FLEET).gap
    one, other = ("nas", "laptop") if "nas" in words else ("Große Kiste", "laptop")
    for request in (f"compare a.txt on {one} with b.txt on {other}", f"run grep -vxFf b.txt a.txt on {one}"):
        assert f"*{request}*" in gap
        assert match_all(request, CATALOGUE, FLEET).outcome is Match.EXACT


def test_a_question_without_a_colon_is_told_its_form() -> None:
    asked = match_all("ask my phone have you eaten?", CATALOGUE, FLEET)
    assert (asked.outcome, "*ask my phone: is dinner ready?*" in asked.gap) == (Match.NONE, True)
    for words in ("ask laptop for the newest picture", "ask Ann have you eaten?"):
        assert "colon" not in match_all(words, CATALOGUE, FLEET).gap


@pytest.mark.parametrize(
    ("words", "tool", "name"),
    [
        ("read out the clipboard of my phone", "clipboard", "Lenas Handy"),
        ("show the clipboard of laptop", "clipboard.read", "laptop"),
        ("put a text on the clipboard of laptop", "clipboard.write", "laptop"),
        ("format the disk of laptop", "", ""),
        ("shred the clipboard of laptop", "", ""),
    ],
)
def test_the_tool_that_comes_near_is_named_with_its_device(words: str, tool: str, name: str) -> None:
    titles = {"clipboard.read": "Read the text on the clipboard", "clipboard.write": "Put a text on the clipboard"}
    whole, tab = offer(), tab_offer("Android phone Chrome")
    own = [clipboard(name, title) for name, title in titles.items()]
    offers = {
        "laptop": msgspec.structs.replace(whole, tools=[*whole.tools, *own]),
        "Lenas Handy": msgspec.structs.replace(tab, tools=[*tab.tools, clipboard("clipboard", "Read or write it")]),
    }
    found = match_all(words, CATALOGUE, fleet(device("laptop"), device("Lenas Handy", os="browser"), offers=offers))
    assert (f"`{tool}` of {name} comes near" in found.gap) is bool(tool)
    assert "comes near" not in found.gap or found.outcome is Match.NONE


def clipboard(name: str, title: str) -> ToolOffer:
    return ToolOffer(name=name, title=title, effects=[], repeatability=Repeatability.NEVER)
