"""Recipes: a plan with a head - phrases, typed parameters, grants - and the way of values into its plan.

    read_recipe   text -> `RecipeCheck`; importing runs nothing
    recipe_plan   a recipe and values -> `PlanCheck`; defaults put in, types checked, missing ones reported

Matching words to phrases is the planner's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec
from pydantic import AfterValidator, Field

from starloom_protocol.plan.checks.check import PlanCheck, check_plan
from starloom_protocol.plan.language.document import DocumentRefused, read_document
from starloom_protocol.plan.language.fault_list import FaultList, joined, kind_word, shown
from starloom_protocol.plan.language.models import TASK_ID, Doc, Label, Name, refuse
from starloom_protocol.plan.language.param_types import PARAM_TYPES, ParamRefused, coerce, placeholder
from starloom_protocol.plan.types.signatures import Signature
from starloom_protocol.records.entities import Fault
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Purpose, Repeatability

RECIPE_FORMAT: Final = 1
PHRASES_MOST: Final = 200
"""A request is compared with each while it is typed, and a check of a recipe reads each among all others."""
PARAMS_MOST: Final = 100
_SLOT: Final = re.compile(r"\{([^{}]*)\}")
_SLOT_ALONE: Final = re.compile(r"[\"“]?\{[^{}]*\}[\"”]?[.,;:!?]*")
_FOREIGN: Final = re.compile(r"\$?\{+ *(inputs|params?)\.([\w-]+) *\}+")
"""A value in the form of other tools, as `${inputs.rows}`."""


def _param_type(value: str) -> str:
    if value not in PARAM_TYPES:
        raise refuse(f"{quoted(value[:40])} is none of {', '.join(sorted(PARAM_TYPES))}")
    return value


def _recipe_name(value: str) -> str:
    if not TASK_ID.fullmatch(value):
        raise refuse(f"{quoted(value[:80])} is no name of a recipe", "It has 1 to 64 of a-z 0-9 _ -.")
    return value


class OffersDoc(Doc):
    """The files whose names a form offers as values: on the device of one parameter, in the folder of another one,
    with the words of a third in their path. A form only looks for them; no other call can be named here.
    """

    on: Name
    root: Name
    words: Name | None = None
    pattern: Annotated[str, Field(min_length=1, max_length=200)] = "*"


class FirstDoc(Doc):
    """The parameters of *the newest 5 pictures*, which may stand where a phrase has *all* before files: the choice that
    orders them, the number of them, and the device that they are of, one where words say so.
    """

    by: Name
    most: Name
    of: Name


class ParamDoc(Doc):
    """One parameter. `needs` are tools its device must have; `not` names a device parameter it must differ from.

    `true_when_named` makes a boolean true when that other parameter was given and this one was not. `same_as` gives an
    optional parameter the value of another one of its type where it was not given. `many` says whether
    a device parameter takes several devices; not said, it does if its default is a selector. `minimum` and `maximum`
    are the limits of a number. `example` is the value that the sentence of a gallery shows where nothing is known.
    `values` are those of a choice, each with the words for it; the first of these is its label in a form. Of a path
    with `everything` that word means all that the device allows. A text may have `offers`, and files `first`.
    """

    type: Annotated[str, AfterValidator(_param_type)]
    title: Label | None = None
    needs: list[Name] = Field(default_factory=list)
    not_same: Name | None = Field(alias="not", default=None)
    optional: bool = False
    default: Any = None
    true_when_named: Name | None = None
    same_as: Name | None = None
    many: bool | None = None
    minimum: int | None = None
    maximum: int | None = None
    values: dict[Name, Annotated[list[Label], Field(min_length=1, max_length=20)]] = Field(default_factory=dict)
    example: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    everything: bool = False
    offers: OffersDoc | None = None
    first: FirstDoc | None = None

    @property
    def takes_many(self) -> bool:
        """Whether several devices may be named for it."""
        return isinstance(self.default, dict) if self.many is None else self.many


class RecipeTestDoc(Doc):
    """Where the fixture and the expected answer are, beside the recipe, and the values of the test."""

    fixture: str
    answer: str
    params: dict[str, Any] = Field(default_factory=dict)


class DemoDoc(Doc):
    """The trial of a recipe with the demo devices: its values, and a sentence on what stays afterwards."""

    params: dict[Name, Annotated[str, Field(min_length=1, max_length=80)]] = Field(default_factory=dict)
    leaves: Annotated[str, Field(min_length=1, max_length=200)]


class Recipe(Doc):
    """A recipe's head with its plan as written; `plan` is checked when values are known."""

    starloom_recipe: int
    name: Annotated[str, AfterValidator(_recipe_name)]
    title: Label
    version: Annotated[int, Field(ge=1)]
    phrases: Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=PHRASES_MOST)] = (
        Field(default_factory=list)
    )
    params: Annotated[dict[Name, ParamDoc], Field(max_length=PARAMS_MOST)] = Field(default_factory=dict)
    asks_for: dict[str, list[str]] = Field(default_factory=dict)
    effects: list[Annotated[Effect, Field(strict=False)]] = Field(default_factory=list)
    purpose: Annotated[Purpose, Field(strict=False)] | None = None
    demo: DemoDoc | None = None
    plan: dict[str, Any]
    test: RecipeTestDoc | None = None


class RecipeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Either faults or a recipe; `lacking` has a fault for each place that uses a tool which is not known."""

    faults: list[Fault] = []
    lacking: list[Fault] = []
    recipe: Recipe | None = None


def read_recipe(
    text: str | bytes,
    *,
    known_tools: Mapping[str, Repeatability] | None = None,
    known_signatures: Mapping[str, Signature] | None = None,
) -> RecipeCheck:
    """Read a recipe and check all that can be checked without values. Never raises for the content of the text.

    A tool that is not among `known_tools` makes no recipe wrong: a device that joins later may have it. They are given
    where a recipe is to be kept; only then are slips refused with which a kept one of an earlier hub still runs.
    """
    try:
        document = read_document(text)
    except DocumentRefused as refused:
        return RecipeCheck(faults=[refused.fault])
    faults = FaultList()
    recipe = faults.validate(Recipe, document, "")
    if recipe is None:
        return RecipeCheck(faults=faults.all)
    _check_head(recipe, faults)
    if known_tools is not None:
        _note_slips(recipe, faults)
    # With everything given, and with only what must be given: each kind of making shows its own faults.
    full = {name: _stand_in(name, param) for name, param in recipe.params.items()}
    least = {
        name: None if param.optional and param.same_as is None else _stand_in(name, param, default=True)
        for name, param in recipe.params.items()
    }
    for values in (full, least) if least != full else (full,):
        check = check_plan(
            recipe.plan, params=values, recipe=recipe.name, known_signatures=known_signatures, place="plan"
        )
        # The bounds of a value are judged when its user gives it.
        faults.all += [
            fault for fault in check.faults if fault not in faults.all and fault.code is not Code.BAD_ARGUMENTS
        ]
    if faults.all:
        return RecipeCheck(faults=faults.all)
    return RecipeCheck(lacking=_lacking(recipe, full, known_tools), recipe=recipe)


def _lacking(recipe: Recipe, values: Mapping[str, Any], known_tools: Mapping[str, Repeatability] | None) -> list[Fault]:
    if known_tools is None:  # no tool is unknown then, and the plan is checked without its tools before
        return []
    check = check_plan(recipe.plan, params=values, recipe=recipe.name, known_tools=known_tools, place="plan")
    return [fault for fault in check.faults if fault.code is Code.UNKNOWN_TOOL]


def recipe_values(recipe: Recipe, params: Mapping[str, Any]) -> tuple[list[Fault], dict[str, Any]]:
    """Return every parameter of a recipe with its value, None where optional and not given, and all faults.

    Texts are taken for every type (the command line has nothing else); a device becomes a selector.
    """
    faults = FaultList()
    for name in params:
        if name not in recipe.params:
            hint = faults.near(name, recipe.params)
            faults.add(Code.UNKNOWN_PARAM, joined("params", name), f"{recipe.name} has no parameter `{name}`", hint)
    values: dict[str, Any] = {}
    for name, param in recipe.params.items():
        value = params.get(name)
        place = joined("params", name)
        if value is None and param.true_when_named is not None and params.get(param.true_when_named) is not None:
            value = True
        if value is None and param.same_as is not None:
            value = params.get(param.same_as, recipe.params[param.same_as].default)
        if value is None:
            value = param.default
        values[name] = None
        if value is None:
            if not param.optional:
                faults.add(Code.MISSING_PARAM, place, f"`{name}` ({param.type}) has no value")
            continue
        try:
            values[name] = coerce(param.type, value)
            _check_limits(param, values[name])
        except ParamRefused as refused:
            faults.add(Code.PLAN_INVALID, place, f"`{name}` {refused.reason}", refused.hint)
    for name, param in recipe.params.items():
        other = param.not_same
        if other is not None and values.get(name) is not None and values[name] == values.get(other):
            faults.add(Code.PLAN_INVALID, joined("params", name), f"`{name}` must be another device than `{other}`")
    return faults.all, values


def _check_limits(param: ParamDoc, value: Any) -> None:
    """Return if a value is within its parameter's limits or values; a parameter for one device takes one.

    Raises:
        ParamRefused: if not.
    """
    if isinstance(value, int | float):
        if param.minimum is not None and value < param.minimum:
            raise ParamRefused(f"must be at least {param.minimum}, not {value}")
        if param.maximum is not None and value > param.maximum:
            raise ParamRefused(f"must be at most {param.maximum}, not {value}")
    if param.type == "choice" and value not in param.values:
        raise ParamRefused(f"must be one of {', '.join(param.values)}, not {shown(value)}")
    if param.type == "device" and not param.takes_many and (count := _devices_in(value)) > 1:
        raise ParamRefused(f"takes one device, not {count}", "Run it once for each of them.")


def _devices_in(selector: Any) -> int:
    """Return how many devices a selector names one by one."""
    choices = selector.get("any") if isinstance(selector, dict) else None
    return len(choices) if isinstance(choices, list) else 1


def recipe_plan(
    recipe: Recipe,
    params: Mapping[str, Any],
    *,
    known_devices: Collection[str] | None = None,
    known_tools: Mapping[str, Repeatability] | None = None,
    known_signatures: Mapping[str, Signature] | None = None,
) -> PlanCheck:
    """Make the plan of a recipe with these values; all faults of the values, else all of the plan."""
    faults, values = recipe_values(recipe, params)
    if faults:
        return PlanCheck(faults=faults)
    return check_plan(
        recipe.plan,
        params=values,
        recipe=recipe.name,
        known_devices=known_devices,
        known_tools=known_tools,
        known_signatures=known_signatures,
        place="plan",
    )


def _stand_in(name: str, param: ParamDoc, *, default: bool = False) -> Any:
    if (default or param.type == "choice") and param.default is not None:
        return param.default
    return placeholder(param.type, name)


def _check_head(recipe: Recipe, faults: FaultList) -> None:
    if recipe.starloom_recipe != RECIPE_FORMAT:
        reason = f"this hub reads recipes of format {RECIPE_FORMAT}, not {recipe.starloom_recipe}"
        faults.add(Code.PLAN_INVALID, "starloom_recipe", reason)
    for at, phrase in enumerate(recipe.phrases):
        slots = _SLOT.findall(phrase)
        for slot in slots:
            if slot not in recipe.params:
                reason = f"the phrase has a slot for `{slot}`, which is no parameter"
                faults.add(Code.UNKNOWN_PARAM, joined("phrases", at), reason, faults.near(slot, recipe.params))
        if len(set(slots)) < len(slots):
            faults.add(Code.PLAN_INVALID, joined("phrases", at), "the phrase has the same slot twice")
    for name in recipe.asks_for:
        if name not in recipe.params:
            hint = faults.near(name, recipe.params)
            faults.add(Code.UNKNOWN_PARAM, joined("asks_for", name), f"`{name}` is no parameter", hint)
    for name, param in recipe.params.items():
        _check_param(recipe, name, param, faults)
    for place, name in _slots_as_text(recipe.plan, "plan"):
        if name in recipe.params:
            reason = f"`{{{name}}}` is plain text in a plan; only phrases have slots"
            faults.add(Code.PLAN_INVALID, place, reason, f"Write `{{param: {name}}}` without quotes.")


def _slots_as_text(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a plan that are a slot of a phrase and nothing else, each with its place."""
    for where, text in _texts_in(value, place):
        slot = _SLOT.fullmatch(text.strip())
        if slot is not None:
            yield where, slot[1].strip()


