"""A phone's browser as a device: it joins by the address of the QR code, and loses nothing when it is reloaded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.conftest import NewContext
from tests.e2e.pointer import SEEN_MS
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen
from tests.waiting import until

pytestmark = pytest.mark.e2e
NAME = "pocket"

# What a program might try in order to reach the page, the hub or anything else.
ESCAPES = """
import json
found = {}
def attempt(name, act):
    try:
        found[name] = "reached " + str(act())[:60]
    except BaseException as error:
        found[name] = "refused " + type(error).__name__
import js
from pyodide.code import run_js
from pyodide.http import open_url
import urllib.request
attempt("fetch", lambda: js.fetch("/api/v1/session"))
attempt("stores", lambda: js.indexedDB)
attempt("open_url", lambda: open_url("/api/v1/session"))
attempt("urllib", lambda: urllib.request.urlopen("http://127.0.0.1/").read())
attempt("run_js", lambda: run_js("fetch('/api/v1/session')"))
attempt("function", lambda: js.Object.constructor("return indexedDB")())
open("out/sum.txt", "w").write(str(sum(json.load(open("input.json")))))
json.dump(found, open("result.json", "w"))
print("done")
"""
SIZE_OF_JPEG = """
import json, pathlib, struct
picture = next(path for path in pathlib.Path(".").iterdir() if path.suffix == ".jpg")
data, at = picture.read_bytes(), 2
while not 0xC0 <= data[at + 1] <= 0xC2:
    at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
high, wide = struct.unpack(">HH", data[at + 5 : at + 9])
pathlib.Path("out", "about.txt").write_text(f"{wide} x {high}, asked for as {json.load(open('input.json'))}")
json.dump({"wide": wide, "high": high}, open("result.json", "w"))
"""


# Taps again as soon as the next question has come to the place: both taps are one message to the browser, so
# that a busy machine puts no time between them.
_TAP_TWICE = """([x, y]) => new Promise((done) => {
  const tap = () => {
    const button = document.elementFromPoint(x, y);
    const at = {bubbles: true, cancelable: true, clientX: x, clientY: y, detail: 1};
    for (const event of [new PointerEvent("pointerdown", at), new MouseEvent("click", at)]) button.dispatchEvent(event);
    return button.textContent;
  };
  new MutationObserver((_, seen) => {
    if (document.querySelectorAll("section.question").length !== 1) return;
    seen.disconnect();
    done(tap());
  }).observe(document, {subtree: true, childList: true});
  tap();
})"""
# Remembers whether the Inbox said, at any moment, that nothing waits.
_NOTHING_WAITS = """
window.nothingWaits = false;
const look = () => { window.nothingWaits ||= document.body?.innerText.includes("Nothing waits for you.") ?? false; };
new MutationObserver(look).observe(document, {subtree: true, childList: true, characterData: true});
"""


@pytest.fixture(scope="module")
def pocket(new_context: NewContext, stack: Stack, sample: Seen, screens: Screens) -> Iterator[BrowserContext]:
    """A phone-sized browser that has joined by its address, with nothing typed; its page is open."""
    context = new_context("phone")
    context.grant_permissions(["camera"])
    page = context.new_page()
    thrown: list[str] = []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    asked = stack.client.create("/enrollments", {"label": NAME})
    page.goto(f"/tab/#join={asked['code']}")
    words = page.locator(".sixwords")
    expect(words).to_be_visible()
    assert page.url == f"{stack.url}/tab/", "the code stays in the address bar"
    at_hub = stack.client.get(f"/enrollments/{asked['id']}")
    assert words.inner_text() == at_hub["words"]
    screens.shoot(page, "tab", "joining", "phone")
    page.reload()
    expect(words).to_have_text(at_hub["words"])
    stack.client.create(f"/enrollments/{asked['id']}/approve", {})
    expect(page.get_by_text("Connected")).to_be_visible()
    screens.shoot(page, "tab", "device", "phone")
    yield context
    context.close()
    stack.client.post(f"/devices/{stack.devices()[NAME]['id']}/revoke")
    assert not thrown, f"the tab threw: {thrown}"


@pytest.fixture
def tab(pocket: BrowserContext, stack: Stack) -> Page:
    """The device's one open page, with the switches as they are at first."""
    for old in pocket.pages:
        old.close()
    page = pocket.new_page()
    page.goto("/tab/")
    expect(page.get_by_text("Connected")).to_be_visible()
    page.get_by_role("switch", name="Python").uncheck()
    stack.until_online(NAME)
    return page


