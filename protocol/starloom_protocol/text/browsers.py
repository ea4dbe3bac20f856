"""The browser and the system that a user agent names, in words. A client names any: it proves nothing.

Owns the two tables, which the page gets too. The first pattern that is found counts; it reads alike in Python and in
JavaScript.
"""

from __future__ import annotations

import re
from typing import Final

BROWSERS: Final = (
    (r"\bEdg(A|iOS)?/", "Edge"),
    (r"\bOPR/", "Opera"),
    (r"\bSamsungBrowser/", "Samsung Internet"),
    (r"\b(Firefox|FxiOS)/", "Firefox"),
    (r"\b(Headless)?Chrome/|\bCriOS/", "Chrome"),
    (r"\bSafari/", "Safari"),
)
BROWSER_SYSTEMS: Final = (
    (r"\bAndroid\b", "Android"),
    (r"\biPhone\b", "iPhone"),
    (r"\biPad\b", "iPad"),
    (r"\bWindows\b", "Windows"),
    (r"\bMac OS X\b", "macOS"),
    (r"\bCrOS\b", "ChromeOS"),
    (r"\bLinux\b", "Linux"),
)
_AGENT_CHARS: Final = 512


def browser_name(agent: str) -> str:
    """Return the browser and its system, as the page names them; empty for what names none."""
    text = agent[:_AGENT_CHARS]
    if not text.startswith("Mozilla/"):
        return ""
    browser = next((name for sign, name in BROWSERS if re.search(sign, text)), "")
    system = next((name for sign, name in BROWSER_SYSTEMS if re.search(sign, text)), "")
    return f"{browser} on {system}" if browser and system else browser
