"""The routes of the contract as the clients call them, with the types of their answers: two modules made from it.

`python -m tests.client.generated` writes them (`make gen`). The type of an answer is that of `starloom_protocol.api`.
An answer that holds a record of the hub, which is no dictionary there, gets a shape of its own: the record as JSON,
with the fields that a program names.
"""

from __future__ import annotations

import builtins
import importlib
import keyword
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, is_typeddict

from starloom_protocol import api
from tests.arch.checkout import ROOT, files, named
from tests.edge.contract import contract

API = "/api/v1"
ROUTES = ROOT / "backend/starloom/client/routes.py"
ANSWERS = ROOT / "backend/starloom/client/answers.py"
PROGRAMS: Final = tuple(f"backend/starloom/{name}" for name in ("cli", "client", "host", "lab"))
VERBS = ("get", "post", "put", "patch", "delete")
ONE_OF = {"people": "person"}
"""The singular of a collection where it is not the plural without its s."""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
SENTENCE_CHARS_MOST = 108
REFERENCE = "#/components/schemas/"

JSON = "Json"
"""The end of the name of a shape that stands for a record."""

ROUTES_HEAD = '''"""The routes of the REST API that a program calls: one function a route, with the type of its answer.

Generated from protocol/schema/openapi.json by `make gen`. To have one more, write its call first: the verb and the
nouns of its path. Sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from starloom.client.calls import Delete, Empty, Get, Patch, Post, Put

if TYPE_CHECKING:
'''
ANSWERS_HEAD = '''"""Records of the hub as answers of the REST API have them: JSON objects. Types only.

Generated from protocol/schema/openapi.json by `make gen`; change the records or starloom_protocol/api instead. To have
one more field, write its name in quotes where it is read.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

'''
PART = '''def _part(given: object) -> str:
    """Return an id as one part of a path."""
    return quote(str(given), safe=":")
'''


def declared() -> dict[str, str]:
    """Return the module of each shape that `starloom_protocol.api` declares."""
    inner: list[ModuleType] = [
        importlib.import_module(f"{api.__name__}.{one.name}") for one in pkgutil.iter_modules(api.__path__)
    ]
    return {
        name: module.__name__
        for module in inner
        for name, kind in vars(module).items()
        if is_typeddict(kind) and kind.__module__ == module.__name__
    }


class Contract:
    """The OpenAPI document, read for its answers."""

    def __init__(self, document: dict[str, Any]) -> None:
        sources = (path for folder in PROGRAMS for path in files(".py", under=folder) if path not in (ROUTES, ANSWERS))
        words = [word for path in sources for word in re.findall(r"[\"']?\w+[\"']?", path.read_text(encoding="utf-8"))]
        self._words = set(words)
        quoted = {word.strip("\"'") for word in words if not word.isidentifier()}
        self._paths: dict[str, Any] = document["paths"]
        schemas = document["components"]["schemas"]
        self._schemas: dict[str, Any] = {name: _with(quoted, schema) for name, schema in schemas.items()}
        self.declared = declared()

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield verb, path under the API and operation of each route that a client calls with JSON."""
        for path, operations in sorted(self._paths.items()):
            for verb in VERBS:
                if verb in operations and path.startswith(API) and self.answer(operations[verb]):
                    yield verb, path.removeprefix(API), operations[verb]

    def called(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield those operations whose function is named in the sources of the hub's own programs."""
        return (found for found in self.operations() if name_of(found[0], found[1]) in self._words)

    def answer(self, operation: dict[str, Any]) -> str:
        """Return the type of an answer, empty for a route that answers with bytes."""
        code, said = next((code, said) for code, said in operation["responses"].items() if code.startswith("2"))
        content = said.get("content", {})
        if "application/json" in content:
            return self.type_of(content["application/json"]["schema"])
        return "Empty" if code == "204" else ""

    def type_of(self, schema: dict[str, Any]) -> str:
        """Return the type of a schema as an annotation."""
        if "$ref" in schema:
            return self._named(schema["$ref"].removeprefix(REFERENCE))
        if "anyOf" in schema:
            return " | ".join(dict.fromkeys(self.type_of(one) for one in schema["anyOf"]))
        kind = "string" if "enum" in schema else schema.get("type")
        if kind == "array":
            items = schema.get("items") or {"anyOf": schema["prefixItems"]}
            return f"list[{self.type_of(items)}]"
        if kind == "object":
            more = schema.get("additionalProperties")
            return f"dict[str, {self.type_of(more) if isinstance(more, dict) else 'Any'}]"
        return PLAIN.get(str(kind), "Any")

    def _named(self, name: str) -> str:
        schema = self._schemas[name]
        if found := re.fullmatch(r"Items_(\w+)_", name):
            return f"Items[{self._named(found[1])}]"
        if "properties" not in schema:
            return self.type_of(schema)
        return name + JSON if self.holds_records(name) else name

    def holds_records(self, name: str) -> bool:
        """Return whether a shape is a record or holds one."""
        return any("properties" in self._schemas[one] and not self._is_shape(one) for one in self._below([name]))

    def records(self) -> list[str]:
        """Return the names of the answers that are or hold records."""
        answers = [
            name
            for _, _, operation in self.called()
            for code, said in operation["responses"].items()
            if code.startswith("2")
            for name in _references(said)
        ]
        objects = (name for name in self._below(answers) if "properties" in self._schemas[name])
        return sorted(name for name in objects if not name.startswith("Items_") and self.holds_records(name))

    def _is_shape(self, name: str) -> bool:
        return name in self.declared or name.startswith("Items_")

    def _below(self, names: list[str]) -> set[str]:
        found: set[str] = set()
        frontier = list(names)
        while frontier:
            name = frontier.pop()
            if name not in found:
                found.add(name)
                frontier += _references(self._schemas[name])
        return found

    def shape(self, name: str) -> str:
        """Return the definition of an object; in the form of a call where a field is a word of Python."""
        schema = self._schemas[name]
        fields = {field: self.type_of(kind) for field, kind in schema["properties"].items()}
        needed = set(schema.get("required", ()))
        typed = {field: kind if field in needed else f"NotRequired[{kind}]" for field, kind in fields.items()}
        said = _sentence(schema.get("description", ""))
        if any(keyword.iskeyword(field) for field in fields):
            rows = "".join(f"    {field!r}: {kind!r},\n" for field, kind in typed.items())
            return f"{name}{JSON} = TypedDict({name + JSON!r}, {{\n{rows}}})\n" + (f'"""{said}"""\n' if said else "")
        rows = "".join(f"    {field}: {kind}\n" for field, kind in typed.items())
        return f"class {name}{JSON}(TypedDict):\n" + (f'    """{said}"""\n\n' if said else "") + rows