def plan(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "tab", "policy": {"approval": "never"}, "tasks": list(tasks), **more}


def tasks_of(stack: Stack, constellation: str) -> dict[str, Any]:
    return {task["id"]: task for task in stack.client.get(f"/constellations/{constellation}")["tasks"]}


def test_my_phone_is_the_browser_that_has_joined(tab: Page, stack: Stack) -> None:
    """Its name has no word for a phone in it, and the sample's phone is there as well."""
    for words, recipe in (
        ("back up the pictures of my phone to demo-server", "picked-pictures"),
        (f"take a picture with my phone and put it on {stack.desktop}", "picture-to-desk"),
    ):
        understood = stack.client.create("/constellations/preview", {"request": words})["understood"]
        assert understood["outcome"] == "exact", understood
        meant = understood["candidates"][0]
        assert (meant["recipe"], meant["params"]["phone"]) == (recipe, {"name": NAME})


def test_a_picture_goes_from_the_phone_over_a_server_to_the_desktop_once(
    tab: Page, stack: Stack, screens: Screens
) -> None:
    stack.until_online("demo-server", stack.desktop)
    question = {"text": "What is it a picture of?", "choices": ["The receipt", "The whiteboard"]}
    started = stack.submit(
        plan(
            {"id": "what", "tool": "ask", "device": {"name": NAME}, "args": question},
            {
                "id": "picture",
                "tool": "camera.capture",
                "device": {"name": NAME},
                "args": {"text": "Take a picture of it"},
            },
            {
                "id": "measure",
                "tool": "python.run",
                "device": {"name": "demo-server"},
                "args": {"code": SIZE_OF_JPEG},
                "inputs": {
                    "files": {"from": "picture", "output": "/files"},
                    "input": {"from": "what", "output": "/answer"},
                },
            },
            {
                "id": "keep",
                "tool": "fs.write",
                "device": {"name": stack.desktop},
                "args": {"under": "from-the-phone"},
                "inputs": {"files": {"from": "measure", "output": "/files"}},
            },
            dependencies=[{"from": "what", "to": "picture", "when": "success"}],
            result=[{"title": "About it", "from": "measure", "output": "/value", "show": "value"}],
        )
    )
    expect(tab.get_by_role("button", name="The receipt")).to_be_visible()
    expect(tab.get_by_text("asked for")).to_have_text(re.compile(r"^\S.* asked for .*\S$"))
    screens.shoot(tab, "tab", "question", "phone")
    tab.reload()
    tab.get_by_role("button", name="The receipt").click()
    expect(tab.get_by_role("button", name="Open the camera")).to_be_visible()
    tab.wait_for_timeout(SEEN_MS)
    tab.get_by_role("button", name="Open the camera").click()
    expect(tab.get_by_role("button", name="Take the picture")).to_be_visible()
    tab.reload()
    tab.get_by_role("button", name="Open the camera").click()
    video = tab.get_by_label("What the camera sees")
    expect(video).to_be_visible()
    until(lambda: video.evaluate("one => one.videoWidth") > 0, "the camera shows something")
    screens.glimpse(tab, "tab", "camera", "phone")
    tab.get_by_role("button", name="Take the picture").click()
    assert stack.until_state(started, "succeeded", "failed", "partial") == "succeeded", tasks_of(stack, started)

    done = tasks_of(stack, started)
    assert {name: len(task["attempts"]) for name, task in done.items()} == dict.fromkeys(done, 1)
    size = stack.client.get(f"/constellations/{started}/result")["items"][0]["value"]
    assert size["wide"] > 0
    about = next(stack.home.rglob("from-the-phone/**/about.txt"))
    assert about.read_text() == f"{size['wide']} x {size['high']}, asked for as The receipt"
    assert re.search(r"camera\.capture\s+done", tab.get_by_role("list").last.inner_text())


