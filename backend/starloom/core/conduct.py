"""What a call may do to the world: the effects that a device declares for its tool, narrowed by the arguments. Pure."""

from __future__ import annotations

from starloom_protocol.entities import TaskSpec, ToolOffer
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Effect


def effects_of_call(offer: ToolOffer, spec: TaskSpec) -> list[Effect]:
    """Return the effects of this call; where the deciding argument is not in the plan, those of the whole tool."""
    if not offer.effects_by:
        return offer.effects
    args = parse(spec.args)
    late = {item.name for item in spec.inputs}
    for argument, by_value in offer.effects_by.items():
        value = args.get(argument)
        if argument not in late and isinstance(value, str) and value in by_value:
            return by_value[value]
    return offer.effects
