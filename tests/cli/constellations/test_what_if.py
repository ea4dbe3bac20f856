"""`what-if` on a hub that answers as told: both fleets, the chance, and a question without a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_commands import StubHub, starloom

COURSE = {"expected_ms": 40_400, "low_ms": 25_100, "high_ms": 59_000, "chance": 0.9, "plays": 200}


@pytest.fixture
def hub() -> Iterator[StubHub]:
    stub = StubHub()
    try:
        yield stub
    finally:
        stub.close()


def test_both_fleets_stand_beside_each_other(hub: StubHub, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("starloom: 1\n", encoding="utf-8")
    hub.answers["POST", "/what-if"] = (
        200,
        {
            "name": "x",
            "plan_hash": "h",
            "change": "Without srv-a",
            "within_ms": 60_000,
            "now": COURSE,
            "then": {**COURSE, "expected_ms": 90_000, "high_ms": 200_000, "chance": 0.1},
            "said": "Without srv-a, the plan takes about 123% longer.",
        },
    )
    code, said = starloom(hub, "what-if", str(file), "--without", "srv-a", "--within", "1m")
    assert (code, said.splitlines()) == (
        0,
        [
            "Now: about 40 s (25-59); within 1 min 0 s with 90%",
            "Without srv-a: about 1 min 30 s (25.1 s to 3 min 20 s); within 1 min 0 s with 10%",
            "Without srv-a, the plan takes about 123% longer.",
        ],
    )


def test_a_question_without_a_change_is_refused(hub: StubHub, tmp_path: Path) -> None:
    code, said = starloom(hub, "what-if", str(tmp_path / "plan.yaml"))
    assert code == 2
    assert "a plan and a change are needed" in said
