"""The shape of the repository in figures: `make shape` prints them, `test_shape.py` holds those that are bounds.

Owns how each figure is counted (the design's "house", section 5). Judges nothing and changes nothing.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import importlib
import inspect
import json
import re
import sys
import tempfile
import types
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import grimp

from tests.arch.checkout import ROOT, files, named, nodes, parsed
from tests.client.generated import ROUTES
from tests.edge.contract import contract

PRODUCT = ("backend/starloom", "device_agents/starloom_agent", "protocol/starloom_protocol")
PACKAGES = ("starloom", "starloom_agent", "starloom_protocol")
PAGE = "frontend/src"
CLIENTS = ("backend/starloom/cli", "backend/starloom/client", "backend/starloom/host", "backend/starloom/lab")
"""The folders whose modules read answers of a hub."""
READ_BY_TYPE = ("backend/starloom/cli/", "backend/starloom/host/")
ANYTHING = ("Any", "dict[str, Any]", "Mapping[str, Any]", "dict[str, object]", "Mapping[str, object]")
API = "/api/v1"
LONGEST_FUNCTION = 60
SHORTEST_MODULE = 60
PROGRAMS = ("__main__.py", "env.py")
"""They do their work when they are imported."""
CHILDREN_MOST, FLOORS_MOST = 12, 8
ACCENTS: dict[str, str] = json.loads((ROOT / "tests/arch/accents.json").read_text(encoding="utf-8"))
PROMPTS = ("backend/starloom/planner/model/", "backend/starloom/planner/context/brief_words.py")
"""Texts for a model: a change of their words is a change of the prompt."""
PARTICIPLES: dict[str, Any] = json.loads((ROOT / "tests/arch/participles.json").read_text(encoding="utf-8"))
"""`words` that say neither what a name holds nor what a function does; `most`: names of each package that are one."""
IN_PROSE = ("an accent of the old house", "a sentence that begins with What")
"""The rules that docstrings and comments are held to as well; the others are about texts of the program."""


@dataclass(frozen=True)
class Rooms:
    """A package seen from above: its direct children and who of them imports whom."""

    name: str
    children: tuple[str, ...]
    arrows: frozenset[tuple[str, str]]

    @property
    def circles(self) -> list[frozenset[str]]:
        """Children that reach each other, each set once."""
        after = {child: self._reached(child) for child in self.children}
        sets = {frozenset(b for b in after[a] if a in after[b]) for a in self.children}
        return sorted((one for one in sets if one), key=sorted)

    @property
    def up(self) -> int:
        """Arrows between children that reach each other: at least one of each circle runs up."""
        return sum(1 for a, b in self.arrows for circle in self.circles if {a, b} <= circle)

    @property
    def floors(self) -> int:
        """The longest chain of imports between children; a circle counts as one floor."""
        whole = {child: child for child in self.children}
        for circle in self.circles:
            whole |= dict.fromkeys(circle, min(circle))
        below = defaultdict(set)
        for a, b in self.arrows:
            if whole[a] != whole[b]:
                below[whole[a]].add(whole[b])
        known: dict[str, int] = {}

        def height(child: str) -> int:
            if child not in known:
                known[child] = 1 + max((height(other) for other in below[child]), default=0)
            return known[child]

        return max((height(child) for child in whole.values()), default=0)

    def _reached(self, start: str) -> set[str]:
        found: set[str] = set()
        frontier = [start]
        while frontier:
            here = frontier.pop()
            for a, b in self.arrows:
                if a == here and b not in found:
                    found.add(b)
                    frontier.append(b)
        return found


def packages() -> list[Rooms]:
    """Return each of our packages that has children, the outermost first."""
    graph = grimp.build_graph(*PACKAGES, include_external_packages=False)
    found = []
    for package in sorted(graph.modules):
        children = tuple(sorted(graph.find_children(package)))
        if not children:
            continue
        arrows = set()
        for importer in graph.find_descendants(package):
            a = _child_of(package, importer)
            for imported in graph.find_modules_directly_imported_by(importer):
                b = _child_of(package, imported)
                if b and a != b:
                    arrows.add((a, b))
        short = {child: child.removeprefix(f"{package}.") for child in children}
        found.append(Rooms(package, tuple(short.values()), frozenset((short[a], short[b]) for a, b in arrows)))
    return found


def _child_of(package: str, module: str) -> str:
    inner = module.removeprefix(f"{package}.")
    return "" if inner == module else f"{package}.{inner.split('.')[0]}"


def product() -> Iterator[Path]:
    for folder in PRODUCT:
        yield from files(".py", under=folder)


def functions(paths: Iterable[Path]) -> Iterator[tuple[int, str]]:
    """Yield the lines of each function, without its docstring, and where it stands."""
    for path in paths:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                lines = (node.end_lineno or node.lineno) - first.lineno + 1
                yield lines, f"{named(path)}:{node.lineno} {node.name}"


def short_modules() -> list[str]:
    """Return product modules under the least size, without package doors."""
    return [
        named(path)
        for path in product()
        if path.name not in {"__init__.py", "__main__.py"} and len(path.read_text().splitlines()) < SHORTEST_MODULE
    ]


def private_uses() -> list[str]:
    """Return uses of names that a library keeps to itself: read off an object, imported, or inherited and reached into.

    `ruff` (SLF001) finds those read off an object; here are imported ones, and those of a class that a library gave.
    """
    found = []
    for path in product():
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(PACKAGES):
                found += [
                    f"{named(path)}:{node.lineno} {node.module}.{one.name}"
                    for one in node.names
                    if one.name.startswith("_") or any(part.startswith("_") for part in (node.module or "").split("."))
                    if node.module != "__future__"
                ]
        found += [f"{named(path)} {line}" for line in _noqa(path, "SLF001")]
    return found + _inherited()


def _noqa(path: Path, rule: str) -> list[str]:
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if "noqa" in line and rule in line]


def _inherited() -> list[str]:
    found = []
    for path in product():
        if path.name in PROGRAMS:
            continue
        module = importlib.import_module(_dotted(path))
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == module.__name__:
                found += [f"{named(path)} {kind.__name__}.{name}" for name in sorted(_reached_into(kind))]
    return found


def _reached_into(kind: type) -> set[str]:
    """Return names with an underscore that a class of ours uses or replaces and a class of a library defines."""
    theirs: set[str] = set()
    for above in kind.__mro__[1:]:
        if not above.__module__.startswith(PACKAGES) and above.__module__ not in {"builtins", "enum", "typing"}:
            theirs |= set(vars(above))
            for method in vars(above).values():
                if isinstance(method, types.FunctionType):
                    theirs |= set(method.__code__.co_names)
    ours = {name for name in vars(kind) if _private(name)} - {"_abc_impl"} if theirs else set()
    for method in vars(kind).values() if theirs else ():
        code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
        ours |= {name for name in (code.co_names if code else ()) if _private(name)}
    return {name for name in ours & theirs if not _set_by_us(kind, name)}


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _set_by_us(kind: type, name: str) -> bool:
    """Tell whether a name is an attribute of our own that a library happens to use for one of its own."""
    return name in getattr(kind, "__slots__", ())


def _dotted(path: Path) -> str:
    folder = next(folder for folder in PRODUCT if named(path).startswith(folder))
    inner = path.relative_to(ROOT / folder).with_suffix("").as_posix().replace("/", ".")
    return f"{Path(folder).name}.{inner}".removesuffix(".__init__")


def untyped_routes(app: Any) -> list[str]:
    """Return the operations whose description promises JSON of no shape."""
    found = []
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            answers = [one for code, one in operation["responses"].items() if code.startswith("2")]
            schemas = [
                one["content"]["application/json"]["schema"]
                for one in answers
                if "application/json" in one.get("content", {})
            ]
            # FastAPI writes a title into the schema of an answer of any shape.
            if any(schema.keys() <= {"title"} for schema in schemas):
                found.append(f"{method.upper()} {path}")
    return found


def untyped_answers() -> list[str]:
    """Return the places of the client's programs that ask by a path in quotes, or read an answer without a type.

    A path in quotes gets an answer of any shape. A parameter that is a mapping of anything and is read by a name in
    quotes takes such an answer on, also one that had a type; commands and the host have none.
    """
    collections = {path.removeprefix(API).split("/")[1] for path in contract()["paths"] if path.startswith(f"{API}/")}
    found = []
    for path in (one for folder in CLIENTS for one in files(".py", under=folder)):
        if path == ROUTES:
            continue
        tree = parsed(path)
        places = [*paths_in_quotes(tree, collections)]
        if named(path).startswith(READ_BY_TYPE):
            places += names_of_anything(tree)
        found += [f"{named(path)}:{line} {said}" for line, said in places]
    return found


def paths_in_quotes(tree: ast.AST, collections: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and text of each path of a collection; one whose answer is bytes is no answer with fields."""
    inner = {id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in one.values}
    inner |= {id(part) for one in _calls(tree, "stream") for part in ast.walk(one)}
    for node in ast.walk(tree):
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
        if id(node) not in inner and isinstance(first, ast.Constant) and isinstance(first.value, str):
            before, slash, rest = first.value.partition("/")
            if slash and not before and rest.partition("/")[0].partition("?")[0] in collections:
                yield first.lineno, first.value


