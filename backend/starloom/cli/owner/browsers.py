"""The browser and the system that a user agent names, in words. A client names any: it proves nothing."""

from __future__ import annotations

import re
from typing import Final

_BROWSERS: Final = (
    (re.compile(r"\bEdg(A|iOS)?/"), "Edge"),
    (re.compile(r"\bOPR/"), "Opera"),
    (re.compile(r"\bSamsungBrowser/"), "Samsung Internet"),
    (re.compile(r"\b(Firefox|FxiOS)/"), "Firefox"),
    (re.compile(r"\b(Headless)?Chrome/|\bCriOS/"), "Chrome"),
    (re.compile(r"\bSafari/"), "Safari"),
)
_SYSTEMS: Final = (
    (re.compile(r"\bAndroid\b"), "Android"),
    (re.compile(r"\biPhone\b"), "iPhone"),
    (re.compile(r"\biPad\b"), "iPad"),
    (re.compile(r"\bWindows\b"), "Windows"),
    (re.compile(r"\bMac OS X\b"), "macOS"),
    (re.compile(r"\bCrOS\b"), "ChromeOS"),
    (re.compile(r"\bLinux\b"), "Linux"),
)
_AGENT_CHARS: Final = 512


def browser_name(agent: str) -> str:
    """Return the browser and its system, as the page names them; empty for what names none."""
    text = agent[:_AGENT_CHARS]
    if not text.startswith("Mozilla/"):
        return ""
    browser = next((name for sign, name in _BROWSERS if sign.search(text)), "")
    system = next((name for sign, name in _SYSTEMS if sign.search(text)), "")
    return f"{browser} on {system}" if browser and system else browser
