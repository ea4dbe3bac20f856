"""Spans of time as a person types them."""

from __future__ import annotations

import argparse
import re

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Return the seconds of `90`, `20s`, `30m` or `1h`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 20s, 30m or 1h")
    return float(found[1]) * _UNITS[found[2] or "s"]
