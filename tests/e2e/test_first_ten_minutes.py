"""Walks docs/first-ten-minutes.md in one browser session on one stack, with its words and clicks, and then looks at
the disks and counts the attempts. A word that the walk uses and the page does not tell fails it.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, StorageState, expect

from tests.e2e.conftest import NewContext
from tests.e2e.elsewhere import elsewhere, terminal
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen
from tests.ssh_server import SshServer, ssh_server
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.e2e
TOLD = (Path(__file__).parents[2] / "docs" / "first-ten-minutes.md").read_text(encoding="utf-8")
READY_MS = 60_000 * SLOWER
ENDED = ("succeeded", "partial", "failed", "cancelled")
ANDROID = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile"


def told(words: str) -> str:
    """Return the words, which the page must tell its reader."""
    assert words in TOLD, f"docs/first-ten-minutes.md does not say {words!r}"
    return words


class Walk:
    """One person's session: the page on the laptop, the phone's tab, and what was asked for so far."""

    def __init__(self, stack: Stack, screens: Screens, desk: BrowserContext, pocket: BrowserContext) -> None:
        self.stack = stack
        self.screens = screens
        self._desk = desk
        self._pocket = pocket
        self.page: Page = desk.new_page()
        self.phone: Page = pocket.new_page()

    def press(self, name: str, within: Locator | Page | None = None) -> None:
        (within or self.page).get_by_role("button", name=re.compile(rf"^{re.escape(told(name))}(?!\w)")).first.click()

    def shoot(self, step: str) -> None:
        self.screens.shoot(self.page, "ten-minutes", step, "wide")

    def words(self, request: str) -> None:
        """Say something on Home."""
        self.page.goto("/")
        box = self.page.get_by_role("textbox", name=told("What should happen?"))
        box.fill(told(f"> *{request}*")[3:-1].replace("laptop", self.stack.desktop))
        box.press("Enter")

    def launch(self) -> str:
        self.press("Launch")
        self.page.wait_for_url(re.compile(r"/constellations/"))
        return re.split(r"[/?]", self.page.url.split("/constellations/")[1])[0]

    def ask(self, request: str) -> str:
        self.words(request)
        expect(self.page.get_by_text("I understood")).to_be_visible()
        expect(self.page.get_by_text("What will run")).to_be_visible()
        return self.launch()

    def until_done(self, constellation: str) -> dict[str, Any]:
        """Wait until it has succeeded, and return it."""
        state = self.stack.until_state(constellation, *ENDED)
        made: dict[str, Any] = self.stack.client.get(f"/constellations/{constellation}")
        trouble = {task["id"]: task["state"] for task in made["tasks"] if task["state"] not in ("succeeded", "skipped")}
        assert state == "succeeded", (made["answer"]["sentence"], trouble)
        return made

    def close(self) -> None:
        self.page.close()
        self.phone.close()

    def reopen(self) -> None:
        self.page = self._desk.new_page()
        self.page.goto("/")

    def reopen_phone(self) -> None:
        self.phone = self._pocket.new_page()
        self.phone.goto(f"https://127.0.0.1:{self.stack.lan_port}/tab/")


@pytest.fixture
def server() -> Iterator[SshServer]:
    with elsewhere() as home, ssh_server(home / "ssh") as made:
        yield made


@pytest.fixture
def walk(
    browser: Browser, stack: Stack, screens: Screens, session: StorageState, sample: Seen, new_context: NewContext
) -> Iterator[Walk]:
    desk = new_context("wide", session)
    pocket = browser.new_context(
        viewport={"width": 390, "height": 844},
        has_touch=True,
        ignore_https_errors=True,
        user_agent=ANDROID,
        permissions=["camera"],
    )
    made = Walk(stack, screens, desk, pocket)
    thrown: list[str] = []
    desk.on("weberror", lambda error: thrown.append(str(error.error)))
    pocket.on("weberror", lambda error: thrown.append(str(error.error)))
    yield made
    desk.close()
    pocket.close()
    stack.client.post("/lan/close")
    assert not thrown, f"a page threw: {thrown}"


def watched_sample(walk: Walk, sample: Seen) -> None:
    walk.page.goto("/")
    walk.page.locator(f'a[href="/constellations/{sample.constellation}"]').first.click()
    expect(walk.page.locator(".answer .sentence")).to_contain_text(
        told("21 pictures are on demo-server, each read back and equal")
    )


def add_server(walk: Walk, server: SshServer, folder: Path) -> None:
    walk.page.goto("/devices")
    walk.press("Add device")
    sheet = walk.page.get_by_role("complementary", name="Add a device")
    sheet.get_by_role("tab", name=told("By ssh")).click()
    line = sheet.locator("code").first
    expect(line).to_contain_text("enroll --ssh")
    # The page names the program by its path, where the document has it on the PATH.
    _, program, arguments = line.inner_text().partition("starloom enroll")
    told(program + arguments)
    typed = line.inner_text() + told(" --name home-server --profile files --folder ") + str(folder)
    typed = typed.replace("user@host", "server") + f" --ssh-config {server.config} --hub {walk.stack.home}"
    screen = server.folder / "screen.log"
    with terminal(typed, server.home, screen) as typing:
        assert typing.wait(90 * SLOWER) == 0, screen.read_text()
    expect(sheet.get_by_text(told("in the fleet"))).to_be_visible(timeout=READY_MS)
    walk.shoot("server")
    walk.press("Done", sheet)


def add_phone(walk: Walk) -> None:
    walk.page.goto("/devices")
    walk.press("Add device")
    sheet = walk.page.get_by_role("complementary", name="Add a device")
    sheet.get_by_role("tab", name=told("A phone")).click()
    address = sheet.locator("code").first
    expect(address.or_(sheet.get_by_role("button", name="Allow phones"))).to_be_visible()
    if not address.is_visible():
        walk.press("Allow phones", sheet)
    expect(sheet.get_by_role("img", name="Scan this with the phone's camera")).to_be_visible()
    expect(address).to_contain_text("/tab/#join=")
    walk.phone.goto(address.inner_text())
    words = sheet.locator(".words")
    expect(words).to_be_visible(timeout=READY_MS)
    expect(walk.phone.get_by_text(words.inner_text())).to_be_visible()
    walk.press("Same, approve", sheet)
    expect(sheet.get_by_text("in the fleet")).to_be_visible(timeout=READY_MS)
    sheet.get_by_label("Name of the device").fill(told("phone"))
    walk.press("Rename", sheet)
    until(lambda: "phone" in walk.stack.devices(), "the phone has its name")
    expect(sheet.get_by_text("phone", exact=True)).to_be_visible()
    walk.shoot("phone")
    walk.press("Done", sheet)
    expect(walk.phone.get_by_text("Connected")).to_be_visible()


def take_picture(walk: Walk) -> None:
    walk.phone.get_by_role("button", name=told("Open the camera")).click()
    video = walk.phone.get_by_label("What the camera sees")
    expect(video).to_be_visible()
    until(lambda: video.evaluate("one => one.videoWidth") > 0, "the camera shows something")
    walk.phone.get_by_role("button", name=told("Take the picture")).click()


def repeat_nightly(walk: Walk) -> None:
    walk.press("Repeat...")
    dialog = walk.page.get_by_role("dialog")
    dialog.get_by_label("How often").select_option(label=told("every day"))
    dialog.get_by_label("At", exact=True).fill(told("02:00"))
    expect(dialog.get_by_label("The next five firings").get_by_role("listitem")).to_have_count(5)
    walk.shoot("nightly")
    walk.press("Approve and save", dialog)


def fire(walk: Walk) -> str:
    row = walk.page.get_by_role("article", name="Folder backup")
    row.locator("summary").click()
    walk.press("Run now", row)
    last = row.get_by_role("link", name=re.compile("^last"))
    expect(last).to_be_visible(timeout=30_000 * SLOWER)
    return str(last.get_attribute("href")).rsplit("/", 1)[1]


def add_row(walk: Walk, does: str, runs_on: str, number: int) -> None:
    walk.press("Add a row")
    choose(walk, does)
    walk.page.get_by_label(f"Where row {number} runs").select_option(label=runs_on)


def choose(walk: Walk, does: str) -> None:
    walk.page.get_by_role("combobox", name=re.compile("does|do with it")).fill(told(does))
    walk.page.keyboard.press("Enter")


def more_field(walk: Walk, name: str, value: str) -> None:
    walk.page.get_by_role("button", name=told(name), exact=True).click()
    walk.page.get_by_label(name, exact=True).fill(told(f"`{value}`")[1:-1])


def build_in_rows(walk: Walk) -> str:
    walk.words("when the export is there, tell me what fills the folder of the server")
    expect(walk.page.get_by_text(told("No recipe fits these words."))).to_be_visible()
    walk.page.get_by_role("tab", name=told("Build")).click()
    add_row(walk, "wait until", walk.stack.desktop, 1)
    walk.page.get_by_label("what needed").select_option("file")
    walk.page.get_by_label("path", exact=True).fill(told("Papers/export.csv"))
    more_field(walk, "within s", "600")
    add_row(walk, "free room", told("demo-server"), 2)
    walk.page.get_by_label("path", exact=True).fill(".")
    more_field(walk, "top", "5")
    walk.press("Try this row")
    expect(walk.page.get_by_role("heading", name="Output of row 2")).to_be_visible()
    walk.press("Wait for a row")
    walk.page.get_by_role("button", name=told("rows"), exact=True).click()
    choose(walk, "order rows")
    walk.page.get_by_label("by needed").fill(told("-bytes"))
    walk.shoot("rows")
    return walk.launch()


def change_while_it_runs(walk: Walk) -> None:
    state = walk.page.locator(".top .pill").first
    walk.press("Pause")
    expect(state).to_contain_text("Paused")
    walk.press("Edit plan")
    expect(walk.page.get_by_text("It has started: it stays as it is.").first).to_be_visible()
    where = walk.page.get_by_label("Where row 2 runs")
    where.focus()  # its choices come when one is about to choose
    where.select_option(label=told("home-server"))
    apply = walk.page.get_by_role("button", name=told("Apply"))
    expect(apply).not_to_have_attribute("aria-disabled", "true")
    walk.shoot("reassign")
    apply.click()
    walk.page.wait_for_url(re.compile(r"/constellations/[^/]+$"))
    walk.press("Resume")
    expect(state).to_contain_text("Running")


def state_of(stack: Stack, constellation: str, tool: str) -> str:
    tasks = stack.client.get(f"/constellations/{constellation}")["tasks"]
    return next((str(task["state"]) for task in tasks if task["tool"] == tool), "absent")


def attempts_of(made: dict[str, Any]) -> dict[str, int]:
    return {task["id"]: len(task["attempts"]) for task in made["tasks"] if task.get("attempts")}


def test_the_first_ten_minutes(walk: Walk, stack: Stack, sample: Seen, server: SshServer) -> None:
    papers = stack.gates / "Papers"
    papers.mkdir(parents=True)
    (papers / "tax.txt").write_text("paid\n")
    (papers / "plan.txt").write_text("sleep\n" * 1000)
    backups = server.home / "backups"
    backups.mkdir()

    watched_sample(walk, sample)
    health = walk.until_done(walk.ask("how are my machines"))
    expect(walk.page.locator(".answer")).to_contain_text(stack.desktop)
    walk.shoot("machines")
    add_server(walk, server, backups)
    add_phone(walk)

    asked = walk.ask("take a picture with phone and put it on laptop")
    take_picture(walk)
    picture = walk.until_done(asked)
    expect(walk.page.locator(".stage img")).to_be_visible()
    told("the page shows it")
    walk.shoot("picture")

    asked = walk.ask("back up Papers of laptop to home-server, keep 7")
    backup = walk.until_done(asked)
    repeat_nightly(walk)
    again = walk.until_done(fire(walk))

    built = build_in_rows(walk)
    until(lambda: state_of(stack, built, "wait.until") == "running", "row 1 looks for the file")
    change_while_it_runs(walk)
    walk.close()
    until(lambda: stack.devices()["phone"]["link"] != "online", "the hub has noticed that the tab is closed")
    with stack.hub_away():
        (papers / "export.csv").write_text("a,b\n")
    room = walk.until_done(built)
    walk.reopen()
    expect(walk.page.locator(f'a.recent[href="/constellations/{built}"]')).to_contain_text("is done")
    walk.shoot("home")
    asked = walk.ask("take a picture with phone and put it on laptop")
    walk.page.goto(f"/constellations/{asked}/t/take?tab=why")
    expect(walk.page.get_by_text(told("is asleep - open it")).first).to_be_visible(timeout=20_000 * SLOWER)
    walk.shoot("asleep")
    walk.reopen_phone()
    take_picture(walk)
    second = walk.until_done(asked)

    pictures = [path for path in (stack.gates / "From phone").rglob("*") if path.is_file()]
    assert [path.read_bytes()[:2] for path in pictures] == [b"\xff\xd8"] * 2, "two pictures of the camera, as JPEG"
    archives = sorted(path for path in (backups / "Backups").glob("*.tar.gz"))
    assert len(archives) in (1, 2), "a run each; two within one second are one file"
    assert len({path.read_bytes() for path in archives}) == 1, "the same files give the same bytes"
    with tarfile.open(archives[0]) as packed:
        kept = {Path(one.name).name: _content(packed, one) for one in packed.getmembers() if one.isfile()}
    assert kept.items() >= {"tax.txt": b"paid\n", "plan.txt": b"sleep\n" * 1000}.items()
    assert room["version"] == 2
    (disk,) = [task for task in room["tasks"] if task["tool"] == "disk.usage"]
    assert (disk["device_name"], len(disk["attempts"])) == ("home-server", 1)
    # It ran while the hub was killed, and only looks: it may have been started anew.
    room["tasks"] = [task for task in room["tasks"] if task["tool"] != "wait.until"]
    for made in (health, picture, backup, again, room, second):
        assert set(attempts_of(made).values()) == {1}, made["answer"]["sentence"]
    sampled = attempts_of(stack.client.get(f"/constellations/{sample.constellation}"))
    assert {task for task, count in sampled.items() if count > 1} == {"send.3"}
    assert sampled["send.3"] == 2


def _content(packed: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = packed.extractfile(member)
    assert file is not None
    return file.read()
