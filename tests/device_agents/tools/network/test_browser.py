"""Pages of a small server, looked at with a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools.network import browser
from starloom_protocol.vocabulary import RISKY_EFFECTS, Code
from tests.device_agents.tools.conftest import Device
from tests.served import Quiet, Served

PAGE = b"""<!doctype html><title>A page</title><body><h1>Hello</h1><p id=said></p><input id=word>
<button onclick="said.textContent = 'You wrote ' + word.value">Say</button>
<a href="/next">on</a><img src="http://elsewhere.invalid/x.png">
<script>document.body.append('by a script')</script>"""


OUT = """<!doctype html><title>Out</title><body><script>
const told = (name) => document.body.append(` ${name} `);
fetch("/away/HOST", {mode: "no-cors"}).then(() => told("fetched"), () => told("no fetch"));
const socket = new WebSocket("ws://HOST:PORT/socket");
socket.onerror = () => told("no socket");
const frame = document.createElement("iframe");
frame.src = "/away/HOST";
frame.onload = () => told("frame");
document.body.append(frame);
</script>"""


class Pages(Quiet, BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        host, port = self.headers["Host"].split(":")
        self.asked.append((host, self.path))
        _, kind, other = f"{self.path}/".split("/", 2)
        other = other.strip("/")
        if kind == "away":
            self.reply(302, Location=f"http://{other}:{port}/inside")
            return
        page = OUT.replace("HOST", other).replace("PORT", port).encode() if kind == "out" else PAGE
        self.reply(200, page, Content_Type="text/html")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with Served(Pages, address="0.0.0.0") as served:
        yield f"{served.url}/"


@pytest.fixture(autouse=True)
def as_any_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tests run as root, the browser runs without its own sandbox, which the tool itself never does."""
    monkeypatch.setattr(browser, "_OWN_SANDBOX", not browser._as_root())
    monkeypatch.setattr(browser, "_as_root", lambda: False)
    Pages.asked.clear()


def test_a_page_is_read_as_it_stands_after_its_scripts(device: Device, site: str) -> None:
    found = device.call("browser.read", url=site, hosts=("127.0.0.1",))
    assert found["title"] == "A page"
    assert "Hello" in found["text"]
    assert "by a script" in found["text"]
    assert found["links"] == [{"text": "on", "href": site + "next"}]
    assert found["blocked_hosts"] == ["elsewhere.invalid"]
    assert found["complete"]


def test_a_picture_of_a_page(device: Device, site: str) -> None:
    found = device.call("browser.capture", url=site, hosts=("127.0.0.1",))
    assert device.store.read(found["picture"]).startswith(b"\x89PNG")


def test_steps_in_a_page(device: Device, site: str) -> None:
    steps = [{"fill": "#word", "text": "good morning"}, {"click": "button"}, {"press": "Tab"}, {"wait_for": "#said"}]
    found = device.call("browser.steps", url=site, steps=steps, hosts=("127.0.0.1",))
    assert "You wrote good morning" in found["text"]
    assert found["steps"] == 4


def test_what_is_not_there_is_waited_for_and_said(device: Device, site: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("browser.steps", url=site, steps=[{"click": "#nobody"}], within_s=1, hosts=("127.0.0.1",))
    assert failed.value.code is Code.TIMED_OUT


def test_a_host_that_is_not_listed_is_never_asked(device: Device, site: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("browser.read", url=site, hosts=("example.org",))
    assert failed.value.code is Code.POLICY_REFUSED


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2"])
def test_a_page_that_leads_to_another_host_is_not_followed(device: Device, site: str, host: str) -> None:
    with pytest.raises(ToolFailed, match=f"{host} is not among the hosts") as failed:
        device.call("browser.read", url=f"{site}away/{host}", hosts=("127.0.0.1",))
    assert failed.value.code is Code.POLICY_REFUSED
    assert {asked for asked, _ in Pages.asked} == {"127.0.0.1"}


@pytest.mark.parametrize(("host", "hosts"), [("localhost", ("127.0.0.1", "localhost")), ("127.0.0.2", ("*",))])
def test_a_page_may_lead_to_a_host_that_is_named(device: Device, site: str, host: str, hosts: tuple[str, ...]) -> None:
    assert "Hello" in device.call("browser.read", url=f"{site}away/{host}", hosts=hosts)["text"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2"])
def test_no_script_socket_or_frame_of_a_page_leaves_its_hosts(device: Device, site: str, host: str) -> None:
    steps = [{"wait_for": "text=no fetch"}, {"wait_for": "text=no socket"}, {"wait_for": "text=frame"}]
    found = device.call("browser.steps", url=f"{site}out/{host}", steps=steps, hosts=("127.0.0.1",))
    assert {asked for asked, _ in Pages.asked} == {"127.0.0.1"}
    assert found["blocked_hosts"] == [host]


def test_what_does_not_answer_is_a_network_failure(device: Device) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("browser.read", url="http://127.0.0.1:9/", hosts=("*",))
    assert failed.value.code is Code.NETWORK


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "http://", "about:blank"])
def test_only_http_addresses_are_opened(url: str, device: Device) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("browser.read", url=url, hosts=("*",))
    assert failed.value.code is Code.BAD_ARGUMENTS


def test_a_step_is_one_thing(device: Device) -> None:
    with pytest.raises(ToolFailed, match="step 2 needs exactly one"):
        device.call(
            "browser.steps", url="http://x/", steps=[{"click": "a"}, {"click": "a", "press": "b"}], hosts=("*",)
        )


def test_it_is_offered_only_where_everything_is_there(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    assert browser._probe() is None
    monkeypatch.setattr(browser, "_as_root", lambda: True)
    assert "not root" in str(browser._probe())
    with pytest.raises(ToolFailed, match="not root"):
        device.call("browser.read", url="http://x/", hosts=("*",))
    monkeypatch.setattr(browser, "executable", lambda: None)
    assert "no Chromium" in str(browser._probe())
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert "pip install playwright" in str(browser._probe())


def test_what_acts_in_a_page_asks() -> None:
    asks = {tool.name: tool.asks_first for tool in browser.TOOLS}
    assert asks == {"browser.read": False, "browser.capture": False, "browser.steps": True}
    assert all(tool.grant == "net:reach" for tool in browser.TOOLS)
    assert any(RISKY_EFFECTS & set(tool.effects) for tool in browser.TOOLS)
