"""Findings in words: where one came from. Owns no state and no time."""

from __future__ import annotations


def found_by(task: str, by: str, device: str, *, stranger: bool) -> str:
    """Return the task of a finding, the goal `by` which it was published, and the name of its device, if it has one."""
    goal = f" (of {by})" if by != task else ""
    where = f" on {device}" if device else ""
    return f"{task}{goal}{where}" + (" (a stranger may have written it)" if stranger else "")