def test_a_file_on_a_slow_line_shows_how_much_is_sent_and_is_stopped(
    tab: Page, stack: Stack, screens: Screens, tmp_path: Path
) -> None:
    film = tmp_path / "walk.mov"
    film.write_bytes(bytes(range(256)) * 16_384)
    made = stack.submit(plan({"id": "pick", "tool": "file.pick", "device": {"name": NAME}, "args": {"text": "A film"}}))
    field = tab.get_by_label("Choose a file")
    expect(field).to_be_attached()
    line = tab.context.new_cdp_session(tab)
    slow = {"offline": False, "latency": 40, "downloadThroughput": 200_000, "uploadThroughput": 200_000}
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", slow)
    field.set_input_files(film)
    card = tab.locator(".running li", has_text="walk.mov")
    expect(card).to_contain_text(re.compile(r"[1-9]\d? %.*of 4\.2 MB"))
    screens.glimpse(tab, "tab", "sending", "phone")
    card.get_by_role("button", name="Stop file.pick").click()
    expect(card).to_have_count(0)
    line.detach()
    assert stack.until_state(made, "succeeded", "failed", "partial") == "failed"
    [attempt] = tasks_of(stack, made)["pick"]["attempts"]
    assert attempt["code"] == "declined", attempt


def test_python_runs_in_the_tab_and_reaches_nothing(tab: Page, stack: Stack, tmp_path: Path) -> None:
    code = {"code": ESCAPES, "input": [1, 2, 39]}
    started = stack.submit(plan({"id": "sum", "tool": "python.run", "device": {"name": NAME}, "args": code}))

    def held() -> str:
        return str(stack.client.get(f"/constellations/{started}/why", task_id="sum")["sentence"])

    until(lambda: "Python is switched off" in held(), "the task says which switch it waits for")
    tab.get_by_role("switch", name="Python").check()
    assert stack.until_state(started, "succeeded", "failed", "partial") == "succeeded", tasks_of(stack, started)
    value = stack.client.get(f"/constellations/{started}/result")["items"][0]["value"]
    assert value["stdout"] == "done\n"
    assert [file["name"] for file in value["files"]] == ["sum.txt"]
    assert stack.client.download(value["files"][0]["artifact"], tmp_path / "sum.txt") == 2
    assert (tmp_path / "sum.txt").read_text() == "42"
    tried = value["value"]
    assert set(tried) == {"fetch", "stores", "open_url", "urllib", "run_js", "function"}
    assert all(outcome.startswith("refused") for outcome in tried.values()), json.dumps(tried)


def test_a_program_without_end_is_cancelled_at_once(tab: Page, stack: Stack) -> None:
    tab.get_by_role("switch", name="Python").check()
    until(lambda: "python:run" in stack.devices()[NAME]["grants"], "the hub knows the switch")
    code = {"code": "print('round', flush=True)\nwhile True: pass"}
    started = stack.submit(plan({"id": "loop", "tool": "python.run", "device": {"name": NAME}, "args": code}))
    until(lambda: stack.task_state(started, "loop") == "running", "the loop runs")
    expect(tab.get_by_text("Running", exact=True)).to_be_visible()
    stack.client.create(f"/constellations/{started}/cancel", {})
    assert stack.until_state(started, "cancelled") == "cancelled"
    expect(tab.get_by_text("Connected")).to_be_visible()


def test_a_closed_tab_is_asleep_and_goes_on_when_it_is_opened(
    pocket: BrowserContext, tab: Page, stack: Stack, page_at: Page, screens: Screens
) -> None:
    question = {"text": "Still there?", "choices": ["Yes"]}
    first = stack.submit(plan({"id": "q", "tool": "ask", "device": {"name": NAME}, "args": question}))
    expect(tab.get_by_role("button", name="Yes")).to_be_visible()
    tab.close()
    second = stack.submit(plan({"id": "q", "tool": "ask", "device": {"name": NAME}, "args": question}))

    def why(constellation: str) -> dict[str, Any]:
        found: dict[str, Any] = stack.client.get(f"/constellations/{constellation}/why", task_id="q")
        return found

    for constellation in (first, second):
        until(lambda one=constellation: "is asleep - open it" in why(one)["sentence"], "it says what to do")  # type: ignore[misc]
        assert why(constellation)["open"]["url"].endswith("/tab/")
        assert why(constellation)["fix"] == "open"
    page_at.add_init_script(_NOTHING_WAITS)
    page_at.goto("/inbox")
    waits = page_at.get_by_role("region", name="Waits on your devices").locator(".item", has_text="pocket is asleep")
    expect(waits).to_have_count(2)
    assert not page_at.evaluate("() => window.nothingWaits"), "it was said that nothing waits"
    waits.first.get_by_role("button", name="Open it").click()
    expect(waits.first.get_by_text(f"{stack.url}/tab/")).to_be_visible()
    screens.shoot(page_at, "inbox", "asleep", "wide")
    page_at.goto(f"/constellations/{second}/t/q")
    page_at.get_by_role("tab", name="Why").click()
    expect(page_at.get_by_role("img", name="Scan this with pocket to open its page")).to_be_visible()
    screens.shoot(page_at, "constellation", "asleep", "wide")

    again = pocket.new_page()
    again.goto("/tab/")
    for _ in (first, second):
        again.wait_for_timeout(SEEN_MS)
        again.get_by_role("button", name="Yes").first.click()
    for constellation in (first, second):
        assert stack.until_state(constellation, "succeeded", "failed", "partial") == "succeeded"
        assert len(tasks_of(stack, constellation)["q"]["attempts"]) == 1


