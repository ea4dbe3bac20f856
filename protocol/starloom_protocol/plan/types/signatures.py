"""The arguments and results of a tool, read from the JSON schemas that devices offer for it.

Versions of a tool are merged: the device that gets the task is not known yet when a plan is checked. Of arguments only
the names are judged: the device judges the values, because only there the whole schema is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache, reduce
from types import MappingProxyType
from typing import Any, Final

import msgspec

from starloom_protocol.plan.types.schemas import OPEN, Shape, either, shape_of
from starloom_protocol.records.fleet import ToolOffer
from starloom_protocol.tools.results import built_in, returned_by
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Effect

_SCHEMAS_KEPT: Final = 1024
_SAY_MORE: Final = frozenset({"allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas", "not"})
"""Words of a schema by which names that it does not list may be allowed, or needed ones be left out."""


class Arguments(msgspec.Struct, frozen=True):
    """The names a tool takes, None for any, and those it cannot do without."""

    names: frozenset[str] | None = None
    needed: frozenset[str] = frozenset()

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Return the given names that are not taken, in their order."""
        return [] if self.names is None else [name for name in names if name not in self.names]

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the needed names that are not given, sorted."""
        return sorted(self.needed.difference(names)) if self.needed else []


ANY: Final = Arguments()


def taken_by(schemas: Iterable[str]) -> Arguments:
    """Return the arguments of a tool by its schemas on devices (texts): those that any takes, and that all need.

    Devices may have different versions of it, and the one that gets the task is not known yet.
    """
    return reduce(_either, map(_read, dict.fromkeys(schemas)), None) or ANY


def _either(one: Arguments | None, other: Arguments) -> Arguments:
    if one is None:
        return other
    names = None if one.names is None or other.names is None else one.names | other.names
    return Arguments(names, one.needed & other.needed)


@lru_cache(_SCHEMAS_KEPT)
def _read(text: str) -> Arguments:
    whole = parse(text)
    schema = _resolved(whole) if isinstance(whole, dict) else {}
    properties, needed = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(needed, list) or not _SAY_MORE.isdisjoint(schema):
        return ANY
    closed = schema.get("additionalProperties") is False
    return Arguments(
        frozenset(properties) if closed else None, frozenset(name for name in needed if isinstance(name, str))
    )


def _resolved(whole: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = whole.get("$ref")
    if not isinstance(reference, str):
        return whole
    place, _, name = reference.rpartition("/")
    definitions = whole.get("$defs") if place == "#/$defs" else None
    node = definitions.get(name) if isinstance(definitions, dict) else None
    return node if isinstance(node, dict) else {}


class Signature(msgspec.Struct, frozen=True):
    """The names of a tool's arguments, the shapes of their values (`args`) and of its result (`gives`), its effects."""

    names: Arguments = ANY
    args: Shape = OPEN
    gives: Shape = OPEN
    effects: frozenset[Effect] = frozenset()


def signature_of(offers: Iterable[ToolOffer]) -> Signature:
    """Return the signature of a tool by its offers: the arguments and results of any version are allowed."""
    offered = list(offers)
    args = dict.fromkeys(offer.args for offer in offered)
    gives = dict.fromkeys(map(returned_by, offered))
    effects = frozenset(effect for offer in offered for effect in offer.effects)
    return Signature(taken_by(args), either(map(shape_of, args)), either(map(shape_of, gives)), effects)


def signatures_of(offers: Iterable[ToolOffer]) -> dict[str, Signature]:
    """Return the signature of each tool among the offers of many devices."""
    by_tool: dict[str, list[ToolOffer]] = {}
    for offer in offers:
        by_tool.setdefault(offer.name, []).append(offer)
    return {tool: signature_of(tool_offers) for tool, tool_offers in by_tool.items()}


@cache
def built_in_results() -> Mapping[str, Signature]:
    """Return the results of the built-in tools without their arguments: a device may have another version."""
    return MappingProxyType({tool: Signature(gives=shape_of(schema)) for tool, schema in built_in().items()})


def without_values(signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    """Return signatures with the names of arguments alone: the values of parameters are not known yet."""
    return {tool: Signature(names=signature.names, gives=signature.gives) for tool, signature in signatures.items()}


def results_alone(signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    """Return signatures without arguments."""
    return {tool: Signature(gives=signature.gives) for tool, signature in signatures.items()}
