"""The envelope of a goal in words, as a person approves it: devices, tools, folders, hosts, budget. Pure."""

from __future__ import annotations

from typing import Final

from starloom.core.rights.envelope import devices_of, tools_of
from starloom.core.state.model import Fleet
from starloom_protocol.records.entities import Goal, TaskSpec
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import RISKY_EFFECTS, Effect

NAMED_MOST: Final = 12
_PLACED: Final = frozenset({Effect.WRITE, Effect.REACH})


def envelope_words(spec: TaskSpec, fleet: Fleet) -> str:
    """Return what the steps of a goal may do, and what they may use, in a few sentences."""
    goal = spec.goal or Goal(aim="")
    devices = [fleet.devices[one].name for one in devices_of(fleet, spec)]
    tools = _few(goal.tools) if goal.tools else f"the tools of {'it' if len(devices) == 1 else 'them'} that only read"
    parts = [f"A model makes steps on {_few(devices) or 'no device'}, by {tools}"]
    if goal.paths:
        parts.append(f"in the folders {_few(goal.paths)}")
    if goal.hosts:
        parts.append(f"with the hosts {_few(goal.hosts)}")
    known = effects_of(spec, fleet)
    asked = " and ".join(
        [
            *([f"each call that would {_words(known & RISKY_EFFECTS)}"] if known & RISKY_EFFECTS else []),
            *([f"each that would {_words(known & _PLACED)} outside of that"] if known & _PLACED else []),
        ]
    )
    bounds = f"At most {goal.steps} steps, {goal.tokens:,} tokens{_money(goal)} and {goal.within_s} s."
    gives = f"It gives {', '.join(parse(goal.gives))}."
    each = f" You are asked about {asked}." if asked else ""
    return f"{', '.join(parts)}.{each} {bounds} {gives}"


def _words(effects: frozenset[Effect]) -> str:
    return " or ".join(effect.value for effect in Effect if effect in effects)


def effects_of(spec: TaskSpec, fleet: Fleet) -> frozenset[Effect]:
    """Return the effects that the tools of an envelope may have on its devices."""
    names = set(tools_of(fleet, spec))
    offered = [fleet.tools.get(device, {}) for device in devices_of(fleet, spec)]
    effects = [offer.effects for tools in offered for name, offer in tools.items() if name in names]
    return frozenset({Effect.READ}).union(*effects)


def _money(goal: Goal) -> str:
    return f", {goal.micros / 1_000_000:.2f} dollars" if goal.micros else ""


def _few(names: list[str]) -> str:
    more = len(names) - NAMED_MOST
    return ", ".join(names[:NAMED_MOST]) + (f" and {more} more" if more > 0 else "")