def _texts_in(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts_in(item, joined(place, key))


def _note_slips(recipe: Recipe, faults: FaultList) -> None:
    """Note parameters without a use, and values in the form of other tools, which would stay as they are written."""
    used = set(_params_in(recipe.plan))
    for param in recipe.params.values():
        offers = param.offers
        used.update(filter(None, (param.true_when_named, param.same_as, param.not_same)))
        used.update(filter(None, (offers.on, offers.root, offers.words) if offers is not None else ()))
    for name in recipe.params:
        if name not in used:
            hint = f"Write `{{param: {name}}}` where its value belongs, or remove it."
            faults.add(Code.PLAN_INVALID, joined("params", name), f"nothing uses the parameter `{name}`", hint)
    _note_slots_in_words(recipe, faults)
    for place, text in _texts_in(recipe.plan, "plan"):
        form = _FOREIGN.search(text) if "\n" not in text else None  # a program of several lines may mean its own
        if form is not None:
            kind, name = form[1], form[2]
            hint = f"Write `{{param: {name}}}` as the whole value."
            if kind == "inputs":
                hint = "Write `inputs: {ARGUMENT: {from: TASK, output: /FIELD}}` at the task."
            reason = f"`{form[0]}` is plain text in a plan, which has no slots"
            faults.add(Code.PLAN_INVALID, place, reason, hint)


def _note_slots_in_words(recipe: Recipe, faults: FaultList) -> None:
    """Note slots that are a part of a word of a phrase, or of a text of the plan: neither is filled in."""
    for at, phrase in enumerate(recipe.phrases):
        for word in phrase.split():
            slot = _SLOT.search(word)
            if slot is not None and _SLOT_ALONE.fullmatch(word) is None:
                hint = f"Write `{slot[0]}` with spaces around it, or the word without it."
                reason = f"`{word}` has more than its slot, which takes whole words"
                faults.add(Code.PLAN_INVALID, joined("phrases", at), reason, hint)
    plan = {name: part for name, part in recipe.plan.items() if name != "sentence"}
    for place, text in _texts_in(plan, "plan"):
        slots = [slot for slot in _SLOT.findall(text) if slot in recipe.params and text.strip() != f"{{{slot}}}"]
        if slots and "\n" not in text and not place.endswith(".says"):  # a text of a check has places of its own
            hint = f"Write `{{param: {slots[0]}}}` as the whole value, and let its user give all of it."
            reason = f"`{{{slots[0]}}}` within a text stays as it is written; a plan puts no value into a text"
            faults.add(Code.PLAN_INVALID, place, reason, hint)


def _params_in(value: Any) -> Iterator[str]:
    """Yield the parameters that a plan uses."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("param"), str):
        yield value["param"]
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _params_in(item)


def _check_offers(recipe: Recipe, place: str, param: ParamDoc, offers: OffersDoc, faults: FaultList) -> None:
    if param.type != "text":
        faults.add(Code.PLAN_INVALID, place, "`offers` belongs to a parameter of type text")
    for field, kind in (("on", "device"), ("root", "path"), ("words", "text")):
        other = getattr(offers, field)
        if other is not None and (other not in recipe.params or recipe.params[other].type != kind):
            reason = f"`{other}` is no parameter of type {kind}"
            faults.add(Code.UNKNOWN_PARAM, joined(joined(place, "offers"), field), reason)


def _check_first(recipe: Recipe, place: str, param: ParamDoc, first: FirstDoc, faults: FaultList) -> None:
    if param.type != "files":
        faults.add(Code.PLAN_INVALID, place, "`first` belongs to a parameter of type files")
    for field, kind in (("by", "choice"), ("most", "integer"), ("of", "device")):
        other = getattr(first, field)
        if other not in recipe.params or recipe.params[other].type != kind:
            reason = f"`{other}` is no parameter of type {kind}"
            faults.add(Code.UNKNOWN_PARAM, joined(joined(place, "first"), field), reason)


def _check_param(recipe: Recipe, name: str, param: ParamDoc, faults: FaultList) -> None:
    place = joined("params", name)
    for word, other in (
        ("not", param.not_same),
        ("true_when_named", param.true_when_named),
        ("same_as", param.same_as),
    ):
        if other is not None and (other not in recipe.params or other == name):
            hint = faults.near(other, recipe.params)
            faults.add(Code.UNKNOWN_PARAM, joined(place, word), f"`{other}` is no other parameter", hint)
    if param.true_when_named is not None and param.type != "boolean":
        faults.add(
            Code.PLAN_INVALID, joined(place, "true_when_named"), "only a boolean can be true when another is named"
        )
    if param.same_as in recipe.params and not (
        param.optional and param.default is None and recipe.params[param.same_as].type == param.type
    ):
        reason = "only an optional parameter without a default can be the same as another one of its type"
        faults.add(Code.PLAN_INVALID, joined(place, "same_as"), reason)
    if param.offers is not None:
        _check_offers(recipe, place, param, param.offers, faults)
    if param.first is not None:
        _check_first(recipe, place, param, param.first, faults)
    if param.type != "device" and (param.needs or param.not_same is not None):
        faults.add(Code.PLAN_INVALID, place, "`needs` and `not` belong to a parameter of type device")
    if param.type != "path" and param.everything:
        faults.add(Code.PLAN_INVALID, place, "`everything` belongs to a parameter of type path")
    if param.type not in ("device", "file") and param.many is not None:
        faults.add(Code.PLAN_INVALID, place, "`many` belongs to a parameter of type device or file")
    if param.type not in ("integer", "number") and (param.minimum is not None or param.maximum is not None):
        faults.add(Code.PLAN_INVALID, place, "`minimum` and `maximum` belong to a parameter of type integer or number")
    if (param.type == "choice") != bool(param.values) or (param.values and param.default is None):
        reason = "a choice has `values` and a `default`, and no other parameter has `values`"
        faults.add(Code.PLAN_INVALID, place, reason)
    if param.default is not None:
        try:
            _check_limits(param, coerce(param.type, param.default))
        except ParamRefused as refused:
            faults.add(Code.PLAN_INVALID, joined(place, "default"), f"the default {refused.reason}", refused.hint)
    elif "default" in param.model_fields_set and not param.optional:
        reason = f"the default is {kind_word(None)}"
        faults.add(Code.PLAN_INVALID, joined(place, "default"), reason, "Write `optional: true` instead.")
