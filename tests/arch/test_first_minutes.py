"""Walks docs/first-ten-minutes.md as printed: its lines, in a fresh clone, in terminals that know nothing.

The fleet is named as the page names it: the computer is called laptop, a server home-server, a phone phone. The clicks
of the page are walked in `tests/e2e/test_first_ten_minutes.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from starloom.client.discovery import read_local
from starloom.client.rest import Client
from starloom.host.agents import LocalAgent, join
from starloom.lab.installation import left_over
from starloom.process.computers import computer_name
from starloom_protocol.vocabulary import Profile
from tests.arch.checkout import ROOT
from tests.arch.clone import Clone, make_clone, until_said
from tests.arch.documents import Block, blocks
from tests.waiting import SLOWER

PAGE = "docs/first-ten-minutes.md"
ANSWER = "21 pictures are on demo-server, each read back and equal"
TOLD = " ".join((ROOT / PAGE).read_text(encoding="utf-8").split())
STARTED_S = 240 * SLOWER
INSTALLED_S = 900 * SLOWER
ASKED_S = 90 * SLOWER


def told(words: str) -> str:
    """Return the words, which the page must tell its reader."""
    assert words in TOLD, f"{PAGE} does not say {words!r}"
    return words


def lines() -> tuple[Block, Block]:
    """Return the block that starts everything, and the one to type in another terminal."""
    found = [block for block in blocks() if block.place.startswith(PAGE) and block.language == "sh"]
    start, ask, *rest = found
    assert start.value("skip") == "starts-the-service"
    assert not ask.flags
    assert [block.value("skip") for block in rest] == ["needs-another-machine"], "a further block is to be walked"
    return start, ask


def home_of(clone: Clone) -> Path:
    return clone.folder / ".starloom"


@contextmanager
def hub_of(clone: Clone) -> Iterator[Client]:
    address = read_local(home_of(clone))
    assert address is not None
    client = Client(address)
    try:
        yield client
    finally:
        client.close()


def names(client: Client) -> set[str]:
    return {item["name"] for item in client.get("/devices")["items"] if not item["revoked"]}


def ask_how_machines_are(clone: Clone, ask: Block, *machines: str) -> None:
    done = clone.run(ask.text, ASKED_S)
    assert done.returncode == 0, done.stdout
    told("The answer is a line for each of your machines")
    for machine in machines:
        assert machine in done.stdout, done.stdout
    told("the two demo devices are left out beside a real one, and the answer says so")
    assert re.search(r"demo-(server|phone)", done.stdout), done.stdout


def name_the_fleet(client: Client) -> None:
    """Name the computer as the page does, and let a server and a phone join that are off by now."""
    (own,) = [item for item in client.get("/devices")["items"] if item["name"] == computer_name()]
    client.patch(f"/devices/{own['id']}", {"name": told("laptop")})


def join_absent(client: Client, place: Path, name: str) -> None:
    agent = LocalAgent(place / name, name, client.address.url, Profile.OBSERVE)
    asyncio.run(join(client, agent))


def walk(place: Path, *, prepared: bool) -> None:
    start, ask = lines()
    clone = make_clone(place, prepared=prepared)
    with clone.running(start.text, place / "first.log") as service:
        said = until_said(service, place / "first.log", told(ANSWER), INSTALLED_S)
        told("It prints a link")
        assert re.search(r"http://\S+#\S+|http://\S+\?\S+|http://\S+/sign-in\S+", said), said
        until_said(service, place / "first.log", "Ctrl-C stops everything.", ASKED_S)
        ask_how_machines_are(clone, ask, computer_name())
        with hub_of(clone) as client:
            name_the_fleet(client)
            for name in ("home-server", "phone"):
                join_absent(client, place / "elsewhere", told(name))
            fleet = names(client)
    assert list(left_over(home_of(clone))) == []
    assert fleet == {"laptop", "home-server", "phone", "demo-server", "demo-phone"}
    with clone.running(start.text, place / "second.log") as service:
        said = until_said(service, place / "second.log", "Ctrl-C stops everything.", STARTED_S)
        assert "The sample has ended well here before." in said, said
        ask_how_machines_are(clone, ask, "laptop")
        with hub_of(clone) as client:
            assert names(client) == fleet, "the second start joins nothing again"
    assert list(left_over(home_of(clone))) == []


def test_the_lines_of_the_first_ten_minutes_work_twice(tmp_path: Path) -> None:
    walk(tmp_path, prepared=True)


@pytest.mark.proof(shown_by="tests/arch/test_first_minutes.py::test_the_lines_of_the_first_ten_minutes_work_twice")
def test_the_lines_work_twice_where_nothing_is_installed(tmp_path: Path) -> None:
    walk(tmp_path, prepared=False)
