"""The log of a process on stderr: one record is one line, whatever its words say. Decides nothing about what is logged.

Words of devices, models and other programs are in records and in errors. A character that ends a line or controls the
terminal is escaped, so that no foreign text starts a line.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import datetime
from logging import LogRecord

from starloom_protocol.text.wording import escaped


class LineFormatter(logging.Formatter):
    """Writes a record as one line, and below it a traceback, whose error is one line too."""

    def formatTime(self, record: LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - the library's signature
        """Return the time of a record by ISO 8601 with its zone: logs of several machines are read side by side."""
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")

    def format(self, record: LogRecord) -> str:
        bare = logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None})
        lines = [escaped(super().format(bare))]
        if record.exc_info:
            for part in traceback.format_exception(record.exc_info[1]):
                # The place of a frame takes several lines, all of them indented; an error is one part.
                text = part.strip("\n")
                lines += map(escaped, text.splitlines() if text.startswith(" ") else [text])
        return "\n".join(lines)


def log_to_stderr(level: str | int) -> None:
    """Have all records from this level on written to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
