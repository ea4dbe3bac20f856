"""The collection of all faults of a document, each with its place and, if one is near, the intended word.

Owns the form of places (`tasks[3].inputs.rows.from`) and the sentences for Pydantic's findings.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import islice, takewhile
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from starloom_protocol.plan.language.models import PLAN_FORMAT
from starloom_protocol.plan.language.other_words import form_here, map_here, operator_here
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import CODES, Code

_SUGGESTIONS_MAX: Final = 50
"""Each compares a word with every candidate: a plan of 10,000 slips must not take minutes."""
_CANDIDATES_MAX: Final = 2000
"""The most names that one word is held against."""
_COMPARED_MAX: Final = 50
"""Of more names those that begin and end most like the word are compared whole: a comparison of long names that hardly
differ takes half a millisecond."""
SENTENCE_CHARS_MOST: Final = 600
"""A longer sentence repeats what a document has written into it."""
_NAME_CHARS_MOST: Final = 64
"""A longer name in a fault is cut, as it is no name that the language takes."""
_EVERY: Final = frozenset({"all", "any", "each", "every", "everywhere", "*"})
"""Words for every device, which no device is called by here."""
_KINDS: Final = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}

_NUMBERS: Final = frozenset({"int_type", "float_type"})
_PARTS: Final = ("tasks", "dependencies", "rules", "sentence", "result")
"""The lists of a plan, in the order of its faults."""
_SIZES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) *([kmgt]?)b?")
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?) *([smhd])[a-z]*")

_Model = TypeVar("_Model", bound=BaseModel)


def joined(place: str, *steps: str | int) -> str:
    """Return the place of a part: names join with a dot, positions stand in brackets."""
    for step in steps:
        word = f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
        place += word
    return place


def kind_word(value: object) -> str:
    """Return the kind of a document's value, in words of the document."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a map" if isinstance(value, dict) else type(value).__name__


