"""Tracing: finds for each constant of a plan the look or the answer of a person that it came from. Pure.

A recipe of the plan then makes the look again at each run, and has the answer as a parameter. Owns this choice, and the
reason why a plan cannot be made again by code. A value that a device gives may become an argument only of a call that
only reads, because nobody sees the value before the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.people import inquiries
from starloom.core.people.recipes.shapes import is_said
from starloom.core.rights.call_effects import effects_of_task, offers_in
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.entities import Input, PlannerAnswer, Selector, TaskSpec
from starloom_protocol.values import canonical, parse, pointer_step
from starloom_protocol.vocabulary import Effect, TaskState

ANSWERS_CHARS_MOST: Final = 600
LEAVES_MOST: Final = 5_000
"""Looks with more values than that are not searched: the search is a part of one step."""
_TEXT_LEAST: Final = 3
"""A shorter text occurs in a result by chance."""
_NUMBER_LEAST: Final = 1_000
"""A smaller whole number occurs in a result by chance."""
_SHOWN_CHARS: Final = 60


class Untraced(Exception):
    """A plan that code cannot make again; the message says why, in words for its person."""


@dataclass(frozen=True)
class Traced:
    """The tasks of a plan with the looks that it reads again before them, and the answers that are parameters."""

    specs: list[TaskSpec]
    answers: list[PlannerAnswer]


@dataclass(frozen=True)
class _Place:
    """A value in the result of a look; `listed`: it is in a list with others, whose order may change."""

    look: str
    pointer: str
    value: Any
    listed: bool


def trace(
    fleet: Fleet, constellation: Constellation, specs: list[TaskSpec], words: str, look_names: Sequence[str]
) -> Traced:
    """Return how a plan is made again from the words of its person, their answers and the looks that came before it.

    `look_names` are the tasks of these looks.

    Raises:
        Untraced: a value may rest on a look in a way that code cannot check.
    """
    answers = [
        PlannerAnswer(answer=one.answer, question=one.text)
        for one in sorted(constellation.questions.values(), key=lambda one: (one.opened_ms, one.id))
        if one.kind == inquiries.KIND and one.answer
    ]
    _check_answers(answers, specs, words)
    looks = [constellation.specs[name] for name in look_names]
    if not looks:
        return Traced(specs, answers)
    texts = [words, *(one.answer for one in answers)]
    names = _Names(fleet, looks)
    names.check(specs, texts)
    places = list(_places(constellation, names, looks))
    traced_specs = [_with_inputs(spec, places, texts) for spec in specs]
    look_ids = {one.source for spec in traced_specs for one in spec.inputs} & {look.id for look in looks}
    if not look_ids:
        raise Untraced(f"no value of the plan occurs in the result of {_called(looks[0], names)}, at which it looked")
    offers = offers_in(fleet)
    for spec in traced_specs:
        if any(one.source in look_ids for one in spec.inputs) and effects_of_task(spec, offers) - {Effect.READ}:
            raise Untraced(f"{spec.tool} does more than read, and a result would decide what it does")
    return Traced([*_steps(looks, look_ids, names, {spec.id for spec in specs}), *traced_specs], answers)


class _Names:
    """The names of the devices at which a planner looked."""

    def __init__(self, fleet: Fleet, looks: list[TaskSpec]) -> None:
        self._by_look = {
            look.id: fleet.devices[look.device.id].name
            for look in looks
            if look.device is not None and look.device.id is not None and look.device.id in fleet.devices
        }
        if len(self._by_look) != len(looks):
            raise Untraced("a device at which it looked has left")

    def of(self, look: TaskSpec) -> str:
        return self._by_look[look.id]

    def check(self, specs: list[TaskSpec], texts: list[str]) -> None:
        """Refuse a device that neither the words name nor the looks were at: a result may have chosen it."""
        device_names = set(self._by_look.values())
        for name in (name for spec in specs for name in _devices(spec)):
            if not is_said(name, texts) and device_names != {name}:
                raise Untraced(f"the words do not name {name}, so a look may have chosen it")


def _devices(spec: TaskSpec) -> Iterator[str]:
    each = spec.for_each.devices if spec.for_each is not None else None
    for selector in (spec.device, each):
        for one in () if selector is None else (selector, *selector.any):
            if one.name:
                yield one.name


def _check_answers(answers: list[PlannerAnswer], specs: list[TaskSpec], words: str) -> None:
    """Refuse an answer of which no value of the plan is a part: it shaped the plan in another way."""
    values = [value for spec in specs for value in (*_devices(spec), *_leaves(parse(spec.args)))]
    for one in answers:
        values_of_answer = [value for value in values if is_said(value, [one.answer]) and not is_said(value, [words])]
        if not values_of_answer:
            raise Untraced(f"no value of the plan is the answer {_short(one.answer)}")
    if sum(len(one.answer) for one in answers) > ANSWERS_CHARS_MOST:
        raise Untraced("its answers are too long for a parameter")


def _places(constellation: Constellation, names: _Names, looks: list[TaskSpec]) -> Iterator[_Place]:
    """Yield each value of the results of the looks."""
    count = 0
    for look in looks:
        record = constellation.tasks[look.id]
        attempt = constellation.attempts.get(f"{look.id}/{record.attempt}")
        if record.state is not TaskState.SUCCEEDED or attempt is None:
            raise Untraced(f"{_called(look, names)}, at which it looked, gave no result")
        if attempt.value is None:
            raise Untraced(f"the result of {_called(look, names)} is too large to be searched for values of the plan")
        for place in _within(look.id, "", parse(attempt.value), listed=False):
            yield place
            count += 1
            if count > LEAVES_MOST:
                raise Untraced(f"the results of its looks have more than {LEAVES_MOST} values")


def _within(look: str, pointer: str, value: Any, *, listed: bool) -> Iterator[_Place]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _within(look, f"{pointer}/{pointer_step(str(key))}", one, listed=listed)
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _within(look, f"{pointer}/{at}", one, listed=listed or len(value) > 1)
    elif value is not None and not isinstance(value, bool):
        yield _Place(look, pointer, value, listed)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        # A secret, an artifact or a parameter is named, not found.
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None and not isinstance(value, bool):
        yield value


def _with_inputs(spec: TaskSpec, places: list[_Place], texts: list[str]) -> TaskSpec:
    """Return a task whose constants from a result are inputs."""
    args: dict[str, Any] = parse(spec.args)
    inputs: list[Input] = []
    for name, value in sorted(args.items()):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            place = _place_of(value, places, texts)
            if place is not None:
                inputs.append(Input(name=name, output=place.pointer, source=place.look))
        else:
            for leaf in _leaves(value):
                if _place_of(leaf, places, texts) is not None:
                    raise Untraced(f"{_short(leaf)} is a part of {name}, and only a whole argument can be read again")
    for one in (*spec.checks, *(spec.verify.expect if spec.verify else ())):
        if one.value is not None:
            for leaf in _leaves(parse(one.value)):
                if _place_of(leaf, places, texts) is not None:
                    raise Untraced(f"{_short(leaf)} of a check occurs in a result")
    if not inputs:
        return spec
    constants = {name: value for name, value in args.items() if name not in {one.name for one in inputs}}
    return replace(spec, args=canonical(constants), inputs=[*spec.inputs, *inputs])


def _place_of(value: Any, places: list[_Place], texts: list[str]) -> _Place | None:
    """Return the one place of a value in the results; None for one that the words say, or that occurs in none.

    Raises:
        Untraced: it occurs in several places, in a list with others, or is a part of a result or made of one.
    """
    if is_said(value, texts) or not _is_telling(value):
        return None
    equal = [place for place in places if type(place.value) is type(value) and place.value == value]
    if len(equal) == 1 and not equal[0].listed:
        return equal[0]
    if len(equal) == 1:
        raise Untraced(f"{_short(value)} is in a list of a result, whose order may change")
    if equal:
        raise Untraced(f"{_short(value)} occurs in {len(equal)} places of the results")
    if isinstance(value, str) and any(_is_part(value, place.value) for place in places):
        raise Untraced(f"{_short(value)} is a part of a result, or was made of one")
    return None


def _is_telling(value: Any) -> bool:
    """Tell whether a value does not occur in a result by chance; a short text is looked for as a part."""
    return isinstance(value, str | float) or abs(value) >= _NUMBER_LEAST


def _is_part(value: str, other: Any) -> bool:
    if not isinstance(other, str):
        return False
    return value in other or (len(other) >= _TEXT_LEAST and other in value)


def _steps(looks: list[TaskSpec], look_ids: set[str], names: _Names, task_names: set[str]) -> list[TaskSpec]:
    """Return the looks that a plan reads again as tasks of their own."""
    if look_ids & task_names:
        raise Untraced("a task of the plan has the name of its look")
    return [
        TaskSpec(args=look.args, changed_in=1, device=Selector(name=names.of(look)), id=look.id, tool=look.tool)
        for look in looks
        if look.id in look_ids
    ]


def _called(look: TaskSpec, names: _Names) -> str:
    return f"{look.tool} on {names.of(look)}"


def _short(value: Any) -> str:
    text = str(value)
    return f"“{text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + '…'}”"
