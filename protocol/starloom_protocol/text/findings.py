"""Findings in words: where one came from. Owns no state and no time."""

from __future__ import annotations

from starloom_protocol.records.entities import Finding


def found_by(finding: Finding, device: str) -> str:
    """Return the task of a finding and the name of its device, and that a stranger may have written it."""
    goal = f" (of {finding.by})" if finding.by != finding.task else ""
    where = f" on {device}" if device else ""
    return f"{finding.task}{goal}{where}" + (" (a stranger may have written it)" if finding.stranger else "")
