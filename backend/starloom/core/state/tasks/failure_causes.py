"""The cause of a failure as reviews count it: its code and its message without what differs from item to item. Pure."""

from __future__ import annotations

import re
from typing import Final

from starloom_protocol.records.entities import Attempt, TaskRecord

CAUSE_CHARS_MAX: Final = 120
_LINE_CHARS_MAX: Final = 300
"""A line is examined to here, so that a long one of a device costs no more than a short one."""
_PATH: Final = re.compile(r"(?:[A-Za-z]:)?(?:[^\s'\"(),;:=/\\]*[/\\])+[^\s'\"(),;:=]*")
_FILE: Final = re.compile(r"\b[\w-]+\.[A-Za-z][A-Za-z0-9]{0,4}\b(?!\s*\()")
_HEX: Final = re.compile(r"\b(?:0x)?[0-9a-f]{8,}\b")
_NUMBER: Final = re.compile(r"\d+")


def cause_of(record: TaskRecord, attempt: Attempt | None) -> str:
    """Return the cause in one line: equal for two failures that differ in a path, a file, a number or an address."""
    code = record.code or (attempt.code if attempt is not None else None)
    line = _telling(attempt.detail if attempt is not None else "")[:_LINE_CHARS_MAX].lower()
    for pattern, sign in ((_PATH, "<file>"), (_FILE, "<file>"), (_HEX, "<hex>"), (_NUMBER, "#")):
        line = pattern.sub(sign, line)
    line = " ".join(line.split())[:CAUSE_CHARS_MAX]
    return f"{code or 'failed'}: {line}" if line else str(code or "failed")


def _telling(text: str) -> str:
    """Return the line that names the error: the last one of a traceback, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    is_traceback = "Traceback (" in text or any(line.startswith('File "') for line in lines)
    return lines[-1] if is_traceback else lines[0]
