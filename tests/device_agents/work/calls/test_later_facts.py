"""Facts that are asked for after the end of an attempt: there is an answer, whatever this device can still read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from starloom_agent.work.calls.later_facts import look_up
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import FetchFacts, LeaseRef, ResultFrame

AT = LeaseRef(attempt=1, constellation="c", incarnation=1, task="t")
ASKED = FetchFacts(at=AT, wants=["/n", "/none"])


def test_a_value_that_is_kept_answers_what_it_has(tmp_path: Path) -> None:
    found = look_up(
        ASKED, ResultFrame(at=AT, outcome=Outcome.OK, report=1, value='{"n":1}'), tmp_path / "connection.json"
    )
    assert (found.kept, found.facts) == (True, {"/n": "1"})


def test_a_full_disk_is_answered_as_a_value_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    found = look_up(
        ASKED, ResultFrame(at=AT, outcome=Outcome.OK, report=1, artifact="a" * 64), tmp_path / "connection.json"
    )
    assert (found.kept, found.facts) == (False, {})
