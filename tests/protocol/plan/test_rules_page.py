"""The section about rules in docs/plans.md names every part that the language has."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_protocol.plan.language.models import AttemptsDoc, RuleDoc, RuleWhenDoc
from starloom_protocol.vocabulary import Op

PAGE = Path(__file__).parents[3] / "docs" / "plans.md"
SECTION = PAGE.read_text(encoding="utf-8").partition("\n## Rules\n")[2].partition("\n## ")[0]
EVENTS = ("succeeded", "failed", "attempt_ended")


@pytest.mark.parametrize("part", [*RuleDoc.model_fields, *RuleWhenDoc.model_fields, *AttemptsDoc.model_fields, *EVENTS])
def test_every_part_of_a_rule_stands_in_the_section(part: str) -> None:
    assert f"{part}`" in SECTION or f"{part}:" in SECTION


@pytest.mark.parametrize("op", Op)
def test_every_comparison_stands_in_the_section(op: Op) -> None:
    table = next(line for line in SECTION.splitlines() if line.startswith("| `when.output`"))
    assert op in table.split("`")[-2].split()


def test_the_section_has_plans_that_are_checked_with_the_other_examples() -> None:
    assert SECTION.count("```yaml plan") == 4
