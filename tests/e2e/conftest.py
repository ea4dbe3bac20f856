"""A real stack for the package with its sample watched from the first event, and a signed-in page for each test."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState, expect, sync_playwright

from tests.browsers import lean_browser, whole_browser
from tests.e2e.failures import explain
from tests.e2e.screens import FOLDER, Screens, write_index
from tests.e2e.stack import Stack, running
from tests.e2e.witness import Seen, watch_sample
from tests.waiting import SLOWER

SIZES = {"wide": (1440, 900), "phone": (390, 844)}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A camera that shows a moving picture, and is allowed without a person.
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]
ON_BOTH = pytest.mark.parametrize("width", list(SIZES), indirect=True)
"""For a test that runs on a phone in the tier `test`, too; the fixture `width` leaves the phone to `proof`."""
WAIT_MS = 20_000 * SLOWER
STARTED_S = time.time()
"""Before any test of this run: another worker has tests of the browser, too, and its pictures stay."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Walk the first ten minutes on a hub that nobody has used yet; the rest stays in the order that was drawn."""
    items.sort(key=lambda item: "test_first_ten_minutes" not in item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say with a failure what every open page shows, who is in the fleet, what was asked for last, and the logs."""
    report = yield
    if report.failed and report.when != "teardown":
        known = getattr(item, "funcargs", {})
        for title, told in explain(item.name, known.get("browser"), known.get("stack")):
            report.sections.append((title, told))
    return report


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=WAIT_MS)  # a page's own default does not hold for expectations, which have 5 s
    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=lean_browser(), args=FLAGS)
        yield made
        made.close()


@pytest.fixture(scope="package")
def screens(pytestconfig: pytest.Config) -> Iterator[Screens]:
    made = Screens(with_pictures=pytestconfig.getoption("--tier") in (None, "proof"))
    for old in FOLDER.glob("*-*-*-*.png"):
        if made.with_pictures and old.stat().st_mtime < STARTED_S:
            old.unlink(missing_ok=True)
    yield made
    if made.taken:
        figures = {"screenshots": len(made.taken), "dom_max": made.elements_most, "axe_violations": made.violations}
        print(f"\n{write_index().name}: {json.dumps(figures)}")


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    # Not pytest's own folder: the path of a Unix socket must be short.
    home = Path(tempfile.mkdtemp(prefix="sl-e2e-"))
    with running(home) as made:
        yield made
    shutil.rmtree(home, ignore_errors=True)


NewContext = Callable[..., BrowserContext]


@pytest.fixture(scope="package")
def new_context(browser: Browser, stack: Stack) -> NewContext:
    """Make a browser context of a width, with no session unless one is given."""
    return partial(context_of, browser, stack)


def context_of(
    browser: Browser,
    stack: Stack,
    width: str,
    session: StorageState | None = None,
    workers: Literal["allow", "block"] = "block",
) -> BrowserContext:
    wide, high = SIZES[width]
    context = browser.new_context(
        base_url=stack.url,
        viewport={"width": wide, "height": high},
        has_touch=width == "phone",
        locale="en-US",
        reduced_motion="reduce",
        color_scheme="light",
        storage_state=session,
        permissions=["clipboard-read", "clipboard-write"],
        # What passes through a service worker, no route of a test sees.
        service_workers=workers,
    )
    context.set_default_timeout(WAIT_MS)
    return context


@pytest.fixture(scope="package")
def session(stack: Stack, new_context: NewContext) -> StorageState:
    """Sign in once by a real link; the other tests start with its cookie, and as somebody who was never here before.

    With the time of this visit, Home would show what ended since then, from the fifth minute of the run on.
    """
    context = new_context("wide")
    page = context.new_page()
    page.goto(stack.sign_in_link())
    page.get_by_role("heading", name="Home", exact=True).wait_for()
    state = context.storage_state()
    context.close()
    state["origins"] = []
    return state


@pytest.fixture(scope="package")
def sample(stack: Stack, new_context: NewContext, session: StorageState, screens: Screens) -> Seen:
    """The sample of `make run`, watched on a wide and a phone screen from its start to its answer.

    Whatever asks something of the stack takes this first: the sample is the first constellation of its hub.
    """
    contexts = {width: new_context(width, session) for width in SIZES}
    pages = {width: context.new_page() for width, context in contexts.items()}
    seen = watch_sample(stack, pages, contexts["wide"].new_page(), screens)
    for context in contexts.values():
        context.close()
    return seen


@pytest.fixture(autouse=True)
def as_before(stack: Stack) -> Iterator[None]:
    """End what a test leaves going, so that the next one meets the three devices of the stack and nothing else."""
    before = stack.standing()
    yield
    stack.restore(before)


@pytest.fixture(params=["wide", pytest.param("phone", marks=pytest.mark.proof)])
def width(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(width: str, session: StorageState, sample: Seen, new_context: NewContext) -> Iterator[Page]:
    """A signed-in page; a fault that its script throws fails the test."""
    del sample  # its devices stay; nothing else is asked of them before it is over
    yield from watched_page(new_context(width, session))


@pytest.fixture
def page_in_a_window(browser: Browser, stack: Stack, width: str, session: StorageState, sample: Seen) -> Iterator[Page]:
    """A signed-in page of the whole browser, whose window has a bar that the keyboard reaches."""
    del sample
    whole = browser.browser_type.launch(executable_path=whole_browser(), args=FLAGS)
    yield from watched_page(context_of(whole, stack, width, session))
    whole.close()


def watched_page(context: BrowserContext) -> Iterator[Page]:
    made = context.new_page()
    thrown: list[Any] = []
    made.on("pageerror", lambda error: thrown.append(error))
    yield made
    context.close()
    assert not thrown, f"the page threw: {thrown}"
