"""Reserved devices in what a model wrote: work goes to one only if a person names it.

Pure. A person names it in the words and values of a request, in an answer to the planner, or in a plan or recipe. A
model names a device in a task, a look or an edit, and an assistant in the values of a recipe. A task on each device of
a set may go there if it brings nothing there that another device found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from starloom.core.placement.feasible import is_named, selects
from starloom.core.rights.call_effects import ways_of
from starloom.core.rights.consent import selector_of
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.work import Refusal, fault
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Device, Fault, Head, RecipeVersion, RuleRecord, Selector, TaskSpec
from starloom_protocol.stream.authors import ENGINE, MODEL, is_model
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code

_HINT: Final = "Do it on another device, or ask the person to name this one in the request."
KEPT_BY_ASSISTANT: Final = " An assistant saved its recipe, and no person has since."
_SELECTORS: Final = frozenset({"device", "devices"})


def check_devices(fleet: Fleet, plan: LoweredPlan, *, words: str = "") -> None:
    """Refuse a model's plan that brings work to a reserved device which the `words` of a person do not name.

    The text of a recipe names it too if a person keeps it; its values are the model's.

    Raises:
        Refusal: with a fault for each such device.
    """
    places = _reserved_places(fleet, plan.specs, plan.rules)
    if plan.recipe is not None and not is_kept_by_model(fleet, plan.recipe):
        places = {one: place for one, place in places.items() if _names_device(plan.params, fleet, one)}
    if faults := _faults(fleet, places, words):
        raise Refusal(*faults)


def check_planned(fleet: Fleet, constellation: Constellation, plan: LoweredPlan, *, by_model: bool) -> None:
    """Refuse the plan that was made for a request as `check_devices` does, if a model or an assistant asked for it.

    Raises:
        Refusal: with a fault for each such device.
    """
    if by_model or is_model(constellation.head.author):
        check_devices(fleet, plan, words=persons_words(constellation))


def reserved_faults(
    fleet: Fleet, constellation: Constellation, before: Mapping[str, TaskSpec], changed: Iterable[TaskSpec]
) -> list[Fault]:
    """Return a fault for each reserved device to which only an edit of a model brings work."""
    places = _reserved_places(fleet, changed, (), constellation.specs)
    if not places:
        return []
    places_before = _reserved_places(fleet, (spec for spec in before.values() if not spec.look), (), before)
    new = {device: place for device, place in places.items() if device not in places_before}
    return _faults(fleet, new, persons_words(constellation))


def look_faults(fleet: Fleet, constellation: Constellation, specs: Iterable[TaskSpec]) -> list[Fault]:
    """Return a fault for each reserved device at which a model would look, and that no person sent work to."""
    return reserved_faults(fleet, constellation, constellation.specs, specs)


def persons_words(constellation: Constellation) -> str:
    """Return what a person said in a request: its words, its values and the answers to questions about it."""
    head: Head = constellation.head
    questions = constellation.questions.values()
    answers = [one.answer for one in questions if one.answer and one.answered_by and not is_model(one.answered_by)]
    return "\n".join(answers if is_model(head.author) else [head.request, head.params, *answers])


def is_kept_by_model(fleet: Fleet, recipe: str) -> bool:
    """Tell whether the newest version of a saved recipe is one that no person has read; a built-in one has none."""
    return any(is_model(one.author) for one in _writers(fleet, recipe))


def words_by(fleet: Fleet, recipe: str, author: str) -> str:
    """Return whose words the plan of a recipe is: a model's where an assistant keeps it, else those of its author."""
    return MODEL if not is_model(author) and is_kept_by_model(fleet, recipe) else author


def is_kept_unapproved(fleet: Fleet, recipe: str) -> bool:
    """Tell whether a model, or somebody who may not approve, kept the newest version of a saved recipe."""
    return any(is_model(one.author) or not one.approves for one in _writers(fleet, recipe))


def _writers(fleet: Fleet, recipe: str) -> list[RecipeVersion]:
    versions = [one for one in fleet.recipes.values() if one.name == recipe]
    newest = max(versions, key=lambda one: one.number, default=None)
    # Of a text that the hub took back, any of its writers may be the first.
    return versions if newest is None or newest.author == ENGINE else [newest]


def _reserved_places(
    fleet: Fleet,
    specs: Iterable[TaskSpec],
    rules: Iterable[RuleRecord],
    all_specs: Mapping[str, TaskSpec] | None = None,
) -> dict[str, str]:
    """Return the ids of reserved devices to which tasks go, each with the first task or rule that says so."""
    reserved = [device for device in fleet.devices.values() if device.reserved and not device.revoked]
    if not reserved:
        return {}
    tasks = list(specs)
    by_id = all_specs if all_specs is not None else {spec.id: spec for spec in tasks}
    places: dict[str, str] = {}
    for spec in tasks:
        for device in reserved:
            if device.id not in places and _goes_to(fleet, spec, device, by_id):
                places[device.id] = spec.id
    for rule in rules:
        for selector in _selectors(parse(rule.operations)):
            for device in reserved:
                if is_named(selector, device):
                    places.setdefault(device.id, rule.name)
    return places


def _goes_to(fleet: Fleet, spec: TaskSpec, device: Device, by_id: Mapping[str, TaskSpec]) -> bool:
    each = spec.for_each.devices if spec.for_each is not None else None
    selectors = [way.device for way in ways_of(spec)] + [each]
    if any(is_named(one, device) for one in selectors if one is not None):
        return True
    if spec.for_each is None or spec.for_each.source is not None or spec.device is not None:
        return False
    sources = (by_id.get(one.source) for one in spec.inputs)
    brings = any(source is None or not spec.family or source.family != spec.family for source in sources)
    selector = selector_of(spec, by_id)
    root = by_id.get(spec.family or spec.id, spec)
    is_over_devices = each is not None or (root.for_each is not None and root.for_each.devices is not None)
    return brings and is_over_devices and selects(selector, device, fleet.tools.get(device.id, {}))


def _selectors(value: Any) -> Iterator[Selector]:
    """Yield the selectors of devices in the operations of a rule; what only its firing decides is none."""
    ahead = [value]
    while ahead:
        one = ahead.pop()
        if isinstance(one, list):
            ahead.extend(one)
        elif isinstance(one, dict):
            ahead.extend(one.values())
            for name in _SELECTORS & one.keys():
                try:
                    yield msgspec.convert(one[name], Selector)
                except msgspec.ValidationError:
                    continue


def _names_device(words: str, fleet: Fleet, device: str) -> bool:
    record = fleet.devices[device]
    return names_any(words, (record.id, record.name, *record.former_names))


def names_any(words: str, names: Iterable[str]) -> bool:
    """Tell whether words have one of these names, not as a part of another word."""
    folded = words.casefold()
    return any(re.search(rf"(?<![\w-]){re.escape(name.casefold())}(?![\w-])", folded) for name in names)


def _faults(fleet: Fleet, places: Mapping[str, str], words: str) -> list[Fault]:
    return [
        fault(
            Code.FORBIDDEN,
            f"{fleet.devices[one].name} takes only work of a person who names it, and nobody did",
            place,
            _HINT,
        )
        for one, place in places.items()
        if not _names_device(words, fleet, one)
    ]
