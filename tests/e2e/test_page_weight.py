"""What a browser fetches over the wire before the first graph, from a real server with an empty cache."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import NewContext
from tests.e2e.large import layered
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen

pytestmark = pytest.mark.e2e

WIRE_BYTES_MOST = 300_000
SCRIPTS_BYTES_LEAST = 50_000
"""A page of less was not measured: its answers came from a cache, or their sizes were not heard."""
TEXTS = ("text/html", "text/javascript", "application/javascript", "text/css", "image/svg+xml")
SMALL_BYTES = 400
"""Below this a file is sent as it is: a header would weigh more than what is saved."""


def test_the_page_is_small_before_its_first_graph(stack: Stack, sample: Seen, new_context: NewContext) -> None:
    del sample  # it is the first that its hub is asked for
    context = new_context("wide")
    page = context.new_page()
    urls: list[str] = []
    context.on("request", lambda request: urls.append(request.url))
    wire = context.new_cdp_session(page)
    asked: dict[str, dict[str, Any]] = {}
    got: dict[str, float] = {}
    wire.on("Network.responseReceived", lambda event: asked.update({event["requestId"]: event["response"]}))
    wire.on("Network.loadingFinished", lambda event: got.update({event["requestId"]: event["encodedDataLength"]}))
    wire.send("Network.enable")

    def assets() -> list[tuple[str, float]]:
        """Return each answer that is not the API's; one from the browser's cache has no bytes."""
        answers = [(number, answer["url"]) for number, answer in asked.items()]
        return [(url, got.get(number, 0.0)) for number, url in answers if "/api/" not in url]

    page.goto(stack.sign_in_link())
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    one = stack.submit(layered(100), hold=True)
    page.goto(f"/constellations/{one}?lens=list")
    page.get_by_role("list", name="Tasks").get_by_role("button").first.wait_for()
    page.wait_for_load_state("networkidle")
    before = assets()
    total = sum(size for _, size in before)
    print(f"\nbefore the first graph: {total / 1000:.0f} kB in {len([1 for _, size in before if size])} files")
    assert SCRIPTS_BYTES_LEAST <= total <= WIRE_BYTES_MOST, before
    assert not [url for url in urls if "elk" in url], urls
    for answer in asked.values():
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        if "/api/" in answer["url"] or answer["mimeType"] not in TEXTS or "blob:" in answer["url"]:
            continue
        if answer["encodedDataLength"] and float(headers.get("content-length", 0)) >= SMALL_BYTES:
            assert headers.get("content-encoding") in ("br", "gzip"), answer["url"]
    # Playwright tells of a request only while it is waited for: a look between sleeps hears nothing.
    with context.expect_event("request", lambda request: "elk-worker" in request.url):
        page.get_by_role("tab", name="Graph", exact=True).click()
    context.close()
