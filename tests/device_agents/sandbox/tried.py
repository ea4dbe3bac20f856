"""Which cages hold on this machine: each is tried once in a process of tests, as a trial starts two programs."""

from __future__ import annotations

from starloom_agent.sandbox import levels
from starloom_agent.sandbox.cage import Layer

_TRIED = {layer: levels.trial(layer) for layer in Layer}

HELD = [layer for layer, reason in _TRIED.items() if not reason]
SANDBOX = levels.find(attempt=_TRIED.__getitem__)
