"""The authors that are no callers are written in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from starloom_protocol.stream.authors import ENGINE, MODEL
from tests.arch.checkout import files, named, parsed

pytestmark = pytest.mark.quick
NAMED = frozenset({"author", "by"})


def written(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the place of each author that is written out, as an argument or in a comparison."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = [(word.arg, word.value) for word in node.keywords if word.arg in NAMED]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr in NAMED:
            given = [(node.left.attr, value) for value in node.comparators]
        else:
            continue
        for name, value in given:
            # The turns of a conversation are by `model`, too, and those are no authors.
            words = (ENGINE, MODEL) if name == "author" else (ENGINE,)
            if isinstance(value, ast.Constant) and value.value in words:
                yield value.lineno, str(value.value)


def test_the_engine_and_the_model_are_named_by_their_constants() -> None:
    found = [
        f"{named(path)}:{line} {word}"
        for folder in ("backend/starloom", "protocol/starloom_protocol")
        for path in files(".py", under=folder)
        for line, word in written(parsed(path))
    ]
    assert found == []


def test_a_written_author_is_found() -> None:
    tree = ast.parse('emit(work, by="engine")\nnew = draft.author == "model"\nkind(by=ENGINE, name="engine")')
    assert list(written(tree)) == [(1, "engine"), (2, "model")]