def _with(fields: set[str], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with these fields alone, where it has fields."""
    if "properties" not in schema:
        return schema
    return {**schema, "properties": {name: kind for name, kind in schema["properties"].items() if name in fields}}


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        here = [schema["$ref"].removeprefix(REFERENCE)] if "$ref" in schema else []
        return here + [name for inner in schema.values() for name in _references(inner)]
    return [name for inner in schema for name in _references(inner)] if isinstance(schema, list) else []


def _sentence(text: str) -> str:
    """Return the first sentence of a description, empty where it needs more than a line."""
    first = re.split(r"(?<=[.])\s", " ".join(text.split()), maxsplit=1)[0]
    return first if len(first) <= SENTENCE_CHARS_MOST else ""


def name_of(verb: str, path: str) -> str:
    """Return the name of a route's function: the verb and the nouns of the path, of one thing in the singular."""
    words: list[str] = []
    for part in path.strip("/").split("/"):
        if not part.startswith("{"):
            words.append(part.replace("-", "_"))
        elif words and words[-1] in ONE_OF:
            words[-1] = ONE_OF[words[-1]]
        elif words and words[-1].endswith("s") and part != "{action}" and part != "{report}":
            words[-1] = words[-1].removesuffix("s")
        else:
            words.append(part.strip("{}"))
    return "_".join([verb, *words])


def route(contract: Contract, verb: str, path: str, operation: dict[str, Any]) -> str:
    """Return the function of a route."""
    parts = re.findall(r"{(\w+)}", path)
    query = [one for one in operation.get("parameters", ()) if one["in"] == "query" and one["name"] != "wait_s"]
    kinds = {one["name"]: contract.type_of(one["schema"]) for one in operation.get("parameters", ())}
    given, sent = [f"{part}: {kinds[part]}" for part in parts], []
    if query:
        given.append("*")
    for one in query:
        taken = keyword.iskeyword(one["name"]) or hasattr(builtins, one["name"])
        name = f"{one['name']}_" if taken else one["name"]
        kind = contract.type_of(one["schema"]).replace("list[", "Sequence[").removesuffix(" | None")
        given.append(f"{name}: {kind}" if one.get("required") else f"{name}: {kind} | None = None")
        sent.append(f"{one['name']!r}: {name}")
    filled = re.sub(r"{(\w+)}", r"{_part(\1)}", path)
    text = f'f"{filled}"' if parts else f'"{path}"'
    arguments = f"{text}, {{{', '.join(sent)}}}" if sent else text
    answer = f"{verb.capitalize()}[{contract.answer(operation)}]"
    return f"def {name_of(verb, path)}({', '.join(given)}) -> {answer}:\n    return {verb.capitalize()}({arguments})\n"


def imports(functions: str, modules: dict[str, str]) -> str:
    """Return the imports of the types that functions name."""
    used = sorted(set(re.findall(r"\b[A-Z]\w+", functions)) & set(modules))
    return "".join(f"    from {modules[name]} import {name}\n" for name in used)


def texts() -> dict[Path, str]:
    """Return the text of each generated module."""
    read = Contract(contract())
    records = read.records()
    functions = "\n\n".join([PART, *(route(read, *found) for found in read.called())])
    shapes = "\n\n".join(read.shape(name) for name in records)
    here = {name + JSON: "starloom.client.answers" for name in records}
    head = ROUTES_HEAD + imports(functions, read.declared | here)
    below = imports(shapes, read.declared)
    return {
        ROUTES: _formatted(ROUTES, f"{head}\n\n{functions}"),
        ANSWERS: _formatted(ANSWERS, f"{ANSWERS_HEAD}{below.replace('    ', '')}\n\n{shapes}"),
    }


def _formatted(path: Path, text: str) -> str:
    ruff = str(Path(sys.executable).with_name("ruff"))
    for action in (("check", "--select", "I", "--fix", "-q"), ("format",)):
        line = [ruff, *action, "--stdin-filename", str(path), "-"]
        text = subprocess.run(line, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main(arguments: Sequence[str]) -> int:
    """Write the files that are stale, or only name them and exit with 1."""
    stale = {path: text for path, text in texts().items() if path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        if "--check" in arguments:
            print(f"{named(path)} is stale: run `make gen`", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
