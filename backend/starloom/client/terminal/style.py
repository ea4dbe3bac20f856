"""The style of the terminal for the vocabulary: shapes as characters, tones as colours, times of its clock.

Owns no words of states. It loads no library of colours and tables: sentences of plain commands have times, too.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from starloom_protocol.text.presentation import Glyph, Tone

GLYPHS: dict[Glyph, str] = {
    Glyph.RING: "○",
    Glyph.DOTTED_RING: "◌",
    Glyph.HAND: "☞",
    Glyph.BARRIER: "╫",
    Glyph.OPEN_ARC: "◔",
    Glyph.TURNING_ARC: "◑",
    Glyph.BROKEN_ARC: "◍",
    Glyph.RINGED_SQUARE: "▣",
    Glyph.TICK: "✓",
    Glyph.DOUBLE_TICK: "✓✓",
    Glyph.CROSS: "✗",
    Glyph.CHEVRONS: "»",
    Glyph.SQUARE: "■",
    Glyph.QUESTION: "?",
}

COLOURS: dict[Tone, str] = {
    Tone.GREY: "bright_black",
    Tone.INDIGO: "blue",
    Tone.VIOLET: "magenta",
    Tone.AMBER: "yellow",
    Tone.BLUE: "cyan",
    Tone.TEAL: "green",
    Tone.VERMILION: "red",
}

_HUB_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def own_times(sentence: str) -> str:
    """Return a sentence of the hub with its times (`utc_words`) as this terminal's clock has them."""
    return _HUB_TIME.sub(lambda match: clock(match[0].removesuffix(" UTC") + "Z"), sentence)


def clock(at: int | str | None) -> str:
    """Return the local time of milliseconds or of an RFC 3339 text."""
    if not at:
        return "-"
    moment = datetime.fromtimestamp(at / 1000, tz=UTC) if isinstance(at, int) else datetime.fromisoformat(at)
    local = moment.astimezone()
    return local.strftime("%H:%M:%S" if local.date() == datetime.now().astimezone().date() else "%Y-%m-%d %H:%M")
