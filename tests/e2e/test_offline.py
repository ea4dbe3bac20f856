"""A reload without the hub: the page, with what the tab last knew, and nothing for one who has signed out."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import NewContext
from tests.e2e.large import layered
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.e2e

BACK_MS = 30_000 * SLOWER
_KEPT = """async () => {
  const wanted = (await (await fetch("/shell.json")).json()).files;
  const cache = await caches.open("starloom-page");
  const kept = (await cache.keys()).map((one) => new URL(one.url).pathname);
  return wanted.every((path) => kept.includes(path)) && navigator.serviceWorker.controller !== null;
}"""
_STORED = "() => JSON.stringify({...sessionStorage}) + JSON.stringify({...localStorage})"
_SAMPLE = "(text) => localStorage.setItem('starloom.rows.sample.fs.read', text)"
_CACHED = """async () => {
  const found = [];
  for (const name of await caches.keys()) {
    for (const one of await (await caches.open(name)).keys()) found.push(new URL(one.url).pathname);
  }
  return found;
}"""


def _signed_in(new_context: NewContext, stack: Stack) -> Page:
    page = new_context("wide", workers="allow").new_page()
    page.goto(stack.sign_in_link())
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    until(lambda: page.evaluate(_KEPT), "the page's files are kept")
    return page


def test_a_reload_without_the_hub_shows_what_was_known(stack: Stack, sample: Seen, new_context: NewContext) -> None:
    del sample  # it is the first that its hub is asked for
    page = _signed_in(new_context, stack)
    cookies = [cookie["value"] for cookie in page.context.cookies()]
    one = stack.submit({**layered(3), "name": "Known before"}, hold=True)
    page.goto(f"/constellations/{one}?lens=list")
    rows = page.get_by_role("list", name="Tasks").get_by_role("button")
    expect(rows).to_have_count(3)
    csrf = page.evaluate("async () => (await (await fetch('/api/v1/session')).json()).csrf")
    with stack.hub_away():
        expect(page.locator(".linkpill")).to_contain_text("Offline since")
        page.reload()
        expect(page.get_by_role("heading", name="Known before")).to_be_visible()
        expect(rows).to_have_count(3)
        expect(page.locator(".linkpill")).to_contain_text("Offline since")
        expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_attribute("aria-disabled", "true")
        page.get_by_role("tab", name="Graph", exact=True).click()
        expect(page.locator(".node[data-task]")).to_have_count(3)
        page.get_by_role("link", name="Home", exact=True).first.click()
        expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
        page.goto("/devices")
        expect(page.get_by_text("demo-server").first).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Add device")).first).to_have_attribute(
            "aria-disabled", "true"
        )
        stored = page.evaluate(_STORED)
        assert csrf
        assert not [secret for secret in (csrf, *cookies) if secret in stored], "no secret is kept"
        page.goto(f"/constellations/{one}?lens=list")
        expect(rows).to_have_count(3)
    expect(page.locator(".linkpill")).to_have_text("Live", timeout=BACK_MS)
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the constellation").click()
    stack.until_state(one, "cancelled")
    expect(page.locator(".top .pill").first).to_contain_text("Cancelled")
    page.context.close()
    stack.until_online(stack.desktop, "demo-server", "demo-phone")


def test_t194_another_person_in_the_browser_gets_no_others_tab(
    stack: Stack, sample: Seen, new_context: NewContext
) -> None:
    del sample
    page = _signed_in(new_context, stack)
    page.goto("/devices")
    expect(page.get_by_text("demo-server").first).to_be_visible()
    invited = stack.client.create("/sign-in-links", {"for": "eve", "role": "viewer"})
    same = page.context.new_page()
    same.goto(stack.sign_in_link())
    expect(same.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    expect(page.get_by_text("demo-server").first).to_be_visible()
    same.close()
    other = page.context.new_page()
    other.goto(invited["url"])
    other.get_by_role("button", name="Sign in as eve").click()
    expect(other.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    expect(page.get_by_text("demo-server")).to_have_count(0)
    _until_forgotten(page, "demo-server")
    with stack.hub_away():
        page.reload()
        expect(page.get_by_text("The hub cannot be reached").first).to_be_visible()
        expect(page.get_by_text("demo-server")).to_have_count(0)
    page.context.close()
    stack.until_online(stack.desktop, "demo-server", "demo-phone")


def test_a_new_request_without_the_hub_says_so_and_nothing_else(
    stack: Stack, sample: Seen, new_context: NewContext, screens: Screens
) -> None:
    del sample  # it is the first that its hub is asked for
    page = _signed_in(new_context, stack)
    page.goto("/new")
    words = page.get_by_role("textbox", name="What should happen?")
    expect(words).to_be_visible()
    main = page.get_by_role("main")
    with stack.hub_away():
        expect(page.locator(".linkpill")).to_contain_text("Offline since")
        words.fill("how are my machines")
        expect(main.get_by_role("alert")).to_contain_text("The hub cannot be reached.")
        screens.snap(page, "new-without-hub.png")
        expect(main).not_to_contain_text("No recipe fits")
        expect(main).not_to_contain_text("faults")
        expect(main).not_to_contain_text("/constellations/")
    expect(main.get_by_text("I understood:")).to_be_visible(timeout=BACK_MS)
    expect(main.get_by_role("alert")).to_have_count(0)
    page.context.close()
    stack.until_online(stack.desktop, "demo-server", "demo-phone")


def test_signed_out_means_forgotten(stack: Stack, sample: Seen, new_context: NewContext) -> None:
    del sample  # it is the first that its hub is asked for
    page = _signed_in(new_context, stack)
    one = stack.submit({**layered(3), "name": "Nobody reads this"}, hold=True)
    page.goto(f"/constellations/{one}?lens=list")
    expect(page.get_by_role("list", name="Tasks").get_by_role("button")).to_have_count(3)
    other = page.context.new_page()
    other.goto(f"/constellations/{one}?lens=list")
    expect(other.get_by_role("list", name="Tasks").get_by_role("button")).to_have_count(3)
    other.reload()
    expect(other.get_by_role("list", name="Tasks").get_by_role("button")).to_have_count(3)
    assert "Nobody reads this" in other.evaluate(_STORED), "something was kept"
    # As *Try this row* keeps what a tool gave, beyond the tab.
    other.evaluate(_SAMPLE, json.dumps({"value": "Nobody reads this", "device": "nas", "atMs": 1}))
    page.goto("/settings")
    # A request may learn that nobody is signed in before the page is read anew: both show the same words.
    with page.expect_event("domcontentloaded"):
        page.get_by_role("button", name="Sign out").click()
    for each in (page, other):
        expect(each.get_by_text("starloom open").first).to_be_visible()
        _until_forgotten(each, "Nobody reads this")
    cached: list[str] = page.evaluate(_CACHED)
    assert not [path for path in cached if path.startswith("/api")], cached
    with stack.hub_away():
        for each in (page, other):
            each.reload()
            expect(each.get_by_text("The hub cannot be reached").first).to_be_visible()
            expect(each.get_by_text("Nobody reads this")).to_have_count(0)
    page.context.close()
    stack.until_online(stack.desktop, "demo-server", "demo-phone")


def test_t224_a_closed_tab_that_is_opened_again_shows_nothing(
    stack: Stack, sample: Seen, new_context: NewContext
) -> None:
    """A browser that opens a closed tab again gives it the storage that it had, whatever came after it."""
    del sample  # it is the first that its hub is asked for
    page = _signed_in(new_context, stack)
    one = stack.submit({**layered(3), "name": "Nobody reads this"}, hold=True)
    closed = page.context.new_page()
    closed.goto(f"/constellations/{one}?lens=list")
    expect(closed.get_by_role("list", name="Tasks").get_by_role("button")).to_have_count(3)
    closed.reload()
    expect(closed.get_by_role("list", name="Tasks").get_by_role("button")).to_have_count(3)
    kept: str = closed.evaluate("() => JSON.stringify({...sessionStorage})")
    assert "Nobody reads this" in kept, "something was kept"
    closed.close()
    page.goto("/settings")
    with page.expect_event("domcontentloaded"):
        page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("starloom open").first).to_be_visible()
    with stack.hub_away():
        again = page.context.new_page()
        again.add_init_script(f"Object.assign(sessionStorage, {kept})")
        again.goto(f"/constellations/{one}?lens=list")
        expect(again.get_by_text("The hub cannot be reached").first).to_be_visible()
        expect(again.get_by_text("Nobody reads this")).to_have_count(0)
    page.context.close()
    stack.until_online(stack.desktop, "demo-server", "demo-phone")


def _until_forgotten(page: Page, text: str) -> None:
    until(lambda: text not in page.evaluate(_STORED), f"the tab has no {text}")
    kept = page.evaluate("() => sessionStorage.getItem('starloom.last-known')")
    assert not kept, kept


def test_a_lost_part_is_asked_for_again_and_typed_text_stays(page: Page) -> None:
    def lose(route: Route) -> None:
        route.abort()

    page.goto("/new")
    words = page.get_by_label("What should happen?")
    words.fill("words that were typed")
    page.route("**/assets/BuildFrom*.js", lose)
    page.get_by_role("tab", name="Build").click()
    expect(page.get_by_role("alert")).to_contain_text("The editor of plans could not be loaded.")
    page.unroute("**/assets/BuildFrom*.js", lose)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_label("Name of the plan")).to_be_visible()
    page.get_by_role("tab", name="Describe").click()
    expect(words).to_have_value("words that were typed")


def test_a_page_of_an_earlier_build_says_so_in_its_shell(page: Page, stack: Stack) -> None:
    one = stack.submit({**layered(3), "name": "Of an earlier build"}, hold=True)
    page.goto(f"/constellations/{one}?lens=list")
    expect(page.get_by_role("heading", name="Of an earlier build")).to_be_visible()
    page.route("**/assets/**", lambda route: route.fulfill(status=404, json={}))
    page.route("**/shell.json", lambda route: route.fulfill(json={"files": ["/", "/assets/index-new.js"]}))
    page.keyboard.press("e")
    expect(page.get_by_role("alert")).to_contain_text("Starloom was upgraded while this page was open.")
    expect(page.get_by_role("link", name="Home", exact=True).first).to_be_visible()
    page.unroute_all()
    page.get_by_role("button", name="Reload the page").click()
    expect(page.get_by_role("region", name="Draft")).to_be_visible()
