"""The owner's rule on the trash: how it is written and read, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import Policy, policy_of
from starloom_agent.policy.trash_rule import TrashRule, trash_rule_of
from starloom_agent.toolkit.files.emptying import Bounds

GIB = 1024**3


def test_a_rule_is_written_and_read_as_it_is(tmp_path: Path) -> None:
    policy = Policy(trash=TrashRule(keep_days=7, most_gib=3))
    assert policy_of(policy.plain()) == policy
    write_policy(tmp_path / "policy.toml", policy)
    assert read_policy(tmp_path / "policy.toml") == policy
    assert trash_rule_of({"keep_days": 7}) == TrashRule(keep_days=7)
    assert "trash" not in Policy().plain(), "a policy without a rule keeps its hash"


@pytest.mark.parametrize(
    ("plain", "place"),
    [
        ([], "trash"),
        ({"days": 3}, "trash.days"),
        ({"keep_days": 0}, "trash.keep_days"),
        ({"keep_days": True}, "trash.keep_days"),
        ({"keep_days": 3.5}, "trash.keep_days"),
        ({"most_gib": -1}, "trash.most_gib"),
        ({"most_gib": "9" * 5000}, "trash.most_gib"),
    ],
)
def test_a_wrong_rule_is_refused_by_its_field(plain: Any, place: str) -> None:
    with pytest.raises(PolicyFault, match=place):
        trash_rule_of(plain)


def test_the_usual_bound_is_the_larger_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Disk:
        total = 100 * GIB

    monkeypatch.setattr("shutil.disk_usage", lambda _: Disk)
    assert Bounds().most_bytes(tmp_path) == 10 * GIB
    Disk.total = 1000 * GIB
    assert Bounds().most_bytes(tmp_path) == 50 * GIB
    assert Bounds(most_gib=3).most_bytes(tmp_path) == 3 * GIB
