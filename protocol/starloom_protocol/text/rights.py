"""The rights of people in words: each scope, the least role that it is a part of, and what an invitation allows.

Owns the table, which the page gets too. The scopes stand in the order of the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starloom_protocol.vocabulary import ROLE_RANK, Role

RIGHTS: Final = (
    ("read", Role.VIEWER, "see devices, work, answers and logs"),
    ("artifacts", Role.VIEWER, "open files and pictures"),
    ("approve", Role.APPROVER, "answer questions and approvals"),
    ("run", Role.OPERATOR, "start, edit, stop and undo work"),
    ("fleet", Role.OPERATOR, "let devices in, drain and remove them"),
    ("access", Role.VIEWER, "make sign-in links with these rights"),
    ("a2a", Role.OPERATOR, "pass work on from agents of others"),
    ("lab", Role.OWNER, "break simulated devices"),
)
"""A scope, the least role that has it, and what it allows."""
_RECIPE: Final = "recipe:"
_ALL: Final = "invite and revoke people, set secrets and the model"


def may_words(role: Role, scopes: Iterable[str]) -> list[str]:
    """Return what a role allows, or these parts of it; a scope that the role does not reach is left out."""
    granted = set(scopes)
    sentences = [
        words
        for scope, least, words in RIGHTS
        if (not granted or scope in granted) and ROLE_RANK[role] >= ROLE_RANK[least]
    ]
    recipes = sorted(scope.removeprefix(_RECIPE) for scope in granted if scope.startswith(_RECIPE))
    if recipes and "run" not in granted and ROLE_RANK[role] >= ROLE_RANK[Role.OPERATOR]:
        sentences.append(f"start the {'recipe' if len(recipes) == 1 else 'recipes'} {', '.join(recipes)}")
    if role is Role.OWNER and (not granted or "access" in granted):
        sentences.append(_ALL)
    return sentences
