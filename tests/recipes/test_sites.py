"""`site-check` and `site-down`: a local site seen from several devices, branches that close, the first cause."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from tests.recipes.fleet import Fleet
from tests.served import Quiet, Served


class _Site(Quiet, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.reply(500 if self.path == "/broken" else 200, b"hello")


@pytest.fixture
def site() -> Iterator[int]:
    with Served(_Site) as served:
        yield served.port


@pytest.fixture
def asking(fleet: Fleet) -> Fleet:
    """Laptop and server may ask this machine; the phone's owner has not listed it."""
    for name in ("laptop", "server"):
        fleet.device(name).grant("net:reach", "127.0.0.1")
    return fleet


def test_a_site_is_seen_from_each_device_that_may_ask(asking: Fleet, site: int) -> None:
    answer = asking.submit(f"is http://127.0.0.1:{site}/ up")
    assert answer.state in ("succeeded", "partial"), answer.told()
    rows = answer.rows("Seen from")
    assert [(row["device"], row["up"], row["status"], row["differs"]) for row in rows] == [
        ("laptop", True, 200, False),
        ("server", True, 200, False),
    ]
    assert answer.value("In short") == "It is up from every device that was asked."


def test_a_page_that_fails_is_down_with_its_reason(asking: Fleet, site: int) -> None:
    answer = asking.submit(f"check http://127.0.0.1:{site}/broken from laptop and server")
    assert answer.state == "succeeded", answer.told()
    why = f"127.0.0.1 port {site} does not answer: the page answers 500"
    assert answer.value("In short") == f"laptop and server: {why}"
    assert [row["up"] for row in answer.rows("Seen from")] == [False, False]


def test_an_unlisted_host_is_refused_with_the_line_to_type(asking: Fleet, site: int) -> None:
    answer = asking.submit(f"check http://127.0.0.1:{site}/ from the phone")
    assert f"grant --home {asking.device('phone').home} net:reach 127.0.0.1" in answer.told()
    assert "check on phone" in answer.sentence


def test_a_site_that_is_up_closes_every_branch(asking: Fleet, site: int) -> None:
    answer = asking.run("site-down", {"url": f"http://127.0.0.1:{site}/", "server": "server", "seen_by": "laptop"})
    assert answer.state == "succeeded", answer.told()
    assert answer.value("First cause") == "It is up. Nothing was found."
    closed = {name for name, task in answer.view.tasks.items() if task.state == "skipped"}
    assert closed == {"itself", "services", "machine", "bad", "log"}


def test_the_first_cause_of_a_site_that_is_down(asking: Fleet) -> None:
    server = asking.device("server")
    server.write("logs/shop.log", "2026-11-21T08:00:00Z error: database is locked\n")
    answer = asking.run(
        "site-down",
        {
            "url": "http://127.0.0.1:9/",
            "server": "server",
            "seen_by": "laptop",
            "log": "logs",
            "since": "2026-01-01",
        },
    )
    assert answer.state == "succeeded", answer.told()
    # Full disks and memory come before the log, and this machine may have one: then it is the cause here as well.
    causes = [row["why"] for row in answer.rows("What was found") if row["looked_at"] in ("disk", "memory", "log")]
    assert answer.value("First cause") == causes[0]
    assert any("database is locked" in cause for cause in causes)
    looked = [row["looked_at"] for row in answer.rows("What was found")]
    assert "network" in looked[looked.index("log") :], "what was seen of it comes after what broke"
    assert answer.rows("The log")[0]["text"].endswith("database is locked")


def test_a_name_that_nobody_knows_is_the_cause_itself(asking: Fleet) -> None:
    asking.device("laptop").grant("net:reach", "surely-not-there.invalid")
    answer = asking.run(
        "site-down", {"url": "http://surely-not-there.invalid/", "server": "server", "seen_by": "laptop"}
    )
    assert answer.state == "succeeded", answer.told()
    assert answer.value("First cause").startswith(
        "surely-not-there.invalid does not answer: the name is not known here"
    )
    assert answer.task("page").state == "skipped"
