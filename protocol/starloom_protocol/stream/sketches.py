"""Sketches: pictures of a plan, a review or an answer while a model writes it. They travel beside the log, in no state.

A sketch is never a plan and never an answer: it cannot be approved, edited or carried out, and nothing of it is kept.
It ends with the job that it is of: a page shows it only while that job is open, claimed by that worker, and its claim
has not run out.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

SKETCH: Final = "sketch"
"""The kind of a `Beside` whose value is a sketch."""
TASKS_MOST: Final = 60
CALLS_MOST: Final = 12
AFTER_MOST: Final = 8
WORD_CHARS_MOST: Final = 80
TEXT_CHARS_MOST: Final = 300
ANSWER_CHARS_MOST: Final = 1_500
"""An answer in words has at most 120 of them."""
SKETCH_BYTES_MOST: Final = 32 * 1024
"""A page draws four sketches in a second."""

_Word = Annotated[str, msgspec.Meta(max_length=WORD_CHARS_MOST)]


class SketchTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as far as it is written. `after` are tasks that it depends on; `each`, that it is one for each item."""

    after: Annotated[list[_Word], msgspec.Meta(max_length=AFTER_MOST)] = []
    device: _Word = ""
    each: bool = False
    id: _Word
    person: bool = False
    tool: _Word = ""


class SketchCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of a look as far as it is written."""

    device: _Word = ""
    tool: _Word = ""


class Sketch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer of a model so far.

    `call` is the number of this call within its job, from 1, and `since_ms` the time when it began. `kind` is the kind
    of the answer, empty until the model has written it. `words` are the question, the reason or the name of the recipe
    in it; `answer` are the words of an answer, which nobody has checked yet. `chars` and `thought_chars` count the
    characters of answer and thought so far; `tokens` is 0 while the endpoint does not count them. `left_out` is the
    number of tasks beyond `TASKS_MOST`.
    """

    answer: Annotated[str, msgspec.Meta(max_length=ANSWER_CHARS_MOST)] = ""
    call: int
    chars: int = 0
    job: _Word
    kind: _Word = ""
    left_out: int = 0
    looks: Annotated[list[SketchCall], msgspec.Meta(max_length=CALLS_MOST)] = []
    since_ms: int
    tasks: Annotated[list[SketchTask], msgspec.Meta(max_length=TASKS_MOST)] = []
    thought_chars: int = 0
    tokens: int = 0
    words: Annotated[str, msgspec.Meta(max_length=TEXT_CHARS_MOST)] = ""
    worker: Annotated[str, msgspec.Meta(max_length=200)]
