"""Parameters, put into a document before it is checked; tasks whose `only_if` is false are left out.

Owns the `{param: name}` node. A parameter that was not given (None) is a fault where it is needed; in a selector's
`any` it drops that choice. The other nodes are left as they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starloom_protocol.plan.language.fault_list import FaultList, joined
from starloom_protocol.vocabulary import Code


class _Dropped:
    __slots__ = ()


_DROPPED: Final = _Dropped()


class Params:
    """The values of one making of a plan; None stands for a parameter that exists and was not given.

    `named` False promises that no part of the document has the key `param`: then there is nothing to put in.
    """

    def __init__(self, values: Mapping[str, Any] | None, faults: FaultList, *, named: bool = True) -> None:
        self._values = values
        self._faults = faults
        self.named = named

    def put_in(self, value: Any, place: str, *, selector: bool = False) -> Any:
        """Return the value with parameters put in; in a selector a text names a device."""
        if not self.named:
            return value
        result = self._walk(value, place, selector=selector, choice=False)
        return None if result is _DROPPED else result

    def put_in_fields(self, raw: dict[str, Any], place: str) -> dict[str, Any]:
        """Return a map such as a task with parameters put into every field but `id` and `only_if`."""
        if not self.named:
            return dict(raw)
        fields: dict[str, Any] = {}
        for name, value in raw.items():
            if name in ("id", "only_if"):
                fields[name] = value
            elif name == "for_each" and isinstance(value, dict):
                fields[name] = {
                    inner: self.put_in(item, joined(place, name, inner), selector=inner == "devices")
                    for inner, item in value.items()
                }
            else:
                fields[name] = self.put_in(value, joined(place, name), selector=name == "device")
        return fields

    def is_included(self, raw: dict[str, Any], place: str) -> bool:
        """Decide `only_if`: false leaves the task out. Empty, false and not given all leave out."""
        if "only_if" not in raw:
            return True
        condition, where = raw["only_if"], joined(place, "only_if")
        if isinstance(condition, bool):
            return condition
        if not (isinstance(condition, dict) and set(condition) == {"param"} and isinstance(condition["param"], str)):
            self._faults.add(Code.PLAN_INVALID, where, "`only_if` is {param: name}, true or false")
            return True
        value = self._lookup(condition["param"], where)
        return value is not _DROPPED and bool(value)

    def _lookup(self, name: str, place: str) -> Any:
        if self._values is None or name not in self._values:
            names = list(self._values or ())
            reason = f"there is no parameter `{name}`" if names else f"this plan has no parameters, so no `{name}`"
            self._faults.add(Code.UNKNOWN_PARAM, place, reason, self._faults.near(name, names))
            return _DROPPED
        return self._values[name]

    def _walk(self, value: Any, place: str, *, selector: bool, choice: bool) -> Any:
        if isinstance(value, dict):
            if len(value) == 1 and isinstance(value.get("param"), str):
                return self._node(value["param"], place, selector=selector, choice=choice)
            fields = {
                key: self._walk(item, joined(place, key), selector=selector and key == "any", choice=False)
                for key, item in value.items()
            }
            return {key: item for key, item in fields.items() if item is not _DROPPED}
        if isinstance(value, list):
            walked = [
                self._walk(item, joined(place, index), selector=selector, choice=selector)
                for index, item in enumerate(value)
            ]
            items = [item for item in walked if item is not _DROPPED]
            if selector and value and not items:
                self._faults.add(Code.MISSING_PARAM, place, "none of the parameters here has a value")
            return items
        return value

    def _node(self, name: str, place: str, *, selector: bool, choice: bool) -> Any:
        value = self._lookup(name, place)
        if value is None:
            if not choice:
                self._faults.add(Code.MISSING_PARAM, place, f"the parameter `{name}` has no value")
            return _DROPPED
        if selector and isinstance(value, str):
            return {"name": value}
        return value