def shown(value: object) -> str:
    """Return a value shortened for a sentence."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def bounded(text: str) -> str:
    """Return a sentence without its middle where a document made it long: an answer never repeats an attack whole."""
    if len(text) <= SENTENCE_CHARS_MOST:
        return text
    half = SENTENCE_CHARS_MOST // 2
    return f"{text[:half]} ... {text[-half:]}"


def _shared(one: str, other: str) -> int:
    """Return how many signs two words have in common at their beginning and their end."""
    return _alike(one, other) + _alike(reversed(one), reversed(other))


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _position(fault: Fault) -> tuple[int, int]:
    name, bracket, rest = fault.place.rpartition("plan.")[2].partition("[")
    number = rest.partition("]")[0]
    if not bracket or name not in _PARTS or not number.isdigit():
        return 0, 0
    return 1 + _PARTS.index(name), int(number)


def number_instead(name: str, value: object) -> str:
    """Return an example of the number that belongs where a text stands; of a size or a time the number meant."""
    text = value.strip().casefold() if isinstance(value, str) else ""
    for ending, form, units in (("_bytes", _SIZE, _SIZES), ("_s", _TIME, _SECONDS)):
        match = form.fullmatch(text) if name.endswith(ending) and len(text) <= _NAME_CHARS_MOST else None
        if match is not None:
            return f"Write the number alone: `{name}: {round(float(match[1]) * units[match[2]])}`."
    unit = " of bytes" if name.endswith("_bytes") else " of seconds" if name.endswith("_s") else ""
    return f"Write a number{unit} without quotes: `{name}: {text if text.isdigit() else 10}`."


class FaultList:
    """The faults of one check, in the order they were found."""

    def __init__(self) -> None:
        self.all: list[Fault] = []
        self._suggested = 0

    def add(self, code: Code, place: str, reason: str, hint: str = "") -> None:
        hint, place, reason = bounded(hint or CODES[code].hint), bounded(place), bounded(reason)
        self.all.append(Fault(code=code, hint=hint, place=place, reason=reason))

    def in_order(self) -> list[Fault]:
        """Return the faults as their places stand in a plan: its head, its tasks one after the other, the rest."""
        return sorted(self.all, key=_position)

    def may_suggest(self) -> bool:
        """Count one suggestion, and return whether it may still be looked for."""
        self._suggested += 1
        return self._suggested <= _SUGGESTIONS_MAX

    def near(self, word: str, candidates: Iterable[str], otherwise: str = "") -> str:
        """Return a hint naming the nearest candidate. Bounded: a plan of 10,000 slips must not take minutes."""
        if not self.may_suggest():
            return otherwise
        names = list(dict.fromkeys(islice(candidates, _CANDIDATES_MAX)))
        compared = (
            nlargest(_COMPARED_MAX, names, lambda one: _shared(word, one)) if len(names) > _COMPARED_MAX else names
        )
        matches = difflib.get_close_matches(word, compared, n=1, cutoff=0.6)
        if matches:
            return f"Did you mean `{matches[0]}`?"
        if otherwise or not names or len(names) > 20:
            return otherwise
        return "Known here: " + ", ".join(sorted(names)) + "."

    def validate(self, model: type[_Model], value: Any, place: str) -> _Model | None:
        """Return the value as a model, or None after noting each of its faults."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            for item in error.errors(include_url=False):
                self._note(model, item, place)
            return None

    def _note(self, model: type[BaseModel], item: Any, place: str) -> None:
        kind, loc, value = item["type"], item["loc"], item.get("input")
        # Steps of the models that nobody wrote: the condition that `when` stands for, and Pydantic's word for a key.
        where = joined(place, *(step for step in loc if step not in ("condition", "[key]")))
        if kind == "extra_forbidden":
            name = str(loc[-1])
            reason = f"there is no field `{name}` here"
            fields = fields_at(model, loc[:-1])
            self.add(Code.UNKNOWN_FIELD, where, reason, form_here(name, fields) or self.near(name, fields))
        elif kind == "missing":
            hint = f"Add `starloom: {PLAN_FORMAT}`." if loc == ("starloom",) else "Add it."
            self.add(Code.PLAN_INVALID, where, f"`{loc[-1]}` is missing", hint)
        elif kind in _KINDS:
            reason = f"{_KINDS[kind]} is needed here, not {kind_word(value)}"
            if "model" in kind:
                form = _map_of(fields_at(model, loc), value)
            elif kind in _NUMBERS and isinstance(value, str):
                form = number_instead(str(loc[-1]), value)
            else:
                form = map_here(str(loc[-1])) or _as_needed(kind, value)
            self.add(Code.PLAN_INVALID, where, reason, form)
        elif kind == "enum":
            words = item["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
            reason = f"{shown(value)} is none of {', '.join(words)}"
            self.add(Code.PLAN_INVALID, where, reason, operator_here(str(value), words) or self.near(str(value), words))
        elif kind in _BOUNDS:
            name, words = _BOUNDS[kind]
            self.add(Code.PLAN_INVALID, where, f"{shown(value)} is not possible: {words} {item['ctx'][name]:.12g}", "")
        else:
            context = item.get("ctx", {})
            text = str(item["msg"]).removeprefix("Value error, ")
            self.add(context.get("code", Code.PLAN_INVALID), where, text, context.get("hint", ""))


_BOUNDS: Final = {
    "greater_than": ("gt", "it is more than"),
    "greater_than_equal": ("ge", "it is at least"),
    "less_than": ("lt", "it is less than"),
    "less_than_equal": ("le", "it is at most"),
}
"""The kinds of a number outside its bounds, with the name of the bound and the words before it."""


def _as_needed(kind: str, value: object) -> str:
    """Return the written value in the kind that is needed; empty where there is no such form."""
    if kind == "list_type" and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return f"Write `[{value}]`." if len(str(value)) <= _NAME_CHARS_MOST else ""
    if kind == "list_type" and isinstance(value, dict):
        return "Write a list: each entry begins with `- ` in YAML and stands in `[...]` in JSON."
    if kind == "string_type" and isinstance(value, (int, float)):
        return f'Write it in quotes: `"{str(value).lower()}"`.'
    return ""


def _map_of(fields: Sequence[str], value: object) -> str:
    """Return the form of the map where another value was written, by what was most likely meant with it."""
    if isinstance(value, str) and value.strip().casefold() in _EVERY and "labels" in fields:
        return "`{}` is every device that can: `for_each: {devices: {}}`. A task without `device` goes to one of them."
    if {"value", "label"} <= set(fields) and isinstance(value, (str, int)) and len(str(value)) <= _NAME_CHARS_MOST:
        word = str(value).lower() if isinstance(value, bool) else str(value)
        return f'Write `{{value: "{word}", label: {word}}}`; one that ends the task without success has `fails: true`.'
    if isinstance(value, str) and len(value) <= _NAME_CHARS_MOST and "name" in fields:
        return f"Write `{{name: {value}}}`."
    if isinstance(value, list) and {"from", "output", "times"} <= set(fields):
        return "Name the task whose result is the list: `{from: ID, output: POINTER}`. `python.run` makes one of yours."
    if isinstance(value, list) and {"from", "finding"} <= set(fields):
        return (
            "An input reads one source: `{from: ID, output: POINTER}`. Of a group, `all: true, flatten: true` joins "
            "the lists of its calls; those of several tasks are put together by `data.merge` first."
        )
    if isinstance(value, int) and not isinstance(value, bool) and "times" in fields:
        return f"Write `{{times: {value}}}`."
    return f"It has: {', '.join(fields)}." if fields else ""


def fields_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """Return the names that the model at a place knows; empty where it is not a model."""
    current: Any = model
    for step in loc:
        current = _present(current)
        if isinstance(current, type) and issubclass(current, BaseModel):
            current = next(
                (info.annotation for name, info in current.model_fields.items() if (info.alias or name) == step), None
            )
        elif get_origin(current) in (dict, list):
            current = get_args(current)[-1]
    current = _present(current)
    while get_origin(current) in (dict, list):
        current = _present(get_args(current)[-1])
    if isinstance(current, type) and issubclass(current, BaseModel):
        return [info.alias or name for name, info in current.model_fields.items()]
    return []


def _present(annotation: Any) -> Any:
    """Return what `X | None` is when it is there, without what is annotated; of several that are no text the last."""
    if get_origin(annotation) is Annotated:
        return _present(get_args(annotation)[0])
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    parts = [part for part in get_args(annotation) if part not in (str, type(None))]
    return _present(parts[-1]) if parts else None
