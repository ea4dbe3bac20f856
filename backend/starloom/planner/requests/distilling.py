"""The recipe that a proposed plan makes: its name, its phrase from the person's own words, its parameters. Pure.

Everything in the head comes from the words that the person typed and from the plan's constants; no result of a device
and no words of a model are read. A recipe that would not make the same plan again is none, and a phrase that does not
lead to it, or that another recipe takes already, is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from starloom.core.people.recipes.shapes import is_said, looks_secret, shape_of, slot_type, words_look_secret
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import plan_recipe
from starloom.planner.recipes.plan_document import document_of, is_same
from starloom.planner.requests.matching import Match, match
from starloom.planner.requests.phrases import read_phrase
from starloom_protocol.plan import Recipe, read_recipe
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import RecipeProposal

TITLE_CHARS_MOST: Final = 80
NAME_CHARS_MOST: Final = 48
_TELLS_LEAST: Final = 2
"""So many words with a meaning of its own a phrase has to have; *do it* would take what it should not."""
_ON_VALUES: Final = "data."
"""The names of tools that work on values alone begin so."""
_CHOSEN: Final = frozenset({"device", "path", "url"})
_EDGE: Final = r"(?<![\w./:~-]){}(?![\w/~-])(?!\.\w)"


@dataclass(frozen=True)
class Distilled:
    """A recipe for a proposal; `phrase` is empty where the words make none, and `values` are those of the plan.

    `answers` are the parameters whose values the person gave as an answer.
    """

    recipe: Recipe
    text: str
    phrase: str
    values: dict[str, Any]
    answers: tuple[str, ...] = ()


Steps = tuple[str | int, ...]
"""The way into a document."""


class _Constant(NamedTuple):
    """A value of a plan that may become a parameter, with its place and a name that would suit it."""

    wish: str
    type: str
    value: Any
    place: Steps


@dataclass
class _Slot:
    """A constant that becomes a parameter, and where it stands: the steps into the document."""

    name: str
    type: str
    title: str
    value: Any
    text: str
    is_answer: bool = False
    """Its value is the answer of the person to a question of the planner."""
    places: list[Steps] = field(default_factory=list)


def distil(proposal: RecipeProposal, recipes: Sequence[Recipe], fleet: FleetSnapshot) -> Distilled | None:
    """Return the recipe of an open proposal; None if the plan cannot be written so that it is the same."""
    plan = msgspec.json.decode(proposal.plan, type=LoweredPlan)
    document = document_of(plan)
    if any(looks_secret("args", task.get("args", {})) for task in document["tasks"]):
        return None
    if any(_makes(recipe, plan, document, fleet) for recipe in recipes):
        return None
    words = " ".join(proposal.request.split())
    slots = _slots(document, [one.answer for one in proposal.answers], words)
    names = {recipe.name for recipe in recipes}
    phrase = _phrase(words, slots)
    for one in dict.fromkeys((phrase, "")):
        draft = _recipe(words, one, document, slots, names)
        if draft is None:
            continue
        recipe, text = draft
        again = plan_recipe(recipe, {}, fleet).plan
        if again is None or not is_same(again, plan):
            return None
        if one and not _leads_to(words, recipe, recipes, fleet, plan):
            continue
        values = {slot.name: slot.value for slot in slots}
        return Distilled(recipe, text, one, values, tuple(sorted(slot.name for slot in slots if slot.is_answer)))
    return None


def _makes(recipe: Recipe, plan: LoweredPlan, document: dict[str, Any], fleet: FleetSnapshot) -> bool:
    """Return whether a recipe makes this plan already, with the values that stand in the plan for its parameters."""
    tasks = recipe.plan.get("tasks")
    if not isinstance(tasks, list) or [_tool(one) for one in tasks] != [_tool(one) for one in document["tasks"]]:
        return False
    values: dict[str, Any] = {}
    _read_values(tasks, document["tasks"], values)
    again = plan_recipe(recipe, {name: value for name, value in values.items() if name in recipe.params}, fleet).plan
    return again is not None and shape_of(again.specs, again.dependencies) == shape_of(plan.specs, plan.dependencies)


def _tool(task: Any) -> Any:
    return task.get("tool") if isinstance(task, dict) else None


def _read_values(template: Any, plan_value: Any, values: dict[str, Any]) -> None:
    """Read the values of parameters from the places where a recipe has the parameter and a plan its value."""
    if isinstance(template, dict) and template.keys() == {"param"}:
        values.setdefault(str(template["param"]), plan_value)
    elif isinstance(template, dict) and isinstance(plan_value, dict):
        for name in template.keys() & plan_value.keys():
            _read_values(template[name], plan_value[name], values)
    elif isinstance(template, list) and isinstance(plan_value, list):
        for one, other in zip(template, plan_value, strict=False):
            _read_values(one, other, values)


def _leads_to(words: str, recipe: Recipe, recipes: Sequence[Recipe], fleet: FleetSnapshot, plan: LoweredPlan) -> bool:
    """Return whether the words that were typed lead to this recipe and this plan, and to no other recipe."""
    if len(read_phrase(recipe.phrases[0]).telling) < _TELLS_LEAST or words_look_secret(words):
        return False
    result = match(words, [recipe], fleet)
    if result.outcome is not Match.EXACT or match(words, recipes, fleet).outcome is Match.EXACT:
        return False
    again = plan_recipe(recipe, result.candidates[0].params, fleet).plan
    return again is not None and is_same(again, plan)


def _recipe(
    words: str, phrase: str, document: dict[str, Any], slots: Sequence[_Slot], names: Collection[str]
) -> tuple[Recipe, str] | None:
    title = _titled(words)
    params = [slot for slot in slots if slot.is_answer or slot.type in _CHOSEN or f"{{{slot.name}}}" in phrase]
    plan: Any = {**document, "name": title}
    for slot in params:
        for place in slot.places:
            plan = _put(plan, place, {"param": slot.name})
    head: dict[str, Any] = {
        "starloom_recipe": 1,
        "name": _free_name(words, names),
        "title": title,
        "version": 1,
        **({"phrases": [phrase]} if phrase else {}),
        **({"params": {slot.name: _param(slot) for slot in params}} if params else {}),
        "plan": plan,
    }
    text = yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=110)
    recipe = read_recipe(text).recipe
    return None if recipe is None else (recipe, text)


def _param(slot: _Slot) -> dict[str, Any]:
    one = {"many": False} if slot.type == "device" else {}
    return {"type": slot.type, "title": slot.title, "default": slot.value, **one}


def _titled(words: str) -> str:
    short = words if len(words) <= TITLE_CHARS_MOST else words[: TITLE_CHARS_MOST - 1].rsplit(" ", 1)[0]
    return short[:1].upper() + short[1:].rstrip(".!?")


def _free_name(words: str, names: Collection[str]) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", _ascii(words)).strip("-")[:NAME_CHARS_MOST].strip("-") or "recipe"
    number = 1
    while (name := stem if number == 1 else f"{stem}-{number}") in names:
        number += 1
    return name


def _slots(document: dict[str, Any], answers: Collection[str], words: str) -> list[_Slot]:
    """Return the constants of a plan that may be parameters; equal ones of one type and title are one."""
    slots: list[_Slot] = []
    for wish, kind, value, place in _constants(document, answers):
        text = str(value["name"]) if kind == "device" else value if isinstance(value, str) else str(value)
        title = _title(wish)
        same = next(
            (
                slot
                for slot in slots
                if slot.type == kind and slot.value == value and (kind == "device" or slot.title == title)
            ),
            None,
        )
        if same is None:
            name = _free(wish, [slot.name for slot in slots])
            same = _Slot(
                name, kind, title, value, text, is_answer=is_said(text, answers) and not is_said(text, [words])
            )
            slots.append(same)
        same.places.append(place)
    _tell_apart(slots, document)
    return slots


def _tell_apart(slots: Sequence[_Slot], document: Mapping[str, Any]) -> None:
    """Give slots of one title the names of their tasks: *Path of scan*, *Path of copy*."""
    titles = Counter(slot.title for slot in slots)
    for slot in slots:
        if titles[slot.title] > 1 and slot.places[0][0] == "tasks":
            slot.title = f"{slot.title} of {document['tasks'][slot.places[0][1]]['id']}"


def _constants(document: dict[str, Any], answers: Collection[str]) -> Iterator[_Constant]:
    for at, task in enumerate(document["tasks"]):
        yield from _devices(task.get("device"), ("tasks", at, "device"))
        if isinstance(each := task.get("for_each"), dict):
            yield from _devices(each.get("devices"), ("tasks", at, "for_each", "devices"))
        for name, value in task.get("args", {}).items():
            kind = slot_type(name, value, answers)
            # Those tools reach no file: `/text` is a place in what they are given.
            if kind is not None and not (kind == "path" and str(task.get("tool")).startswith(_ON_VALUES)):
                yield _Constant(name, kind, value, ("tasks", at, "args", name))


def _devices(selector: Any, place: Steps) -> Iterator[_Constant]:
    if not isinstance(selector, dict):
        return
    if set(selector) == {"name"}:
        yield _Constant(str(selector["name"]), "device", {"name": selector["name"]}, place)
    for at, one in enumerate(selector.get("any", [])):
        yield from _devices(one, (*place, "any", at))


def _title(wish: str) -> str:
    words = re.sub(r"[_-]+", " ", wish).strip()
    return words[:1].upper() + words[1:]


def _ascii(words: str) -> str:
    """Return words in small letters without their accents, as the names of recipes and parameters are written."""
    parts = unicodedata.normalize("NFKD", words.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def _free(wish: str, used: Collection[str]) -> str:
    stem = re.sub(r"[^a-z0-9]+", "_", _ascii(wish)).strip("_") or "value"
    stem = stem if stem[0].isalpha() else f"v_{stem}"
    number = 1
    while (name := stem if number == 1 else f"{stem}_{number}") in used:
        number += 1
    return name


def _put(value: Any, place: Sequence[str | int], new: Any) -> Any:
    if not place:
        return new
    step, rest = place[0], place[1:]
    if isinstance(value, list):
        return [_put(one, rest, new) if at == step else one for at, one in enumerate(value)]
    return {key: _put(one, rest, new) if key == step else one for key, one in value.items()}


def _is_outside(phrase: str, at: int) -> bool:
    before = phrase[:at]
    return before.count("{") == before.count("}")


def _phrase(words: str, slots: Sequence[_Slot]) -> str:
    """Return the words with a slot for each constant that occurs in them, the longest first; each slot once."""
    if "{" in words or "}" in words:
        return ""
    phrase = words.rstrip(".!?")
    for slot in sorted(slots, key=lambda one: (-len(one.text), one.name)):
        if not slot.text or slot.type in ("argv", "hosts"):
            continue
        for text in (slot.text, re.sub(r"^https?://", "", slot.text).rstrip("/")):
            pattern = re.compile(_EDGE.format(re.escape(text)), re.IGNORECASE)
            # What stands between braces is a slot already.
            spans = [one.span() for one in pattern.finditer(phrase) if _is_outside(phrase, one.start())]
            if spans:
                start, end = spans[0]
                phrase = f"{phrase[:start]}{{{slot.name}}}{phrase[end:]}"
                break
    return phrase
