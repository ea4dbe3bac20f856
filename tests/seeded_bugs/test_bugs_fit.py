"""Every bug still fits the code: the text it replaces stands exactly once. Catching them is `run`'s work."""

from __future__ import annotations

import pytest

from tests.seeded_bugs.bug import Bug
from tests.seeded_bugs.bugs import BUGS
from tests.seeded_bugs.run import COMMANDS, ROOT


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_fits(bug: Bug) -> None:
    assert (ROOT / bug.file).read_text(encoding="utf-8").count(bug.old) == 1
    assert bug.old != bug.new
    layer = COMMANDS[bug.by][-1]
    assert not bug.named or (bug.named.startswith(layer) and (ROOT / bug.named).exists())


def test_names_are_unique_and_enough() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 30
