"""Problems of a client as sentences: the place, the attempt, the remedy. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starloom.client.exits import Exit, exit_of_refusal
from starloom_protocol.vocabulary import Code


@dataclass(frozen=True, slots=True)
class Place:
    """One fault of a refused request, at its place."""

    place: str
    where: str
    code: str
    reason: str
    hint: str


@dataclass
class Problem(Exception):
    """A request that the hub refused (problem+json), or that could not be made; `document` is shown with --json."""

    code: str
    title: str
    reason: str
    hint: str
    exit_code: Exit
    places: list[Place] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        same = not self.reason or self.reason.casefold() == self.title.casefold()
        return self.title if same else f"{self.title}: {self.reason}"


def problem_of(status: int, document: dict[str, Any]) -> Problem:
    """Return the problem of a problem+json document with this HTTP status."""
    places = [
        Place(
            place=str(fault.get("place") or ""),
            where=str(fault.get("where") or fault.get("place") or ""),
            code=str(fault.get("code") or ""),
            reason=str(fault.get("reason") or ""),
            hint=str(fault.get("hint") or ""),
        )
        for fault in document.get("errors") or []
        if isinstance(fault, dict)
    ]
    hint, request_id = str(document.get("hint") or ""), str(document.get("request_id") or "")
    if document.get("code") == Code.INTERNAL and request_id:
        hint = f"{hint} The id is {request_id}.".lstrip()
    return Problem(
        code=str(document.get("code") or f"http_{status}"),
        title=str(document.get("title") or f"The hub answered {status}"),
        reason=str(document.get("reason") or document.get("detail") or ""),
        hint=hint,
        exit_code=exit_of_refusal(status, str(document.get("code") or "")),
        places=places,
        document={"status": status, **document},
    )


def here(code: str, title: str, reason: str, hint: str, exit_code: Exit) -> Problem:
    """Return a problem that arose on this side, without an answer of the hub; its document has the same text."""
    document = {"code": code, "reason": reason, "hint": hint}
    return Problem(code=code, title=title, reason=reason, hint=hint, exit_code=exit_code, document=document)


def usage(reason: str, hint: str = "See `starloom --help`.") -> Problem:
    """Return the problem of an invalid command line."""
    return here("usage", "This cannot be done as written", reason, hint, Exit.USAGE)


def unreachable(reason: str, hint: str) -> Problem:
    """Return the problem of a hub that was not found or does not answer."""
    return here("hub_unreachable", "The hub cannot be reached", reason, hint, Exit.UNREACHABLE)


def may_pass(problem: Problem) -> bool:
    """Return whether asking again can help: the hub or one of its parts is away, rather than the request wrong."""
    return problem.exit_code is Exit.UNREACHABLE or int(problem.document.get("status") or 0) >= 500
