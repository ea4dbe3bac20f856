"""The flow of secrets in a plan before it runs: the devices of each, unset secrets, and places that take none.

Pure: it sees names and their allowed receivers, never a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starloom.core.state.model import Access, Fleet
from starloom.core.state.task_needs import Needs, allow_line, needs_of, set_line, withheld
from starloom.planner.preview.capability import TaskFault
from starloom_protocol.api.previews import SecretNeed
from starloom_protocol.records.access import CREDENTIAL_NAME
from starloom_protocol.records.entities import Device, Secret, TaskSpec, ToolOffer
from starloom_protocol.values import parse


@dataclass(frozen=True)
class SecretFlow:
    """One secret: the tasks that name it, the devices that would be given it; `secret` None if it is not set."""

    name: str
    secret: Secret | None
    tasks: tuple[str, ...]
    devices: tuple[str, ...]

    def plain(self) -> SecretNeed:
        """Return it as the JSON value that page and command line show."""
        return {
            "name": self.name,
            "set": self.secret is not None,
            "version": self.secret.version if self.secret else None,
            "tasks": list(self.tasks),
            "devices": list(self.devices),
            "line": None if self.secret else set_line(self.name),
        }


def access_of(secrets: Mapping[str, Secret]) -> Access:
    """Return the metadata of secrets in the form that placement reads."""
    access = Access("access")
    access.secrets.update(secrets)
    return access


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
    for spec, device_names in used:
        for secret in spec.secrets:
            tasks.setdefault(secret, []).append(spec.id)
            devices.setdefault(secret, {}).update(dict.fromkeys(device_names))
    return tuple(
        SecretFlow(name, access.secrets.get(name), tuple(tasks[name]), tuple(devices[name])) for name in sorted(tasks)
    )


def secret_faults(
    spec: TaskSpec,
    recipe: str | None,
    devices: Sequence[Device],
    offers: Sequence[ToolOffer],
    fleet: Fleet,
    access: Access,
) -> Iterable[TaskFault]:
    """Yield the uses of secrets that cannot work: by a task's devices, its arguments, or the name of a variable."""
    needs = set_needs(access, spec, recipe)
    for device in devices if needs is not None else ():
        reason = withheld(needs, device, spec.tool or "") if needs is not None else None
        if reason is not None and needs is not None:
            line = allow_line(needs, device, spec.tool or "", fleet.devices)
            yield TaskFault(spec.id, f"{spec.id}: {device.name} {reason[1]}.", line or "Choose another device.")
    args = parse(spec.args)
    if isinstance(args, dict) and offers:
        takes = taking(offers[0])
        if spec.secrets:
            yield from _misplaced(spec, args, takes)
        yield from _misnamed(spec, args, takes)


def template_warnings(spec: TaskSpec) -> Iterable[str]:
    """Yield a sentence for each secret that is written as other systems write it; a file may mean just that text."""
    for name in dict.fromkeys(_templates(parse(spec.args))):
        yield f"{spec.id}: `{{{{ secrets.{name} }}}}` is plain text; for the secret write {{secret: {name}}} alone."


def _misplaced(spec: TaskSpec, args: dict[str, Any], takes: frozenset[str]) -> Iterable[TaskFault]:
    where = " or ".join(f"`{name}`" for name in sorted(takes)) or "none of its arguments"
    for argument in sorted(args):
        if argument not in takes and names_secret(args[argument]):
            reason = f"{spec.id}: {spec.tool} takes no secret in `{argument}`; it takes one in {where}."
            yield TaskFault(spec.id, reason, f"Name it in {where}." if takes else "Use a tool that takes one.")


def _misnamed(spec: TaskSpec, args: dict[str, Any], takes: frozenset[str]) -> Iterable[TaskFault]:
    """Yield the variables that a program is not given, whatever their value: no name of them is one of a credential."""
    env = args.get("env") if "env" in takes else None
    variables: dict[str, Any] = env if isinstance(env, dict) else {}
    for name in sorted(variables):
        if not CREDENTIAL_NAME.fullmatch(name):
            reason = f"{spec.id}: `env` takes names of credentials only, and {name} is none."
            yield TaskFault(spec.id, reason, f"Call it {_credential(name)} (docs/secrets.md).")


def _credential(name: str) -> str:
    """Return a name of a credential near this one."""
    signs = (sign if sign.isascii() and sign.isalnum() else "_" for sign in name.upper())
    near = "".join(signs)[:50].strip("_0123456789")
    return f"{near}_TOKEN or {near}_KEY" if near else "API_TOKEN or API_KEY"


_TEMPLATE = re.compile(r"\{\{\s*secrets?[.:]\s*([A-Za-z0-9_][A-Za-z0-9_.-]{0,63}?)\s*\}\}")
"""A secret as other systems write it."""


def _templates(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _TEMPLATE.findall(value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _templates(item)


def receiving(spec: TaskSpec, recipe: str | None, devices: Iterable[Device], access: Access) -> tuple[str, ...]:
    """Return the names of the devices that may be given a task's secrets."""
    needs = set_needs(access, spec, recipe)
    return tuple(device.name for device in devices if needs is None or withheld(needs, device, spec.tool or "") is None)


def taking(offer: ToolOffer) -> frozenset[str]:
    """Return the arguments of a tool in which a secret may stand: its schema says so by `writeOnly`."""
    schema = parse(offer.args)
    if not isinstance(schema, dict):
        return frozenset()
    definition = str(schema.get("$ref", "")).rpartition("/")[2]
    # A device writes what it likes: each part of it may be anything.
    definitions = schema.get("$defs")
    part_schema = definitions.get(definition, schema) if definition and isinstance(definitions, dict) else schema
    properties = part_schema.get("properties") if isinstance(part_schema, dict) else None
    if not isinstance(properties, dict):
        return frozenset()
    return frozenset(name for name, part in properties.items() if isinstance(part, dict) and part.get("writeOnly"))


def names_secret(value: Any) -> bool:
    """Whether a secret's node stands somewhere inside a value."""
    if isinstance(value, dict):
        return value.keys() == {"secret"} or any(names_secret(item) for item in value.values())
    return isinstance(value, list) and any(names_secret(item) for item in value)
