"""The console: standard output with colours and tables, and the words of states in their shapes and colours.

The shape is always shown, so that no meaning depends on colour alone. Its library is a tenth of what a command
computes, so only commands that print with it load it.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from starloom.client.terminal.escaping import escaped_lines
from starloom.client.terminal.style import COLOURS, GLYPHS, own_times
from starloom_protocol.text.presentation import ALARM_RAISED, Presentation, Tone
from starloom_protocol.vocabulary import ConstellationState

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

PIPE_WIDTH: Final = 200


class _Terminal(Console):
    """A console that leaves a closed pipe to the end of the command, which knows the exit code.

    It reads no markup, no emoji codes and no control character: texts are of others, and colours come as
    `Text`.
    """

    def render_str(self, text: str, **more: Any) -> Text:
        return super().render_str(escaped_lines(text), **more)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Return the console on standard output: as wide as the terminal or as `COLUMNS` says, wide in a pipe or a file."""
    is_set = os.environ.get("COLUMNS", "").isdigit()
    width = None if is_set or sys.stdout.isatty() else PIPE_WIDTH
    return _Terminal(emoji=False, highlight=False, markup=False, width=width)


def shown_text(presentation: Presentation) -> Text:
    """Return shape and word in the tone's colour."""
    return Text(f"{GLYPHS[presentation.glyph]:<2} {own_times(presentation.word)}", style=COLOURS[presentation.tone])


def state_text(state: str, *, alarm: bool = False, undone: bool = False) -> Text:
    """Return the word of a constellation's state in its colour.

    `alarm`: its answer tells of trouble. `undone`: its work was taken back; its answer says how much of it.
    """
    named = ConstellationState(state)
    if undone and named is ConstellationState.SUCCEEDED:
        return Text("taken back, in part or whole", style=COLOURS[_STATE_TONES[ConstellationState.CANCELLED]])
    if alarm:
        return Text(f"{named.value}, alarm", style=COLOURS[ALARM_RAISED.tone])
    return Text(named.value.replace("_", " "), style=COLOURS[_STATE_TONES[named]])
