"""The arguments and results of a tool, read from the JSON schemas that devices offer for it.

Versions of a tool are merged: the device that gets the task is not known yet when a plan is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

import msgspec

from starloom_protocol.plan.types.arguments import ANY, Arguments, taken_by
from starloom_protocol.plan.types.schemas import OPEN, Shape, either, shape_of
from starloom_protocol.records.fleet import ToolOffer
from starloom_protocol.tools.results import built_in, returned_by
from starloom_protocol.vocabulary import Effect


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
    return {tool: signature_of(found) for tool, found in by_tool.items()}


@cache
def built_in_results() -> Mapping[str, Signature]:
    """Return the results of the built-in tools without their arguments: a device may have another version."""
    return MappingProxyType({tool: Signature(gives=shape_of(schema)) for tool, schema in built_in().items()})


def results_alone(signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    """Return signatures without arguments."""
    return {tool: Signature(gives=signature.gives) for tool, signature in signatures.items()}
