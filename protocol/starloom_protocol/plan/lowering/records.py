"""Entity records with canonical bytes: a field that equals its default is left to the default.

msgspec leaves a default out by identity, so an equal value that was parsed from a document would be written.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeVar

import msgspec

FIRST_VERSION: Final = 1
"""The version of a plan that no edit has changed."""

_Record = TypeVar("_Record", bound=msgspec.Struct)


@cache
def _defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    defaults = {}
    for field in msgspec.structs.fields(kind):
        if field.default is not msgspec.NODEFAULT:
            defaults[field.name] = field.default
        elif field.default_factory is not msgspec.NODEFAULT:
            defaults[field.name] = field.default_factory()
    return defaults


def record(kind: type[_Record], **fields: Any) -> _Record:
    """Return a record of this kind; equal to `kind(**fields)`, with canonical bytes."""
    defaults = _defaults(kind)
    return kind(**{name: value for name, value in fields.items() if name not in defaults or value != defaults[name]})
