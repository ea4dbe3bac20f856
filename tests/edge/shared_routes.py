"""Reads the parameters of each endpoint once for all hubs of a test process: FastAPI reads them again for each hub.

A hub of a test lives for some requests, and half of its start was this reading. The endpoints stay those of each hub.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from fastapi import routing
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_dependant

_known: dict[tuple[Any, ...], Dependant] = {}


def _analysed_once(*, path: str, call: Any, **more: Any) -> Dependant:
    function = getattr(call, "__func__", None)
    if function is None:  # a function of its own for each hub
        return get_dependant(path=path, call=call, **more)
    key = (path, function, *sorted(more.items()))
    found = _known.get(key)
    if found is None:
        found = _known[key] = get_dependant(path=path, call=call, **more)
    return replace(found, call=call, dependencies=list(found.dependencies))


def share() -> None:
    """Let every application that is built from now on use what was read before."""
    patch.object(routing, "get_dependant", _analysed_once).start()
