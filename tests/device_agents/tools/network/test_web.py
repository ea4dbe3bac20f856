"""`http.request` on a local site: the links of a page by their words."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.text.links import LINKS_MOST, links_of
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device
from tests.served import Quiet, Served

HOSTS = ("127.0.0.1",)
PAGE = '<ul><li>one</li></ul><a href="list-2.html"><b>next</b></a> <a href="javascript:alert(1)">run</a>'


_CUT = {
    "/cut": ("Content-Length", "8"),
    "/cut-large": ("Content-Length", str(10**6 + 1)),
    "/cut-chunk": ("Transfer-Encoding", "chunked"),
}
"""Answers that end before their last byte, and the header that tells it."""


class _Site(Quiet, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        json = self.path == "/api"
        self.send_response(200)
        charset = self.path.removeprefix("/in-") if self.path.startswith("/in-") else "utf-8"
        self.send_header("Content-Type", "application/json" if json else f"text/html; charset={charset}")
        if self.path.startswith("/cut"):
            self.send_header(*_CUT[self.path])
        if json:
            self.send_header("Link", '</api?page=2>; rel="next", </api?page=9>; rel=last')
        self.end_headers()
        self.wfile.write(
            b"x" * 10**6
            if self.path in ("/large", "/cut-large")
            else b"40\r\nbob,100"
            if self.path == "/cut-chunk"
            else b"bob,100"
            if self.path == "/cut"
            else b"[1]"
            if json
            else PAGE.encode()
            if self.path == "/list-1.html"
            else b"M\xfcller"
            if self.path.startswith("/in-")
            else b"<p>No link</p>"
        )

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header(*_CUT[self.path])
        self.end_headers()


@pytest.fixture
def site() -> Iterator[str]:
    with Served(_Site) as served:
        yield served.url


def test_a_page_gives_its_links_by_their_words(device: Device, site: str) -> None:
    assert device.call("http.request", hosts=HOSTS, url=f"{site}/list-1.html")["links"] == {
        "next": f"{site}/list-2.html"
    }
    assert "links" not in device.call("http.request", hosts=HOSTS, url=f"{site}/list-7.html")


def test_the_link_header_gives_the_pages_of_an_interface(device: Device, site: str) -> None:
    links = device.call("http.request", hosts=HOSTS, url=f"{site}/api")["links"]
    assert links == {"next": f"{site}/api?page=2", "last": f"{site}/api?page=9"}


def test_a_page_is_read_in_its_charset(device: Device, site: str) -> None:
    assert device.call("http.request", hosts=HOSTS, url=f"{site}/in-iso-8859-1")["text"] == "Müller"


@pytest.mark.parametrize("charset", ["utf-8", "x-unknown", "unicode_escape"])
def test_a_page_whose_bytes_do_not_fit_is_a_file(device: Device, site: str, charset: str) -> None:
    found = device.call("http.request", hosts=HOSTS, url=f"{site}/in-{charset}")
    assert "text" not in found
    assert found["bytes"] == 6


@pytest.mark.parametrize("path", _CUT)
def test_an_answer_that_was_cut_off_is_no_success(device: Device, site: str, path: str) -> None:
    with pytest.raises(ToolFailed, match=r"127\.0\.0\.1 cut its answer off") as failed:
        device.call("http.request", hosts=HOSTS, url=f"{site}{path}")
    assert failed.value.code is Code.NETWORK


def test_an_answer_without_a_body_is_whole_whatever_it_announces(device: Device, site: str) -> None:
    asked = device.call("http.request", hosts=HOSTS, url=f"{site}/cut", method="HEAD")
    assert (asked["bytes"], asked["headers"]["content-length"]) == (0, "8")


def test_an_answer_that_the_disk_has_no_room_for_is_no_fault_of_the_network(
    device: Device, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Path.open

    def on_a_full_disk(path: Path, *args: Any, **fields: Any) -> Any:
        return usual(Path("/dev/full") if path.name == "body" else path, *args, **fields)

    monkeypatch.setattr(Path, "open", on_a_full_disk)
    with pytest.raises(ToolFailed) as failed:
        device.call("http.request", hosts=HOSTS, url=f"{site}/large")
    assert failed.value.code is Code.NO_SPACE


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<a href="/b" rel="next">older</a>', {"next": "http://h/b", "older": "http://h/b"}),
        ('<link rel="next" href="b">', {"next": "http://h/b"}),
        ('<a href="b">next</a><a href="c">next</a>', {"next": "http://h/b"}),
        ('<a href="b">  two\n words </a>', {"two words": "http://h/b"}),
        ('<a href="b"></a><a name="x">no address</a>', {}),
        ('<a href="file:///etc/passwd">f</a><a href="http://[broken">b</a>', {}),
        ("<a href='b'>never closed", {}),
        (f'<a href="{"x" * 3000}">long</a>', {}),
    ],
)
def test_links_are_absolute_and_bounded(html: str, found: dict[str, str]) -> None:
    assert links_of(html, "", "http://h/a") == found


def test_a_page_of_links_gives_the_first_of_them() -> None:
    html = "".join(f'<a href="{at}">{at}</a>' for at in range(LINKS_MOST + 5))
    assert len(links_of(html, "", "http://h/")) == LINKS_MOST
