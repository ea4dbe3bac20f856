"""The authors of events and decisions: `KIND:NAME`, and `#TOKEN` by which a caller was recognised.

Only this module judges the kind. Identity comes from the connection's secret, so no message can turn a program into a
person.
"""

from __future__ import annotations

from typing import Final

from starloom_protocol.vocabulary import PrincipalKind

ENGINE: Final = "engine"
"""The author of what the core decides by its own rules."""
MODEL: Final = "model"
"""The author of what a hub's own model said."""
RULE: Final = "rule:"
"""How the author of an edit begins that a rule of a plan made."""
WORKER: Final = "worker:"
"""How the author of a job's outcome begins: a process of the hub, whose own name says nothing to a person."""
_PARTS: Final = {MODEL: "the hub's model", "lab": "the lab"}
TOKEN_MARK: Final = "#"
_DECIDING: Final = (PrincipalKind.PERSON, PrincipalKind.PROGRAM)


def author_of(kind: PrincipalKind, name: str, token: str = "") -> str:
    """Return the author of a caller's events."""
    plain = name.replace(TOKEN_MARK, "_")
    return f"{kind}:{plain}{TOKEN_MARK if token else ''}{token}"


def who(author: str) -> str:
    """Return an author without the token: the same person on two devices is one author."""
    return author.partition(TOKEN_MARK)[0]


def token_of(author: str) -> str:
    """Return the id of the token by which an author was recognised; empty where there is none."""
    return author.partition(TOKEN_MARK)[2]


def name_of(author: str) -> str:
    """Return an author's name for people."""
    kind, colon, name = who(author).partition(":")
    return name if colon else kind


def shown_name(author: str) -> str:
    """Return an author's name beside an event or a version; a part of the hub is *Starloom*."""
    return _PARTS.get(who(author), "Starloom") if _is_part(author) else name_of(author)


def told_name(author: str) -> str:
    """Return an author's name in sentences; a part of the hub is *the hub*, a rule of a plan *the rule NAME*."""
    if author.startswith(RULE):
        return f"the rule {name_of(author)}"
    return _PARTS.get(who(author), "the hub") if _is_part(author) else name_of(author)


def _is_part(author: str) -> bool:
    return ":" not in who(author) or author.startswith(WORKER)


def may_decide(author: str) -> bool:
    """Return whether an author decides for itself: people do, and programs that people wrote."""
    return any(author.startswith(f"{kind}:") for kind in _DECIDING)


def is_principal(author: str) -> bool:
    """Return whether an author holds a token: a person, a program or an assistant."""
    return any(author.startswith(f"{kind}:") for kind in PrincipalKind)


def is_person(author: str) -> bool:
    """Return whether an author is a person: one who reads a notice, which a program or an assistant cannot do."""
    return author.startswith(f"{PrincipalKind.PERSON}:")


def is_assistant(author: str) -> bool:
    """Return whether an author asks for work in the words of a model and decides nothing."""
    return author.startswith(f"{PrincipalKind.ASSISTANT}:")


def is_model(author: str) -> bool:
    """Return whether a model chose the words: a planner's model, a reviewer's, or that of an assistant."""
    return author == MODEL or is_assistant(author)
