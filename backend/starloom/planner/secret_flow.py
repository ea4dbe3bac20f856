"""The flow of secrets in a plan before it runs: the devices of each, unset secrets, and places that take none.

Pure: it sees names and their allowed receivers, never a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starloom.core.state.model import Access
from starloom.core.state.queues.secret_needs import Needs, needs_of, set_line, withheld
from starloom_protocol.api.previews import SecretNeed
from starloom_protocol.entities import Device, Secret, TaskSpec, ToolOffer
from starloom_protocol.values import parse


@dataclass(frozen=True)
class SecretFlow:
    """One secret: the tasks that name it, the devices that would be given it; `kept` None if it is not set."""

    name: str
    kept: Secret | None
    tasks: tuple[str, ...]
    devices: tuple[str, ...]

    def plain(self) -> SecretNeed:
        """Return it as the JSON value that page and command line show."""
        return {
            "name": self.name,
            "set": self.kept is not None,
            "version": self.kept.version if self.kept else None,
            "tasks": list(self.tasks),
            "devices": list(self.devices),
            "line": None if self.kept else set_line(self.name),
        }


def access_of(secrets: Mapping[str, Secret]) -> Access:
    """Return the metadata of secrets in the form that placement reads."""
    made = Access("access")
    made.secrets.update(secrets)
    return made


def set_needs(access: Access, spec: TaskSpec, recipe: str | None) -> Needs | None:
    """Return a task's needs as far as they are set: one that is missing decides nothing about devices."""
    needs = needs_of(access, spec, recipe)
    if needs is None:
        return None
    return Needs(access, tuple(name for name in needs.names if name in access.secrets), recipe)


def secret_flows(used: Iterable[tuple[TaskSpec, Sequence[str]]], access: Access) -> tuple[SecretFlow, ...]:
    """Return the secrets of a plan in order of their names; `used` are its tasks with the names of their devices."""
    tasks: dict[str, list[str]] = {}
    devices: dict[str, dict[str, None]] = {}
    for spec, named in used:
        for secret in spec.secrets:
            tasks.setdefault(secret, []).append(spec.id)
            devices.setdefault(secret, {}).update(dict.fromkeys(named))
    return tuple(
        SecretFlow(name, access.secrets.get(name), tuple(tasks[name]), tuple(devices[name])) for name in sorted(tasks)
    )


def secret_warnings(
    spec: TaskSpec, recipe: str | None, devices: Sequence[Device], offers: Sequence[ToolOffer], access: Access
) -> Iterable[str]:
    """Yield why a task could not be given its secrets on the devices that the preview names."""
    needs = set_needs(access, spec, recipe)
    for device in devices if needs is not None else ():
        held = withheld(needs, device, spec.tool or "") if needs is not None else None
        if held is not None:
            yield f"{spec.id}: {device.name} {held[1]}."
    if spec.secrets and offers:
        args = parse(spec.args)
        takes = taking(offers[0])
        for argument in sorted(args) if isinstance(args, dict) else ():
            if argument not in takes and names_secret(args[argument]):
                where = " or ".join(f"`{name}`" for name in sorted(takes)) or "none of its arguments"
                yield f"{spec.id}: {spec.tool} takes no secret in `{argument}`; it takes one in {where}."


def taking(offer: ToolOffer) -> frozenset[str]:
    """Return the arguments of a tool in which a secret may stand: its schema says so by `writeOnly`."""
    schema = parse(offer.args)
    if not isinstance(schema, dict):
        return frozenset()
    named = str(schema.get("$ref", "")).rpartition("/")[2]
    found = schema.get("$defs", {}).get(named, schema) if named else schema
    properties = found.get("properties", {})
    return frozenset(name for name, part in properties.items() if isinstance(part, dict) and part.get("writeOnly"))


def names_secret(value: Any) -> bool:
    """Whether a secret's node stands somewhere inside a value."""
    if isinstance(value, dict):
        return value.keys() == {"secret"} or any(names_secret(item) for item in value.values())
    return isinstance(value, list) and any(names_secret(item) for item in value)
