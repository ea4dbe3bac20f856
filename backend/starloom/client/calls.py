"""A call of the REST API as a value: verb, path, query, and the type of its answer. Sends nothing.

`routes` makes them, one function a route. An answer is JSON, and its type names its fields, so that the type checker
finds a wrong one; a word of an enum is text there. A field that this program does not know stays in the answer. The
read of a field that the hub did not send is a problem in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypedDict, TypeVar

from starloom.client.exits import Exit
from starloom.client.problems import here

Shape = TypeVar("Shape", covariant=True)


@dataclass(frozen=True)
class Call(Generic[Shape]):
    """A call of one route under `/api/v1`, answered by a `Shape`; a parameter of the query that is None is left out."""

    path: str
    query: Mapping[str, Any] = field(default_factory=dict)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the query that are not left out."""
        return {name: value for name, value in self.query.items() if value is not None}


class Get(Call[Shape]):
    """A read."""


class Post(Call[Shape]):
    """A control or a question, or what creates something."""


class Patch(Call[Shape]):
    """A change of some fields."""


class Put(Call[Shape]):
    """A replacement."""


class Delete(Call[Shape]):
    """A removal."""


class Empty(TypedDict):
    """An answer without content."""


class AnswerObject(dict[str, Any]):
    """A JSON object of an answer. Reading a field that the hub did not send raises a `Problem` (see `lacks`)."""

    __slots__ = ("_lacks",)

    def __init__(self, fields: Mapping[str, Any], lacks: Callable[[str], NoReturn]) -> None:
        super().__init__(fields)
        self._lacks = lacks

    def __missing__(self, name: str) -> NoReturn:
        self._lacks(name)


def lacks(hub: str, call: str) -> Callable[[str], NoReturn]:
    """Return the function that tells that an answer of a hub lacks a field which this program reads."""

    def tell(name: str) -> NoReturn:
        raise here(
            "hub_older",
            "The hub is older than this command",
            f"{hub} answers {call} without `{name}`",
            "Upgrade the hub, or use the `starloom` of its version; this one's: starloom --version.",
            Exit.UNREACHABLE,
        )

    return tell
