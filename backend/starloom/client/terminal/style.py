"""The style of the terminal for the vocabulary: shapes as characters, tones as colours, sizes and times.

Owns no words of states. The shape is always shown, so that no meaning depends on colour alone.
"""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from starloom.client.terminal.escaping import escaped_lines
from starloom_protocol.text.presentation import ALARM_RAISED, Glyph, Presentation, Tone
from starloom_protocol.vocabulary import ConstellationState

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

_STATE_TONES: dict[ConstellationState, Tone] = {
    ConstellationState.PLANNING: Tone.INDIGO,
    ConstellationState.LOOKING: Tone.INDIGO,
    ConstellationState.AWAITING_APPROVAL: Tone.VIOLET,
    ConstellationState.ACTIVE: Tone.BLUE,
    ConstellationState.PAUSED: Tone.AMBER,
    ConstellationState.CANCELLING: Tone.BLUE,
    ConstellationState.SUCCEEDED: Tone.TEAL,
    ConstellationState.PARTIAL: Tone.AMBER,
    ConstellationState.FAILED: Tone.VERMILION,
    ConstellationState.CANCELLED: Tone.GREY,
}


PIPE_WIDTH = 200


class _Terminal(Console):
    """A console that leaves a closed pipe to the end of the command, which knows the exit code.

    It reads no markup, no emoji codes and no sign that steers the terminal: texts are of others, and colours come as
    `Text`.
    """

    def render_str(self, text: str, **more: Any) -> Text:
        return super().render_str(escaped_lines(text), **more)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Return the console on standard output: as wide as the terminal or as `COLUMNS` says, wide in a pipe or a file."""
    told = os.environ.get("COLUMNS", "").isdigit()
    width = None if told or sys.stdout.isatty() else PIPE_WIDTH
    return _Terminal(emoji=False, highlight=False, markup=False, width=width)


def shown_text(shown: Presentation) -> Text:
    """Return shape and word in the tone's colour."""
    return Text(f"{GLYPHS[shown.glyph]:<2} {own_times(shown.word)}", style=COLOURS[shown.tone])


def state_text(state: str, *, alarm: bool = False) -> Text:
    """Return the word of a constellation's state in its colour; `alarm`: its answer tells of trouble."""
    known = ConstellationState(state)
    if alarm:
        return Text(f"{known.value}, alarm", style=COLOURS[ALARM_RAISED.tone])
    return Text(known.value.replace("_", " "), style=COLOURS[_STATE_TONES[known]])


_HUB_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def own_times(sentence: str) -> str:
    """Return a sentence of the hub with its times (`utc_words`) as this terminal's clock has them."""
    return _HUB_TIME.sub(lambda found: clock(found[0].removesuffix(" UTC") + "Z"), sentence)


def clock(at: int | str | None) -> str:
    """Return the local time of milliseconds or of an RFC 3339 text."""
    if not at:
        return "-"
    moment = datetime.fromtimestamp(at / 1000, tz=UTC) if isinstance(at, int) else datetime.fromisoformat(at)
    local = moment.astimezone()
    return local.strftime("%H:%M:%S" if local.date() == datetime.now().astimezone().date() else "%Y-%m-%d %H:%M")
