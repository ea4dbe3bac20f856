"""The trial of a recipe on the present fleet: the values of its own test, with devices that are here.

A recipe is tested with devices of a fixture. Where one of them is not in this fleet, another that has the tools which
the recipe asks for takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from starloom.client.problems import usage
from starloom_protocol.vocabulary import DeviceLink

if TYPE_CHECKING:
    from starloom_protocol.api.fleet import DeviceRow
    from starloom_protocol.plan.language.models import SelectorDoc
    from starloom_protocol.plan.recipe import ParamDoc, Recipe

_TEST: Final = re.compile(r"^test:.*\n?(?:[ \t]+\S.*\n?|\n(?=[ \t]))*", re.MULTILINE)


def without_test(text: str) -> str:
    """Return the text of a recipe without its test, whose fixture is no part of it."""
    return _TEST.sub("", text)


def names_devices(recipe: Recipe, given: Mapping[str, Any]) -> bool:
    """Tell whether the test of a recipe names devices for parameters that nobody gave a value."""
    return any(_is_open(name, param, recipe, given) for name, param in recipe.params.items())


def stand_ins(recipe: Recipe, given: Mapping[str, Any], devices: Iterable[DeviceRow]) -> dict[str, Any]:
    """Return the devices of this fleet that stand in for those of a recipe's test which are not in it, by parameter.

    Raises:
        Problem: no device has the tools that a parameter asks for.
    """
    here = {device["name"]: device for device in devices if not device["revoked"]}
    taken: dict[str, str] = {name: value for name, value in given.items() if isinstance(value, str)}
    found: dict[str, Any] = {}
    for name, param in recipe.params.items():
        if not _is_open(name, param, recipe, given):
            continue
        wanted = list(_names_in(_tested(recipe)[name]))
        if wanted and all(one in here for one in wanted):
            taken[name] = wanted[0]
            continue
        able = sorted(_able(here.values(), param), key=lambda one: one["link"] != DeviceLink.ONLINE)
        free = [one["name"] for one in able if one["name"] != taken.get(param.not_same or "")]
        if not free:
            needs = f" with {', '.join(param.needs)}" if param.needs else ""
            raise usage(
                f"the test of {recipe.name} names {', '.join(wanted) or 'no device'} for {name}, and no device "
                f"here{needs} can stand in",
                f"Name one: starloom recipe test {recipe.name} -p {name}=DEVICE",
            )
        found[name] = taken[name] = free[0]
    return found


def _tested(recipe: Recipe) -> Mapping[str, Any]:
    return recipe.test.params if recipe.test is not None else {}


def _is_open(name: str, param: ParamDoc, recipe: Recipe, given: Mapping[str, Any]) -> bool:
    return param.type == "device" and name in _tested(recipe) and name not in given


def _able(devices: Iterable[DeviceRow], param: ParamDoc) -> Iterator[DeviceRow]:
    return (device for device in devices if set(param.needs) <= set(device["tools"]))


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
    for one in selector.any:
        yield from _names_of(one)
