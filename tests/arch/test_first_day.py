"""The first day of a person without a clone: the wheels alone, installed by pip into an environment of their own.

The sample, health, a server by the pasted line, a phone by the address of its QR code, a second start, and an agent
that is upgraded after its hub was. Terminals have a home of their own and know nothing of the checkout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from starloom.host.ports import free_port
from starloom.process.computers import computer_name
from tests.arch.checkout import ROOT
from tests.arch.clone import PAGES, Clone, make_clone, until_said
from tests.e2e.elsewhere import elsewhere
from tests.guard.drivers.answers import browsing
from tests.programs import ran
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.proof(shown_by="tests/host/test_installed_wheels.py")

INSTALLED_S = 600 * SLOWER
ASKED_S = 120 * SLOWER
READY_MS = 60_000 * SLOWER
NEWER = "0.9.0"
VERSION_LINE = re.compile(r'^((?:__version__|version) = ")[^"]+(")', re.MULTILINE)


class Day:
    """What the person types: `own` is a terminal of the computer, `server` one of another machine."""

    def __init__(self, place: Path, far: Path) -> None:
        self.place = place
        self.port = free_port()
        home = place / "home"
        home.mkdir()
        checkout = Path(sys.executable).parent
        paths = [path for path in os.environ["PATH"].split(os.pathsep) if Path(path) != checkout]
        self.program = place / "starloom" / "bin"
        clean = {"PATH": os.pathsep.join([f"{sys.base_prefix}/bin", *paths])}
        settings = {
            "STARLOOM_LAN_HOST": "127.0.0.1",
            "STARLOOM_LAN_PORT": str(free_port()),
            "STARLOOM_PORT": str(self.port),
        }
        own = {"PATH": f"{self.program}{os.pathsep}{clean['PATH']}", "HOME": str(home), **settings}
        self.own = Clone(place, own)
        self.server = Clone(far, {**clean, "HOME": str(far)})

    def wheels(self, checkout: Path) -> list[str]:
        """Build the wheels of a checkout as `make wheels` does, keep them, and return their paths."""
        done = ran([sys.executable, "scripts/wheels.py"], cwd=checkout, timeout=INSTALLED_S)
        assert done.returncode == 0, done.stdout + done.stderr
        kept = Path(tempfile.mkdtemp(prefix="wheels-", dir=self.place))
        built = json.loads(done.stdout.splitlines()[-1])["wheels"]
        return [str(shutil.copy(checkout / path, kept)) for path in built.values()]

    def install(self, line: str) -> None:
        done = self.own.run(line, INSTALLED_S)
        assert done.returncode == 0, done.stdout

    def starloom(self, words: str) -> str:
        done = self.own.run(f"starloom {words}", ASKED_S)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def devices(self) -> dict[str, dict[str, Any]]:
        return {item["name"]: item for item in json.loads(self.starloom("devices --json"))["items"]}

    def until_online(self, name: str) -> None:
        until(lambda: self.devices().get(name, {}).get("link") == "online", f"{name} is online", ASKED_S)

    def ask_health(self, *machines: str) -> None:
        said = self.starloom('submit "how are my machines" --wait')
        for machine in machines:
            assert machine in said, said


@pytest.fixture
def day() -> Iterator[Day]:
    place = Path(tempfile.mkdtemp(prefix="sl-day-"))  # the path of a Unix socket must be short
    try:
        with elsewhere() as far:
            yield Day(place, far)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    assert not [process.cmdline() for process in psutil.process_iter() if str(place) in " ".join(_argv(process))]


def _argv(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def join_server(day: Day, page: Page) -> None:
    page.get_by_role("button", name="Add device").click()
    sheet = page.get_by_role("complementary", name="Add a device")
    line = sheet.locator("code").first
    expect(line).to_contain_text("join.py")
    screen = day.place / "server.log"
    with day.server.running(line.inner_text(), screen) as typing:
        words = sheet.locator(".words")
        expect(words).to_be_visible(timeout=READY_MS)
        until(lambda: words.inner_text() in screen.read_text(), "the terminal shows the same words")
        sheet.get_by_role("button", name="Same, approve").click()
        expect(sheet.get_by_text("in the fleet")).to_be_visible(timeout=READY_MS)
        assert typing.wait(ASKED_S) == 0, screen.read_text()


def join_phone(page: Page, browser: Browser) -> None:
    """The phone's browser is shown the hub's own certificate, and goes on."""
    page.goto("/devices?add=1")
    sheet = page.get_by_role("complementary", name="Add a device")
    sheet.get_by_role("tab", name="A phone").click()
    expect(sheet.get_by_role("img", name="Scan this with the phone's camera")).to_be_visible()
    pocket = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, ignore_https_errors=True)
    phone = pocket.new_page()
    phone.goto(sheet.locator("code").first.inner_text())
    words = sheet.locator(".words")
    expect(words).to_be_visible(timeout=READY_MS)
    expect(phone.get_by_text(words.inner_text())).to_be_visible()
    sheet.get_by_role("button", name="Same, approve").click()
    expect(sheet.get_by_text("in the fleet")).to_be_visible(timeout=READY_MS)
    pocket.close()


def newer(checkout: Path) -> None:
    """Make the next version of all three distributions of a checkout."""
    for path in (*checkout.glob("*/pyproject.toml"), *checkout.glob("*/*/__init__.py")):
        text = path.read_text(encoding="utf-8")
        path.write_text(VERSION_LINE.sub(rf"\g<1>{NEWER}\g<2>", text), encoding="utf-8")


@pytest.fixture
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=20_000 * SLOWER)
    with browsing() as made:
        yield made


def test_the_wheels_alone_are_a_whole_first_day(day: Day, browser: Browser) -> None:
    checkout = make_clone(day.place / "build", prepared=False).folder
    for pages in PAGES:
        shutil.copytree(ROOT / pages, checkout / pages)
    wheels = " ".join(day.wheels(checkout))
    tested = checkout / "build" / "wheels" / "constraints.txt"
    day.install(f"python3 -m venv starloom && starloom/bin/pip install -q {wheels} -c {tested}")

    with day.own.running("starloom up --demo --lan", day.place / "first.log") as service:
        said = until_said(service, day.place / "first.log", "Ctrl-C stops everything.", ASKED_S)
        assert "Photo backup is done" in until_said(service, day.place / "first.log", "Photo backup is done", ASKED_S)
        day.ask_health(computer_name())
        context = browser.new_context(base_url=f"http://127.0.0.1:{day.port}")
        page = context.new_page()
        page.goto(re.findall(r"http://127\.0\.0\.1:\S+#\S+", said)[-1])
        expect(page.get_by_role("link", name="Fleet").first).to_be_visible()
        page.goto("/devices")
        join_server(day, page)
        join_phone(page, browser)
        context.close()
        names = set(day.devices())
        (server,) = [
            name
            for name, item in day.devices().items()
            if not item["demo"] and name != computer_name() and item["os"] == "linux"
        ]
        assert len(names) == 5
        day.ask_health(computer_name(), server)

    with day.own.running("starloom up --demo --lan", day.place / "second.log") as service:
        until_said(service, day.place / "second.log", "Ctrl-C stops everything.", ASKED_S)
        assert set(day.devices()) == names, "the second start joins nothing again"
        day.until_online(server)
        day.ask_health(computer_name(), server)

    newer(checkout)
    day.install(f"starloom/bin/pip install -q {' '.join(day.wheels(checkout))} -c {tested}")
    with day.own.running("starloom up --lan", day.place / "third.log") as service:
        until_said(service, day.place / "third.log", "Ctrl-C stops everything.", ASKED_S)
        day.until_online(server)
        assert day.devices()[server]["version"] != NEWER
        assert "starloom-agent upgrade" in day.starloom("devices")
        done = day.server.run(".starloom-agent/venv/bin/starloom-agent upgrade", INSTALLED_S)
        assert done.returncode == 0, done.stdout
        day.until_online(server)
        assert day.devices()[server]["version"] == NEWER
        day.ask_health(server)
