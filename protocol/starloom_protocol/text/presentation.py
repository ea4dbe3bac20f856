"""The presentation of a task's state: the one mapping to a word, a shape and a tone.

Owns these words and nothing else; page, CLI and exports show them and invent no state. Colours and drawings belong to
the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from starloom_protocol.text.wording import utc_words
from starloom_protocol.vocabulary import Effect, Reason, TaskState


class Tone(StrEnum):
    """The hue group of a shown state; the page's palette and the CLI's colours map it."""

    GREY = "grey"
    INDIGO = "indigo"
    VIOLET = "violet"
    AMBER = "amber"
    BLUE = "blue"
    TEAL = "teal"
    VERMILION = "vermilion"


class Glyph(StrEnum):
    RING = "ring"
    DOTTED_RING = "dotted_ring"
    HAND = "hand"
    BARRIER = "barrier"
    OPEN_ARC = "open_arc"
    TURNING_ARC = "turning_arc"
    BROKEN_ARC = "broken_arc"
    RINGED_SQUARE = "ringed_square"
    TICK = "tick"
    DOUBLE_TICK = "double_tick"
    CROSS = "cross"
    CHEVRONS = "chevrons"
    SQUARE = "square"
    QUESTION = "question"
    ALARM = "alarm"
    """A constellation that succeeded, whose answer tells of trouble; no task has it."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """The presentation of a state: a word, a shape and a tone; never the tone alone."""

    word: str
    glyph: Glyph
    tone: Tone


ALARM_RAISED: Final = Presentation("Done, alarm raised", Glyph.ALARM, Tone.AMBER)
"""The presentation of a constellation that succeeded, whose answer tells of trouble."""

HELD_WORDS: dict[Reason, str] = {
    Reason.HELD: "Held by a person",
    Reason.BACKOFF: "Held, tries again soon",
    Reason.MISSING_GRANT: "Held, a grant is missing",
    Reason.MISSING_SECRET: "Held, a secret is not set",
    Reason.OWNER_ASKED: "Held, its owner is asked",
    Reason.REVIEW: "Held, under review",
    Reason.JUDGE: "Held, its judge is asked",
    Reason.PAUSED: "Held, paused",
    Reason.NO_CAPABLE_DEVICE: "Held, no device can do it",
    Reason.DEVICE_AWAY: "Waits, its device is away",
    Reason.DEVICE_ASIDE: "Held, its device takes no work",
    Reason.QUOTA: "Held, limit of this group",
}

SKIP_WORDS: dict[Reason, str] = {
    Reason.NOT_CHOSEN: "Skipped, not needed",
    Reason.ENOUGH: "Skipped, enough done",
    Reason.UPSTREAM_FAILED: "Skipped, what it needs failed",
    Reason.UPSTREAM_CANCELLED: "Skipped, what it needs was cancelled",
    Reason.SKIPPED_BY_PERSON: "Skipped by a person",
    Reason.LEFT_OUT: "Left out, to end in time",
    Reason.DEVICE_AWAY: "Skipped, its device is off",
    Reason.NO_CAPABLE_DEVICE: "Skipped, no device could do it",
}


class TaskShown(Protocol):
    """The fields of a task's record by which it is shown."""

    @property
    def attempt(self) -> int: ...
    @property
    def checked(self) -> bool: ...
    @property
    def not_before_ms(self) -> int: ...
    @property
    def state(self) -> TaskState: ...


def presentation_of(record: TaskShown, reason: Reason | None) -> Presentation:
    """Return the presentation of a task; `reason` is its own, or the one joined. A moment in the word is the hub's."""
    until = utc_words(record.not_before_ms)
    return presentation(record.state, reason, attempt=record.attempt, checked=record.checked, until=until)


def presentation(
    state: TaskState,
    reason: Reason | None = None,
    *,
    attempt: int = 0,
    checked: bool = False,
    by: str = "",
    until: str = "",
) -> Presentation:
    """Return the presentation of a task's state and reason.

    `reason` is the task's own stored reason or the one joined from its constellation or demand. `by` is the name of the
    person who marked it, where the event is at hand that has it; `until` the time before which it does not begin.
    """
    match state:
        case TaskState.WAITING:
            return Presentation("Waiting", Glyph.RING, Tone.GREY)
        case TaskState.READY:
            if reason is None or reason is Reason.BUSY:
                return Presentation("Ready", Glyph.DOTTED_RING, Tone.INDIGO)
            if reason in (Reason.APPROVAL, Reason.PERSON):
                return Presentation("Needs you", Glyph.HAND, Tone.VIOLET)
            if reason is Reason.MOMENT:
                return Presentation(
                    f"Waiting, begins at {until}" if until else "Waiting for its time", Glyph.RING, Tone.GREY
                )
            return Presentation(HELD_WORDS.get(reason, "Held"), Glyph.BARRIER, Tone.AMBER)
        case TaskState.LEASED if reason is Reason.MOVING:
            return Presentation("Moving to another device", Glyph.RINGED_SQUARE, Tone.BLUE)
        case TaskState.LEASED:
            return Presentation("Starting", Glyph.OPEN_ARC, Tone.BLUE)
        case TaskState.RUNNING:
            if reason is Reason.ABSENT:
                return Presentation("Out of reach", Glyph.BROKEN_ARC, Tone.AMBER)
            if reason is Reason.TAP:
                return Presentation("Waits for a tap", Glyph.HAND, Tone.VIOLET)
            if reason is Reason.OVERDUE:
                return Presentation("Over its time, being stopped", Glyph.RINGED_SQUARE, Tone.AMBER)
            if reason is Reason.MOVING:
                return Presentation("Moving to another device", Glyph.RINGED_SQUARE, Tone.BLUE)
            word = f"Running, attempt {attempt}" if attempt > 1 else "Running"
            return Presentation(word, Glyph.TURNING_ARC, Tone.BLUE)
        case TaskState.CANCELLING:
            return Presentation("Stopping, not yet confirmed", Glyph.RINGED_SQUARE, Tone.BLUE)
        case TaskState.UNKNOWN:
            return Presentation("Unknown: may have happened", Glyph.QUESTION, Tone.AMBER)
        case TaskState.SUCCEEDED if reason is Reason.MARKED:
            return Presentation(f"Marked done by {by or 'a person'}", Glyph.TICK, Tone.TEAL)
        case TaskState.SUCCEEDED:
            if checked:
                return Presentation("Done, checked", Glyph.DOUBLE_TICK, Tone.TEAL)
            return Presentation("Done", Glyph.TICK, Tone.TEAL)
        case TaskState.FAILED:
            return Presentation("Failed", Glyph.CROSS, Tone.VERMILION)
        case TaskState.SKIPPED:
            return Presentation(SKIP_WORDS.get(reason, "Skipped") if reason else "Skipped", Glyph.CHEVRONS, Tone.GREY)
        case TaskState.CANCELLED if reason is Reason.HOPELESS:
            return Presentation("Stopped as hopeless", Glyph.SQUARE, Tone.GREY)
        case TaskState.CANCELLED:
            return Presentation("Cancelled", Glyph.SQUARE, Tone.GREY)


_TRASH: Final = "fs.trash"
BEFORE_UNDO: Final = ", before it was undone"
"""The end of the title of a result of work that was taken back."""
TO_THE_TRASH: Final = "moves to the trash"


def effect_words(tool: str | None, effects: Sequence[str]) -> list[str]:
    """Return the effects of a call as a person reads them: a write that is a move to the trash is called that."""
    return [TO_THE_TRASH if tool == _TRASH and effect == Effect.WRITE else str(effect) for effect in effects]
