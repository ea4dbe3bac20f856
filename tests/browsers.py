"""The browser that tests of the page start: one without a window where it is installed."""

from __future__ import annotations

import shutil

HEADLESS_SHELL = "chromium-headless-shell"


def lean_browser() -> str:
    """Return the path of Debian's headless Chromium, or of the whole one where it is missing.

    A window of it costs less than half of the time. It has no viewer of PDF files, no extensions and no bar.
    """
    return shutil.which(HEADLESS_SHELL) or whole_browser()


def whole_browser() -> str:
    """Return the path of Chromium, for a test that needs what the headless shell lacks."""
    found = shutil.which("chromium")
    assert found, "the browser tests need Chromium (Debian, Ubuntu: apt-get install chromium)"
    return found
