"""The key of a reusable result: the hash of the tool, its arguments and inputs by value, the place and the person.

Pure. Two tasks with one key would do the same work; whether a kept result may stand for it is judged in `kept_results`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from starloom.core.state.model import Constellation
from starloom.core.state.queues import ANY
from starloom.core.state.tasks.gates import fact, successes
from starloom_protocol.plan.lowering.patterns.reuse import PROGRAMS
from starloom_protocol.records.entities import TaskSpec, encode_entity
from starloom_protocol.stream.authors import who
from starloom_protocol.values import MISSING, canonical, parse, point

_FILES: Final = "files"
FORM: Final = 1
"""Raised when the key has other parts, so that results under older keys are not found any more."""


class Unkeyed(Exception):
    """Something that the result depends on is not known by its value, so the task has no key."""


def key_of(constellation: Constellation, spec: TaskSpec) -> str:
    """Return the key of a task whose inputs are there.

    Raises:
        Unkeyed: an input or a part of an item has no value that could be compared.
    """
    if any(one.topic for one in spec.inputs):
        raise Unkeyed("a finding is another one in each run")
    item = _item_of(constellation, spec)
    inputs = {one.name: list(_input_values(constellation, one.source, one.output)) for one in spec.inputs}
    if spec.tool in PROGRAMS and _FILES in inputs:
        inputs[_FILES] = [_timeless(value) for value in inputs[_FILES]]
    text = canonical(
        {
            "args": _filled(parse(spec.args), item),
            "device": encode_entity(spec.device or ANY).decode(),
            "form": FORM,
            "inputs": inputs,
            "key": _filled(parse(spec.reuse.key), item) if spec.reuse is not None and spec.reuse.key else None,
            "person": who(constellation.head.author),
            "tool": spec.tool or "",
        }
    )
    return hashlib.sha256(text.encode()).hexdigest()


def list_devices(constellation: Constellation, spec: TaskSpec) -> frozenset[str]:
    """Return the devices whose results are the list that a child was made from; empty if it was made from none.

    An entry that a person marked has no device, and is an empty name here.
    """
    family = constellation.specs.get(spec.family or "")
    each = family.for_each if family is not None else None
    if each is None or each.source is None:
        return frozenset()
    devices: set[str] = set()
    for task in successes(constellation, each.source):
        attempt = constellation.last_attempt(task)
        marked = constellation.tasks[task].marked is not None
        devices.add("" if marked or attempt is None else attempt.device)
    return frozenset(devices)


def _item_of(constellation: Constellation, spec: TaskSpec) -> Any:
    if spec.key is None or spec.family is None:
        return MISSING
    stored = constellation.items.get(f"{spec.family}/{spec.key}")
    return parse(stored.value) if stored is not None else MISSING


def _input_values(constellation: Constellation, source: str, output: str) -> Iterator[Any]:
    """Yield a value for each result that an input reads; a long one is known by the hash of the file that holds it."""
    for task in successes(constellation, source):
        value = fact(constellation, task, output)
        attempt = constellation.last_attempt(task)
        if value is not MISSING:
            yield {"value": value}
        elif attempt is not None and attempt.artifact is not None:
            yield {"artifact": attempt.artifact, "output": output}
        else:
            raise Unkeyed(f"{task} gives nothing at {output}")


def _timeless(value: Any) -> Any:
    """Return a value without the times of files at the hub: a program gets their bytes under their names alone."""
    if isinstance(value, list):
        return [_timeless(part) for part in value]
    if isinstance(value, dict):
        times = {"mtime_s"} if value.get("artifact") else set()
        return {name: _timeless(part) for name, part in value.items() if name not in times}
    return value


def _filled(value: Any, item: Any) -> Any:
    """Return a value with the fields of the item in the places of its `each` nodes."""
    if isinstance(value, dict):
        if value.keys() == {"each"}:
            field = point(item, str(value["each"])) if item is not MISSING else MISSING
            if field is MISSING:
                raise Unkeyed(f"the item has nothing at {value['each']}")
            return field
        return {name: _filled(inner, item) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, item) for inner in value]
    return value
