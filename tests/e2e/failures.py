"""What explains a failed browser test: what every open page showed, and what the hub knew. Decides nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Error, Page

from tests.e2e.screens import FOLDER
from tests.e2e.stack import Stack

TEXT_MOST = 1_500


def explain(test: str, browser: Browser | None, stack: Stack | None) -> Iterator[tuple[str, str]]:
    """Yield titles and texts; a picture of each page is kept beside the other screenshots."""
    pages = [page for context in browser.contexts for page in context.pages] if browser else []
    for number, page in enumerate(pages, 1):
        yield f"page {number} of {len(pages)}", _page(page, FOLDER / "failed" / f"{_plain(test)}-{number}.png")
    if stack is not None:
        try:
            yield "the hub", stack.explain()
        except Exception as error:
            yield "the hub", f"it does not answer: {error}\n{stack.log('supervisor')}\n{stack.log('hub')}"


def _page(page: Page, picture: Path) -> str:
    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture, timeout=5_000)
        return f"{page.url}\n{picture}\n{page.locator('body').inner_text(timeout=5_000)[:TEXT_MOST]}"
    except Error as error:
        return f"{page.url}: {error}"


def _plain(test: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", test).strip("-")
