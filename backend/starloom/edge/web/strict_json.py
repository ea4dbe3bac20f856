"""Bodies of requests as strict JSON, with the rules of a plan's text: no key twice in one map, no infinite number."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request

from starloom.edge.web.problems import Problem
from starloom_protocol.vocabulary import Code


class StrictRequest(Request):
    """A request whose body is read once and strictly."""

    async def json(self) -> Any:
        """Return the body.

        Raises:
            Problem: `bad_request` for a repeated key, and for constants or nesting that JSON does not allow.
            json.JSONDecodeError: it is not JSON; the caller reports the place.
        """
        if not hasattr(self, "_strict_body"):
            try:
                self._strict_body = json.loads(await self.body(), object_pairs_hook=_pairs, parse_constant=_constant)
            except json.JSONDecodeError:
                raise
            except (RecursionError, ValueError) as error:
                raise _refused(str(error) or "it nests too deep") from error
        return self._strict_body


def _refused(why: str) -> Problem:
    return Problem(Code.BAD_REQUEST, f"the body is not JSON that can be taken: {why}", status=422)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise _refused(f"the key `{twice[:100]}` stands twice in one map")
    return found


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")
