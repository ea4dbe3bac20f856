"""The Chromium of the tests: the headless shell where there is one, else the whole browser."""

from __future__ import annotations

import shutil

from programs import HEADLESS_SHELL


def program() -> str:
    """Return the path of the program that Playwright starts. A context of the shell takes a third of the work.

    Raises:
        AssertionError: there is none.
    """
    found = shutil.which(HEADLESS_SHELL) or shutil.which("chromium")
    assert found, "the browser tests need Chromium (Debian, Ubuntu: apt-get install chromium)"
    return found
