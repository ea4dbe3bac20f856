"""The questions of another agent: each becomes a question of the same call to the device that it runs on.

Owns the form of that question and the choice among the options of the agent. The policy of the device and its owner
decide. The kind of an action is a claim of the agent, so no claim makes a question unnecessary; an action that claims
an effect which the owner did not declare is refused at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final

from starloom_agent.toolkit.clients.acp.record import one_line
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect

EFFECT_OF: Final[dict[str, Effect]] = {
    "read": Effect.READ,
    "search": Effect.READ,
    "think": Effect.READ,
    "fetch": Effect.REACH,
    "edit": Effect.WRITE,
    "move": Effect.WRITE,
    "delete": Effect.DESTROY,
    "execute": Effect.CHANGE,
    "switch_mode": Effect.CONTROL,
}
_UNKNOWN_EFFECT: Final = Effect.CHANGE
# The words of a question that the owner reads on one screen; the hash covers all of the action.
_TITLE_CHARS: Final = 200
_INPUT_CHARS: Final = 1_000
_PATHS_MOST: Final = 10
_PATH_CHARS: Final = 300
_KIND_CHARS: Final = 20


def effect_of(call: Mapping[str, Any]) -> Effect:
    """Return the effect that an action claims; an action of no known kind counts as one that changes something."""
    return EFFECT_OF.get(str(call.get("kind")), _UNKNOWN_EFFECT)


def undeclared(call: Mapping[str, Any], declared: Collection[Effect]) -> str:
    """Return why an action is refused without a question, or "" if it may be asked about."""
    effect = effect_of(call)
    if effect in declared:
        return ""
    return f"its owner did not declare the effect {effect} for it (declared: {', '.join(sorted(declared))})"


def question_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the question about an action: words of the agent, bounded, and the hash of all of it.

    An answer is bound to these arguments, so the hash makes it one for exactly this action.
    """
    locations = call.get("locations")
    paths = [item.get("path") for item in locations if isinstance(item, dict)] if isinstance(locations, list) else []
    parts = {name: call.get(name) for name in ("kind", "title", "rawInput", "locations", "content")}
    question: dict[str, Any] = {
        "kind": one_line(call.get("kind") or "other", _KIND_CHARS),
        "sha256": hashlib.sha256(canonical(parts).encode()).hexdigest(),
        "title": one_line(call.get("title") or "", _TITLE_CHARS),
    }
    if paths:
        question["paths"] = [one_line(path, _PATH_CHARS) for path in paths[:_PATHS_MOST]]
    raw_input = call.get("rawInput")
    if raw_input is not None:
        question["input"] = one_line(canonical(raw_input), _INPUT_CHARS)
    return {"permission": question}


def outcome_of(options: Any, *, allowed: bool) -> dict[str, Any]:
    """Return the outcome for the agent: the option that allows or refuses once, else that the question is cancelled.

    An option for good is never chosen: the owner allows an action for good on the device, where it can be taken back.
    Two options of one name mean nothing sure, so the question is cancelled.
    """
    listed = [item for item in options if isinstance(item, dict)] if isinstance(options, list) else []
    names = [item.get("optionId") for item in listed]
    kind = "allow_once" if allowed else "reject_once"
    option = next((item.get("optionId") for item in listed if item.get("kind") == kind), None)
    if not isinstance(option, str) or names.count(option) != 1:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option}}
