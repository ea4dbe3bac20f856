"""A plan in the names that its devices had when a person approved it. Pure.

The plan of a request is made again for each firing of its schedule, with the names of that day. A device keeps its id
when it is renamed, so a plan that differs by its name alone is the one that was approved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

import msgspec

from starloom.core.state.model import Fleet
from starloom_protocol.plan import plan_hash
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Selector
from starloom_protocol.values import canonical, parse

_SPELLINGS_MOST = 64
_PLACES = frozenset({"device", "devices"})
_FIELDS = frozenset(Selector.__struct_fields__)


def hash_as_approved(fleet: Fleet, plan: LoweredPlan, approved: str, bound: Mapping[str, str]) -> str:
    """Return the approved hash if the plan has it in earlier names of its devices, or else the hash that it has.

    `bound` has the ids of the devices by the names that the plan had for them when it was approved.
    """
    if plan.hash == approved:
        return approved
    hashes = (plan_hash(variant) for variant in islice(_in_earlier_names(fleet, plan, bound), _SPELLINGS_MOST))
    return approved if approved in hashes else plan.hash


def _in_earlier_names(fleet: Fleet, plan: LoweredPlan, bound: Mapping[str, str]) -> Iterator[LoweredPlan]:
    earlier: dict[str, list[str]] = {}
    for name, identity in bound.items():
        device = fleet.devices.get(identity)
        if device is not None and name != device.name and fleet.named(name) is device:
            earlier.setdefault(device.name, []).append(name)
    content = msgspec.to_builtins(plan)
    for chosen in product(*([now, *names] for now, names in earlier.items())):
        old_names = {now: name for now, name in zip(earlier, chosen, strict=True) if now != name}
        if not old_names:
            continue
        yield _with_names(content, old_names, in_order=False)
        # Several devices stand in the order of their names.
        yield _with_names(content, old_names, in_order=True)


def _with_names(content: dict[str, Any], old_names: Mapping[str, str], *, in_order: bool) -> LoweredPlan:
    def of_selector(value: Any) -> Any:
        if isinstance(value, list):
            return [of_selector(item) for item in value]
        if not isinstance(value, dict) or not value.keys() <= _FIELDS:
            return value
        changed = dict(value)
        if isinstance(name := changed.get("name"), str):
            changed["name"] = old_names.get(name, name)
        if isinstance(parts := changed.get("any"), list):
            parts = [of_selector(part) for part in parts]
            changed["any"] = sorted(parts, key=canonical) if in_order else parts
        return changed

    def within(value: Any) -> Any:
        if isinstance(value, list):
            return [within(item) for item in value]
        if isinstance(value, dict):
            return {key: of_selector(item) if key in _PLACES else within(item) for key, item in value.items()}
        return value

    changed = {**content, "specs": within(content["specs"])}
    if "rules" in content:
        changed["rules"] = [
            {**rule, "operations": canonical(within(parse(rule["operations"])))} for rule in content["rules"]
        ]
    if "params" in content:
        params = parse(content["params"])
        changed["params"] = canonical({key: of_selector(value) for key, value in params.items()})
    return msgspec.convert(changed, LoweredPlan)