@pytest.fixture
def page_at(new_context: NewContext, session: Any) -> Iterator[Page]:
    """The hub's own page on a wide screen, signed in."""
    context = new_context("wide", session)
    yield context.new_page()
    context.close()


def test_the_question_before_the_hub_is_forgotten_is_seen(tab: Page, screens: Screens) -> None:
    tab.get_by_role("button", name="Forget this hub ...").click()
    question = tab.get_by_role("group", name="Forget this hub?")
    expect(question).to_be_in_viewport(ratio=1)
    expect(question).to_be_focused()
    screens.shoot(tab, "tab", "forget", "phone")
    tab.wait_for_timeout(SEEN_MS)
    question.get_by_role("button", name="Stay").click()
    expect(question).to_have_count(0)
    expect(tab.get_by_role("button", name="Forget this hub ...")).to_be_focused()


def test_a_phone_that_forgets_the_hub_has_left_it(new_context: NewContext, stack: Stack) -> None:
    """It stood as offline in the fleet for good, as if it could come back."""
    context = new_context("phone")
    page = context.new_page()
    asked = stack.client.create("/enrollments", {"label": "passer-by"})
    page.goto(f"/tab/#join={asked['code']}")
    expect(page.locator(".sixwords")).to_be_visible()
    stack.client.create(f"/enrollments/{asked['id']}/approve", {})
    expect(page.get_by_text("Connected")).to_be_visible()
    stack.until_online("passer-by")
    page.get_by_role("button", name="Forget this hub ...").click()
    page.wait_for_timeout(SEEN_MS)
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_label("Or type the code that is shown there")).to_be_visible()
    left = stack.devices()["passer-by"]
    assert left["revoked"]
    assert left["left"]
    context.close()


def test_a_removed_device_says_so_and_joins_by_a_new_code(new_context: NewContext, stack: Stack) -> None:
    context = new_context("phone")
    page = context.new_page()
    first, second = (stack.client.create("/enrollments", {"label": "guest"}) for _ in range(2))
    page.goto("/tab/")
    expect(page.get_by_label("Or type the code that is shown there")).to_be_visible()
    page.evaluate(f"location.hash = 'join={first['code']}'")
    expect(page.locator(".sixwords")).to_be_visible()
    assert page.url == f"{stack.url}/tab/"
    stack.client.create(f"/enrollments/{first['id']}/approve", {})
    expect(page.get_by_text("Connected")).to_be_visible()
    page.evaluate(f"location.hash = 'join={second['code']}'")
    expect(page.get_by_text("this device has joined already")).to_be_visible()
    page.evaluate("location.reload()")
    expect(page.get_by_text("Connected")).to_be_visible()

    text = "Is the code of the lock 4711?"
    asked = {"text": text, "choices": ["Yes"]}
    told = stack.submit(plan({"id": "ask", "tool": "ask", "device": {"name": "guest"}, "args": asked}))
    expect(page.get_by_text(text)).to_be_visible()
    stack.client.post(f"/devices/{stack.devices()['guest']['id']}/revoke")
    expect(page.get_by_role("heading", name="This device was removed from the fleet")).to_be_visible()
    expect(page.get_by_text(text)).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", name="This device was removed from the fleet")).to_be_visible()
    expect(page.get_by_text(text)).to_have_count(0)
    expect(page.get_by_text("no longer part of the fleet")).to_be_visible()
    stack.client.post(f"/constellations/{told}/tasks/ask/mark", {"state": "failed"})
    page.evaluate(f"location.hash = 'join={second['code']}'")
    page.get_by_role("button", name="Join again with this code").click()
    expect(page.locator(".sixwords")).to_be_visible()
    stack.client.create(f"/enrollments/{second['id']}/approve", {})
    expect(page.get_by_text("Connected")).to_be_visible()
    expect(page.get_by_text("this device has joined already")).to_have_count(0)
    joined = stack.client.get(f"/enrollments/{second['id']}")["device"]
    stack.client.post(f"/devices/{joined}/revoke")
    context.close()


