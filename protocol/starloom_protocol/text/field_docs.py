"""The texts of a type for its TypeScript and its JSON Schema: its docstring, and the sentences below its fields.

Those of fields are read from the source, since Python keeps no docstring of a field. Where there is no source there
are none.
"""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from msgspec import inspect as types


def field_docs(kind: type) -> dict[str, str]:
    """Return the docstring that stands below a field, by the field's name, as one line."""
    body_of_class = _class_bodies(kind.__module__).get(kind.__qualname__)
    lines = body_of_class.body if body_of_class is not None else []
    docs = {}
    for field, below in pairwise(lines):
        text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, str):
            docs[field.target.id] = " ".join(text.split())
    return docs


@cache
def _class_bodies(module: str) -> dict[str, ast.ClassDef]:
    """Return the classes in the source of a module by their qualified names.

    `inspect.getsource` reads the whole module again for each class.
    """
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError):
        return {}
    return dict(_named_classes(tree, ""))


def _named_classes(around: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for node in ast.iter_child_nodes(around):
        match node:
            case ast.ClassDef():
                yield prefix + node.name, node
                yield from _named_classes(node, f"{prefix}{node.name}.")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _named_classes(node, f"{prefix}{node.name}.<locals>.")
            case _:
                yield from _named_classes(node, prefix)


def describe(definitions: Mapping[str, Any], kinds: Iterable[Any]) -> None:
    """Write the sentences into the definitions of these types and of all types of their fields."""
    for kind in _classes(types.multi_type_info(kinds), set()):
        properties = definitions.get(kind.__name__, {}).get("properties", {})
        for name, text in field_docs(kind).items():
            if name in properties:
                properties[name] = {**properties[name], "description": text}


def without_indentation(schema: Any) -> Any:
    """Return a JSON Schema whose descriptions have the lines of their docstrings without the indentation of the source.

    Python removes it from 3.13 on: without this, two devices would offer one tool with two schemas.
    """
    if isinstance(schema, dict):
        return {
            key: inspect.cleandoc(value)
            if key == "description" and isinstance(value, str)
            else without_indentation(value)
            for key, value in schema.items()
        }
    return [without_indentation(item) for item in schema] if isinstance(schema, list) else schema


def _classes(annotations: Iterable[types.Type], seen: set[type]) -> Iterator[type]:
    for item in annotations:
        match item:
            case types.StructType() | types.TypedDictType():
                if item.cls not in seen:
                    seen.add(item.cls)
                    yield typing.get_origin(item.cls) or item.cls
                    yield from _classes((field.type for field in item.fields), seen)
            case types.ListType() | types.VarTupleType():
                yield from _classes((item.item_type,), seen)
            case types.DictType():
                yield from _classes((item.value_type,), seen)
            case types.UnionType():
                yield from _classes(item.types, seen)
