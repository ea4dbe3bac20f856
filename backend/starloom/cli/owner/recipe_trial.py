"""The trial of a recipe on the present fleet: the values of its own test, with devices that are here.

A recipe is tested with devices of a fixture. Where one of them is not in this fleet, another that has the tools which
the recipe asks for takes its place. The values of a trial are completed and judged as those of a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from starloom.client.problems import problem_of, usage
from starloom_protocol.vocabulary import CODES, Code, DeviceLink

if TYPE_CHECKING:
    from starloom_protocol.api.fleet import DeviceRow
    from starloom_protocol.plan.language.models import SelectorDoc
    from starloom_protocol.plan.recipe import ParamDoc, Recipe

_TEST: Final = re.compile(r"^test:.*\n?(?:[ \t]+\S.*\n?|\n(?=[ \t]))*", re.MULTILINE)


def without_test(text: str) -> str:
    """Return the text of a recipe without its test, whose fixture is no part of it."""
    return _TEST.sub("", text)


def trial_values(recipe: Recipe, values_given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each parameter of a recipe, as a run has it.

    Raises:
        Problem: a value is missing or refused; it has all faults.
    """
    from starloom_protocol.plan import recipe_values

    faults, values = recipe_values(recipe, values_given)
    if not faults:
        return values
    errors = [
        {"code": fault.code, "reason": fault.reason, "place": fault.place, "hint": fault.hint or CODES[fault.code].hint}
        for fault in faults
    ]
    code, reason, hint = faults[0].code, faults[0].reason, errors[0]["hint"]
    if len(faults) > 1:
        code, reason = Code.PLAN_INVALID, f"{len(faults)} faults; the first: {reason}"
        hint = CODES[code].hint
    document = {"code": code, "title": CODES[code].title, "reason": reason, "hint": hint, "errors": errors}
    raise problem_of(CODES[code].status, document)


def example_values(recipe: Recipe, devices: Callable[[], Iterable[DeviceRow]]) -> dict[str, Any]:
    """Return an example for each parameter of a recipe that needs a value and has none in its test.

    `devices` is asked once, and only where a device is needed.
    """
    from starloom_protocol.plan.language.param_types import placeholder

    devices_listed: list[DeviceRow] | None = None
    tested = _tested(recipe)
    devices_tested = (name for name, param in recipe.params.items() if _is_open(name, param, recipe, {}))
    used = {name: next(_names_in(tested[name]), "") for name in devices_tested}
    examples: dict[str, Any] = {}
    for name, param in recipe.params.items():
        has_value = param.optional or param.default is not None or param.true_when_named is not None
        if has_value or name in tested:
            continue
        value = param.example
        if param.type == "device":
            if value is None:
                devices_listed = list(devices()) if devices_listed is None else devices_listed
                value = next(iter(_free(name, recipe, devices_listed, used)), name)
            used[name] = str(value)
        examples[name] = value or placeholder(param.type, name)
    return examples


def names_devices(recipe: Recipe, given: Mapping[str, Any]) -> bool:
    """Tell whether the test of a recipe names devices for parameters that nobody gave a value."""
    return any(_is_open(name, param, recipe, given) for name, param in recipe.params.items())


def stand_ins(recipe: Recipe, given: Mapping[str, Any], devices: Iterable[DeviceRow]) -> dict[str, Any]:
    """Return the devices of this fleet that stand in for those of a recipe's test which are not in it, by parameter.

    Raises:
        Problem: no device has the tools that a parameter asks for.
    """
    devices_by_name = {device["name"]: device for device in devices if not device["revoked"]}
    used = {name: value for name, value in given.items() if isinstance(value, str)}
    substitutes: dict[str, Any] = {}
    for name, param in recipe.params.items():
        if not _is_open(name, param, recipe, given):
            continue
        names = list(_names_in(_tested(recipe)[name]))
        if names and all(name_tested in devices_by_name for name_tested in names):
            used[name] = names[0]
            continue
        free = _free(name, recipe, devices_by_name.values(), used)
        if not free:
            needs = f" with {', '.join(param.needs)}" if param.needs else ""
            raise usage(
                f"the test of {recipe.name} names {', '.join(names) or 'no device'} for {name}, and no device "
                f"here{needs} can stand in",
                f"Name one: starloom recipe test {recipe.name} -p {name}=DEVICE",
            )
        substitutes[name] = used[name] = free[0]
    return substitutes


def _tested(recipe: Recipe) -> Mapping[str, Any]:
    return recipe.test.params if recipe.test is not None else {}


def _is_open(name: str, param: ParamDoc, recipe: Recipe, given: Mapping[str, Any]) -> bool:
    return param.type == "device" and name in _tested(recipe) and name not in given


def _free(name: str, recipe: Recipe, devices: Iterable[DeviceRow], used: Mapping[str, str]) -> list[str]:
    """Return the devices that a parameter may take beside the taken ones: real before demo, connected before away."""
    param = recipe.params[name]
    excluded = {param.not_same, *(each_name for each_name, each in recipe.params.items() if each.not_same == name)}
    able = [
        device
        for device in devices
        if not device["revoked"]
        and set(param.needs) <= set(device["tools"])
        and device["name"] not in {used.get(each_name or "") for each_name in excluded}
    ]
    return [
        device["name"] for device in sorted(able, key=lambda each: (each["demo"], each["link"] != DeviceLink.ONLINE))
    ]


def _names_in(value: Any) -> Iterator[str]:
    """Yield the names in a value of a device parameter: one name, or a selector that has some."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        from starloom_protocol.plan.language.models import SelectorDoc  # no other command needs the language of plans

        yield from _names_of(SelectorDoc.model_validate(value))


def _names_of(selector: SelectorDoc) -> Iterator[str]:
    if selector.name is not None:
        yield selector.name
    for part in selector.any:
        yield from _names_of(part)
