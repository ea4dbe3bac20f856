from __future__ import annotations

import pytest

from starloom_protocol.text.browsers import browser_name


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", "Chrome on Android"),
        ("this machine", ""),
        ("Firefox on desktop", ""),
    ],
)
def test_a_user_agent_names_its_browser(agent: str, words: str) -> None:
    assert browser_name(agent) == words
