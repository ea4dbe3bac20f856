"""The owner's rule on the trash of each granted folder: how long files stay there, and how much it may hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starloom_agent.policy.commands import PolicyFault
from starloom_agent.toolkit.files.emptying import KEEP_DAYS, Bounds
from starloom_protocol.text.wording import quoted

_FIELDS: Final = ("keep_days", "most_gib")
_KEEP_DAYS_MOST: Final = 36_500
_MOST_GIB_MOST: Final = 1_000_000


@dataclass(frozen=True)
class TrashRule:
    """`keep_days` is at least one; `most_gib` 0 is the usual bound (`Bounds`)."""

    keep_days: int = KEEP_DAYS
    most_gib: int = 0

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.keep_days, self.most_gib)

    def plain(self) -> dict[str, str]:
        """Return the rule as the policy file holds it."""
        return {"keep_days": str(self.keep_days), "most_gib": str(self.most_gib)}


def trash_rule_of(plain: Any) -> TrashRule:
    """Read the form that `TrashRule.plain` writes; a number may be one.

    Raises:
        PolicyFault: naming the first field that is wrong.
    """
    if not isinstance(plain, Mapping):
        raise PolicyFault(f"trash: a map of {', '.join(_FIELDS)} is expected")
    for name in plain:
        if name not in _FIELDS:
            raise PolicyFault(f"trash.{name}: there is no such field; there are {', '.join(_FIELDS)}")
    keep_days = _number("keep_days", plain.get("keep_days", KEEP_DAYS), 1, _KEEP_DAYS_MOST)
    return TrashRule(keep_days, _number("most_gib", plain.get("most_gib", 0), 0, _MOST_GIB_MOST))


def _number(name: str, value: Any, least: int, most: int) -> int:
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise PolicyFault(f"trash.{name}: {quoted(text)} is no number from {least} to {most}")
    return int(text)
