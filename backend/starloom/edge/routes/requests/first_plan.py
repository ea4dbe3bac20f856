"""The first plan of a constellation, so that it can be submitted again. Pure over entities."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from starloom.edge.live.entity_json import Constellation
from starloom_protocol.plan import plan_hash
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.vocabulary import Gate


def first_plan(identity: str, entities: Mapping[str, bytes]) -> LoweredPlan:
    """Return the plan of a constellation from its entities at version 1: as made, nothing expanded, no rule fired."""
    found = Constellation(identity, 0, entities)
    head = found.head
    plan = LoweredPlan(
        dependencies=[item for item in found.table("dep").values() if item.gate is not Gate.DATA],
        hash="",
        name=head.name,
        params=head.params,
        policy=head.policy,
        results=head.results,
        rules=[replace(rule, fired=0, fired_for={}) for rule in found.table("rule").values()],
        specs=list(found.table("spec").values()),
    )
    return replace(plan, hash=plan_hash(plan))