def names_of_anything(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each name in quotes that a function reads from a parameter of any shape."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            loose = {one.arg for one in node.args.args if one.annotation and ast.unparse(one.annotation) in ANYTHING}
            yield from _names_read(node, loose)


def _calls(tree: ast.AST, method: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield node


def _names_read(function: ast.AST, loose: set[str]) -> Iterator[tuple[int, str]]:
    read = [(one.value, one.slice) for one in ast.walk(function) if isinstance(one, ast.Subscript)]
    read += [
        (one.func.value, one.args[0])
        for one in _calls(function, "get")
        if one.args and isinstance(one.func, ast.Attribute)
    ]
    for source, name in read:
        if isinstance(source, ast.Name) and source.id in loose and isinstance(name, ast.Constant):
            yield source.lineno, f"{source.id}[{name.value!r}]"


def bare_kinds(modules: Mapping[str, Sequence[ast.AST]]) -> list[str]:
    """Return the places in modules, by name, where an event is made with a kind in quotes instead of a member.

    A call makes an event where it is `Event`, or where its function or class takes an `EventKind`.
    """
    takers: dict[str, set[tuple[int, str]]] = {"Event": {(-1, "kind")}}
    for node in chain.from_iterable(modules.values()):
        if isinstance(node, ast.ClassDef):
            params = [(ast.unparse(one.target), one.annotation) for one in node.body if isinstance(one, ast.AnnAssign)]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = [*node.args.args, *node.args.kwonlyargs]
            params = [(one.arg, one.annotation) for one in every if one.arg != "self" and one.annotation]
        else:
            continue
        kinds = {(at, name) for at, (name, kind) in enumerate(params) if is_kind(kind)}
        takers[node.name] = takers.get(node.name, set()) | kinds
    found = []
    for place, module in modules.items():
        for call in (node for node in module if isinstance(node, ast.Call)):
            for at, name in takers.get(getattr(call.func, "attr", getattr(call.func, "id", "")), ()):
                given = [*call.args[at : at + 1], *(one.value for one in call.keywords if one.arg == name)]
                found += [f"{place}:{call.lineno} {text!r}" for part in given for text in kinds_in(part)]
    return found


def hub_modules() -> dict[str, Sequence[ast.AST]]:
    return {named(path): nodes(path) for path in files(".py", under="backend/starloom")}


def is_kind(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.BinOp):
        return is_kind(annotation.left) or is_kind(annotation.right)
    return isinstance(annotation, ast.Name) and annotation.id == "EventKind"


def kinds_in(value: ast.expr) -> list[str]:
    """Return the texts that an argument may have, of a choice each."""
    if isinstance(value, ast.IfExp):
        return [*kinds_in(value.body), *kinds_in(value.orelse)]
    return [value.value] if isinstance(value, ast.Constant) and isinstance(value.value, str) else []


def page_files() -> Iterator[Path]:
    for path in files(".ts", ".tsx", under=PAGE):
        if "generated" not in path.parts and ".test." not in path.name:
            yield path


def polls() -> list[str]:
    """Return the timers of the page that ask the hub again and again."""
    found = []
    for path in page_files():
        text = path.read_text(encoding="utf-8")
        found += [
            f"{named(path)}:{text[: match.start()].count(chr(10)) + 1}"
            for match in re.finditer(r"setInterval\(([^,]*(?:\{[^}]*\})?)", text, re.DOTALL)
            if re.search(r"read|look|fetch|load|hold|get\(", match[1])
        ]
    return found


def accents() -> list[str]:
    """Return the docstrings and comments of the product that break the rules of the house's English."""
    found = []
    for path in product():
        if named(path).startswith(PROMPTS):
            continue
        text = path.read_text(encoding="utf-8")
        prose = [
            (node.lineno, node.value)
            for node in nodes(path)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 2
        ]
        prose += [(n, line.split("#", 1)[1]) for n, line in enumerate(text.splitlines(), 1) if line.lstrip()[:1] == "#"]
        for line, said in prose:
            found += [f"{named(path)}:{line} {rule}" for rule in IN_PROSE for _ in re.finditer(ACCENTS[rule], said)]
    return found


def participles() -> dict[str, list[str]]:
    """Return by package where a name is bound that is one bare participle; a scope counts each of its names once."""
    words = frozenset(PARTICIPLES["words"])
    places: dict[str, list[str]] = {package: [] for package in PARTICIPLES["most"]}
    for path in (*product(), *files(".py", under="scripts")):
        package = max((one for one in places if named(path).startswith(f"{one}/")), key=len)
        bound = {(scope, name): line for scope, line, name in names_bound(nodes(path)[0]) if name.strip("_") in words}
        places[package] += [f"{named(path)}:{line} {name}" for (_, name), line in bound.items()]
    return places


def names_bound(within: ast.AST, scope: str = "") -> Iterator[tuple[str, int, str]]:
    """Yield scope, line and name of each variable, parameter, attribute, function and class that a tree gives a name.

    A name that is only imported was given elsewhere.
    """
    for node in ast.iter_child_nodes(within):
        inner = scope
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield scope, node.lineno, name
                inner = f"{scope}.{name}"
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield scope, node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield scope, node.lineno, name
        yield from names_bound(node, inner)


def lines() -> tuple[int, int]:
    """Return the lines of the product and of its tests, generated files left out."""
    of_product = [*product(), *page_files(), *files(".css", under=PAGE), *files(".py", under="scripts")]
    of_tests = [*files(".py", under="tests"), *(p for p in files(".ts", ".tsx", under=PAGE) if ".test." in p.name)]
    return _lines(of_product), _lines(of_tests)


def _lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


async def traced() -> tuple[list[str], list[str]]:
    """Carry out one request in a whole hub: its files that ran from the POST to the answer, and its untyped routes."""
    from starloom_protocol.wire import frames as f
    from tests.edge.world import a_world, an_offer, settle

    ran: set[str] = set()
    below = str(ROOT / "backend")

    def note(frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(below):
            ran.add(Path(frame.f_code.co_filename).relative_to(ROOT).as_posix())

    with tempfile.TemporaryDirectory() as folder:
        # A hub checks its invariants in tests alone.
        async with a_world(Path(folder), check_every=0, lab=True) as world:
            agent = await world.online("one", offer=an_offer("t.echo"))
            plan = {"starloom": 1, "name": "one", "tasks": [{"id": "a", "tool": "t.echo", "args": {"value": 1}}]}
            sys.setprofile(note)
            made = await world.submit(plan)
            await agent.done(await agent.next(f.Dispatch), "1")
            await settle()
            async with world.client() as http:
                answer = (await http.get(f"/api/v1/constellations/{made['id']}")).json()
            sys.setprofile(None)
            if answer["state"] != "succeeded":
                raise AssertionError(f"the traced request ended {answer['state']}")
            return sorted(ran), untyped_routes(world.app)


def figures(found: dict[str, list[str]]) -> dict[str, int]:
    """Return the line of JSON; `found` gets the places behind each figure."""
    rooms = {one.name: one for one in packages()}
    core = rooms["starloom.core"]
    found["trace_files"], found["untyped_routes"] = asyncio.run(traced())
    found["untyped_answers"] = untyped_answers()
    found["private_uses"], found["bare_kinds"], found["polls"] = private_uses(), bare_kinds(hub_modules()), polls()
    found["accent_words"], found["modules_under_60"] = accents(), short_modules()
    found["functions_over_60"] = [f"{n} {at}" for n, at in sorted(functions(product())) if n > LONGEST_FUNCTION]
    found["too_many_children"] = [
        f"{one.name} {len(one.children)}" for one in rooms.values() if len(one.children) > CHILDREN_MOST
    ]
    found["too_many_floors"] = [f"{one.name} {one.floors}" for one in rooms.values() if one.floors > FLOORS_MOST]
    found["circles"] = [f"{one.name}: {', '.join(sorted(c))}" for one in rooms.values() for c in one.circles]
    found["participles"] = list(chain.from_iterable(participles().values()))
    of_product, of_tests = lines()
    return {
        "core_children": len(core.children),
        "core_floors": core.floors,
        "core_arrows": len(core.arrows),
        "core_up": core.up,
        **{name: len(places) for name, places in sorted(found.items())},
        "lines_product": of_product,
        "lines_tests": of_tests,
    }


def main() -> None:
    gc.disable()  # the syntax trees stay to the end, and looking for garbage among them is a quarter of the work
    found: dict[str, list[str]] = {}
    counted = figures(found)
    for one in packages():
        print(
            f"{one.name:34} children {len(one.children):3} arrows {len(one.arrows):4} floors {one.floors:2} up {one.up}"
        )
    for name, places in found.items():
        print(f"\n{name}: {len(places)}")
        if name != "trace_files" or "--trace" in sys.argv:
            most = None if "--all" in sys.argv else 12
            for place in places[:most]:
                print(f"  {place}")
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
