"""Files of an answer cannot act: no script, no request with the person's cookie, no navigation of the page."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.guard.drivers import answers
from tests.guard.drivers.tally import Stopwatch

pytestmark = pytest.mark.test

SEED = 0


def test_t51_a_hostile_file_does_nothing_where_it_is_looked_at() -> None:
    # Not pytest's own folder: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-guard-") as home:
        tally = answers.drive(Path(home), Stopwatch(0.0), SEED)
    assert tally.effects == []
    assert tally.attacks == len(answers.attacks("", "")), "each file is looked at beside its graph or alone"


def test_t51_the_same_files_act_where_nothing_holds_them() -> None:
    """Without this the test above could pass because its attacks are harmless."""
    with answers.evil_server() as evil, answers.browsing() as browser:
        evil.files = {name: text for name, text in answers.attacks(evil.url, evil.url).items() if name[-4:] == "html"}
        harmless = []
        for name in evil.files:
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            page = context.new_page()
            evil.asked.clear()
            page.goto(f"{evil.url}/file/{name}")
            page.wait_for_timeout(answers.SETTLED_MS)
            if name in answers.PRESSED:
                page.mouse.click(640, 400)
                page.wait_for_timeout(answers.SETTLED_MS)
            if not evil.asked:
                harmless.append(name)
            context.close()
    assert harmless == []


@pytest.mark.parametrize("name", sorted(answers.PRESSED))
def test_t51_what_waits_for_a_press_is_among_the_attacks(name: str) -> None:
    assert name in answers.attacks("", "")