def test_a_double_tap_answers_the_question_that_was_seen(tab: Page, stack: Stack) -> None:
    device = {"name": NAME}
    asked = [
        {"id": name, "tool": "ask", "device": device, "args": {"text": text, "choices": ["Yes", "No"]}}
        for name, text in (("keep", "Shall I keep the pictures?"), ("erase", "Shall I erase the card?"))
    ]
    made = stack.submit(plan(*asked))
    cards = tab.locator("section.question")
    expect(cards).to_have_count(2)
    answer = cards.first.get_by_role("button", name="Yes")
    # The test before may have left the page of the tab scrolled down.
    answer.scroll_into_view_if_needed()
    box = answer.bounding_box()
    assert box
    at = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert tab.evaluate(_TAP_TWICE, at) == "Yes", "the second tap reaches the answer of the next question"
    expect(cards).to_have_count(1)
    tab.wait_for_timeout(1000)
    expect(cards).to_have_count(1)
    cards.get_by_role("button", name="No").click()
    stack.until_state(made, "succeeded")


def test_a_second_tab_may_take_over_and_gives_back_when_it_closes(
    pocket: BrowserContext, tab: Page, screens: Screens
) -> None:
    other = pocket.new_page()
    other.goto("/tab/")
    expect(other.get_by_text("This device is open in another tab")).to_be_visible()
    screens.shoot(other, "tab", "elsewhere", "phone")
    other.get_by_role("button", name="Use this tab instead").click()
    expect(other.get_by_text("Connected")).to_be_visible()
    expect(tab.get_by_text("Another tab is the device now")).to_be_visible()
    other.close()
    expect(tab.get_by_text("Connected")).to_be_visible()
    way = tab.get_by_role("link", name="Open Starloom's page")
    with pocket.expect_page() as opened:
        way.click()
    expect(opened.value).to_have_url(re.compile("/$|/sign-in"))
    expect(tab.get_by_text("Connected")).to_be_visible()
    tab.close()


def test_the_page_asks_no_other_host_and_keeps_a_strict_policy(pocket: BrowserContext, stack: Stack) -> None:
    page = pocket.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto("/tab/")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    expect(page.get_by_role("heading").first).to_be_visible()
    assert asked
    assert all(url.startswith((stack.url, f"blob:{stack.url}", "data:")) for url in asked), asked
    page.close()


def test_the_tab_keeps_caches_of_the_hub_page(new_context: NewContext) -> None:
    """A phone may be both: a device, and a browser in which its owner looks at the fleet."""
    context = new_context("phone", workers="allow")
    page = context.new_page()
    page.goto("/icon.svg")
    page.evaluate("caches.open('starloom-page').then(kept => kept.put('/', new Response('kept')))")
    page.evaluate("caches.open('shell-0')")
    page.goto("/tab/")
    page.wait_for_function("caches.keys().then(names => !names.includes('shell-0'))")
    assert "starloom-page" in page.evaluate("caches.keys()")
    context.close()


def test_a_bad_code_says_what_to_do(new_context: NewContext, screens: Screens) -> None:
    context = new_context("phone")
    page = context.new_page()
    page.goto("/tab/#join=AAAA-AAAA-AAAA-AAAA")
    expect(page.get_by_role("alert")).to_contain_text("no such join code")
    screens.shoot(page, "tab", "refused", "phone")
    page.get_by_role("button", name="Use another code").click()
    expect(page.get_by_label("Or type the code that is shown there")).to_be_visible()
    context.close()


def test_the_built_page_is_there(stack: Stack) -> None:
    built = Path(__file__).parents[2] / "device_agents" / "browser" / "dist"
    assert (built / "index.html").is_file()
    assert list(built.glob("python/pyodide-*/pyodide.asm.wasm"))
    assert stack.client.outside("/tab/")[0] == 200
