"""Needs of a task beside its tool and selector: decides from records which device may be given its secrets, and which
was approved for its call. Has no value of a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from starloom.core.state.model import Access, Constellation
from starloom_protocol.records.entities import Device, Selector, TaskSpec, encode_entity
from starloom_protocol.vocabulary import Reason


@dataclass(frozen=True, slots=True)
class Needs:
    """The secrets of a task: their names, the recipe of its constellation, and where to look them up.

    `approved` are the devices that its approval showed; None where it has none.
    """

    access: Access
    names: tuple[str, ...]
    recipe: str | None
    approved: frozenset[str] | None = None


def needs_of(access: Access, spec: TaskSpec, recipe: str | None) -> Needs | None:
    """Return the needs of a task, None if it names no secret."""
    return Needs(access, tuple(spec.secrets), recipe) if spec.secrets else None


def needs_in(access: Access, constellation: Constellation, spec: TaskSpec) -> Needs | None:
    """Return the needs of a task of a constellation, None if it has none."""
    recipe = constellation.head.recipe
    approved = approved_for(constellation, spec) if constellation.approved else None
    return needs_of(access, spec, recipe) if approved is None else Needs(access, tuple(spec.secrets), recipe, approved)


def approved_for(constellation: Constellation, spec: TaskSpec) -> frozenset[str] | None:
    """Return the devices that were approved for a task or group, or its steps; None where it needed no approval.

    They are known by tool and selector: an edit that changes these was judged when it was made.
    """
    selector = spec.device
    if selector is None or (spec.key is not None and selector == Selector(id=spec.key)):
        # A group over devices, and its child, which goes to the device of its item.
        root = constellation.specs.get(spec.family or spec.id)
        each = root.for_each if root is not None else None
        selector = each.devices if each is not None and each.devices is not None else selector
    return constellation.approved.get((spec.tool or "", encode_entity(selector or Selector())))


def set_line(name: str) -> str:
    """Return the command line that sets a secret."""
    return f"starloom secret set {name}"


def withheld(needs: Needs, device: Device, tool: str) -> tuple[Reason, str] | None:
    """Return why this device may not be given these secrets for this tool; None if it may."""
    if needs.approved is not None and device.id not in needs.approved:
        return Reason.NO_CAPABLE_DEVICE, "is none of the devices that were approved for it"
    for name in needs.names:
        secret = needs.access.secrets.get(name)
        if secret is None:
            return Reason.MISSING_SECRET, f"would need the secret {name}, which is not set: {set_line(name)}"
        if secret.devices and device.id not in secret.devices:
            return Reason.NO_CAPABLE_DEVICE, f"may not receive the secret {name}; it is kept for other devices"
        if secret.tools and tool not in secret.tools:
            return Reason.NO_CAPABLE_DEVICE, f"may not receive the secret {name} for {tool}: {_only_for(secret.tools)}"
        if secret.recipes and needs.recipe not in secret.recipes:
            asking = f"the recipe {needs.recipe}" if needs.recipe else "a plan of its own"
            return (
                Reason.NO_CAPABLE_DEVICE,
                f"may not receive the secret {name} for {asking}: {_only_for(secret.recipes)}",
            )
    return None


def allow_line(needs: Needs, device: Device, tool: str, devices: Mapping[str, Device]) -> str | None:
    """Return the line that lets this device have the secret that is withheld from it; None if none is."""
    for name in needs.names:
        secret = needs.access.secrets.get(name)
        if secret is None:
            continue
        if secret.devices and device.id not in secret.devices:
            names = [devices[key].name for key in secret.devices if key in devices and not devices[key].revoked]
            return _limited(name, "--for-device", [*names, device.name])
        if secret.tools and tool not in secret.tools:
            return _limited(name, "--for-tool", [*secret.tools, tool])
        if secret.recipes and needs.recipe not in secret.recipes:
            allowed = [*secret.recipes, needs.recipe] if needs.recipe else []
            return _limited(name, "--for-recipe", allowed) if allowed else f"{set_line(name)} --for-any"
    return None


def _limited(name: str, option: str, values: Sequence[str]) -> str:
    return " ".join([set_line(name), *(f"{option} {quote(value)}" for value in values)])


def missing(needs: Needs | None) -> list[str]:
    """Return the names of the secrets that are not set."""
    return [] if needs is None else [name for name in needs.names if name not in needs.access.secrets]


def _only_for(names: Sequence[str]) -> str:
    return f"only for {', '.join(names)}"
