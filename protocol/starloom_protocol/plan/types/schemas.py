"""The shape of a value by its JSON schema: where a pointer leads in it, and whether it may fill another shape's place.

Pure, and no validator: of each keyword only the part that decides these two questions is read. If a schema says more
than that, the answer is the wider one, so a plan is refused only for a definite mismatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from starloom_protocol.tools.ages import WRITTEN, is_written
from starloom_protocol.values import MISSING, equal, parse, point, pointer_step, step_name

_SCHEMAS_KEPT: Final = 1024
"""The tools of a large fleet, with their results."""
_DEPTH_MAX: Final = 32
"""Schemas come from devices, and may refer to themselves."""
_FORMS_MAX: Final = 64
"""One with more alternatives allows any value."""
_STEPS_MAX: Final = 2_000
"""One question about a schema of a device takes no longer; the answer is yes then."""
_PAIRS_MAX: Final = 64_000
"""The pairs of forms that one such question compares."""
_READ_MAX: Final = 512
"""The parts of a schema that are read for its forms; one with more allows any value."""
_WORDS_MAX: Final = 4
"""A fault that lists more kinds is no help."""
_NAMES_MAX: Final = 12
"""A fault that lists more names is no help."""
_VALUE_CHARS_MAX: Final = 60
"""A value is shown by its beginning."""
_WORDS: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "nothing",
    "number": "a number",
    "object": "a map",
    "string": "a text",
}
_PLURALS: Final = {
    "array": "lists",
    "integer": "whole numbers",
    "number": "numbers",
    "object": "maps",
    "string": "texts",
}
_NUMBERS: Final = frozenset({"integer", "number"})
_BOUNDS: Final = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


class Form:
    """One form of a value: a schema without alternatives, and the document in which its references are found."""

    __slots__ = ("node", "root")

    def __init__(self, node: Mapping[str, Any], root: Any) -> None:
        self.node = node
        self.root = root

    @property
    def kind(self) -> str | None:
        """The JSON type of the values, None for any."""
        if "const" in self.node:
            return _kind_of(self.node["const"])
        kind = self.node.get("type")
        return kind if isinstance(kind, str) and kind in _WORDS else None

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of the named properties."""
        fields = self.node.get("properties")
        return fields if isinstance(fields, dict) else {}

    @property
    def required(self) -> list[str]:
        """The names that every such map has."""
        names = self.node.get("required")
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    @property
    def first(self) -> list[Any]:
        """The schemas of single positions of a list, from its beginning on."""
        items = self.node.get("prefixItems")
        return items if isinstance(items, list) else []

    def inner(self, node: Any) -> Shape:
        """Return the shape of a schema inside this one."""
        return _shape(node, self.root)

    def at(self, token: str) -> Shape:
        """Return the shape that one step of a pointer finds; it has no forms where the step can find nothing."""
        node, kind = self.node, self.kind
        if "const" in node:
            value = point(node["const"], "/" + pointer_step(token))
            return NOWHERE if value is MISSING else of_value(value)
        forms: list[Form] = []
        if kind in (None, "object"):
            forms += self.field(token).forms
        if kind in (None, "array") and token.isdecimal() and (token == "0" or token[0] != "0"):
            forms += self.entry(int(token)).forms
        return Shape(forms)

    def field(self, name: str) -> Shape:
        """Return the shape of a map's value under a name."""
        if name in self.properties:
            return self.inner(self.properties[name])
        if "patternProperties" in self.node:
            return OPEN
        return self.inner(self.node.get("additionalProperties", True))

    def entry(self, position: int) -> Shape:
        """Return the shape of a list's entry at a position."""
        if position < len(self.first):
            return self.inner(self.first[position])
        most = self.node.get("maxItems")
        if isinstance(most, int) and position >= most:
            return NOWHERE
        return self.inner(self.node.get("items", True))

    def entries(self) -> Shape:
        """Return the shape of any entry of a list."""
        return either(self.entry(position) for position in range(len(self.first) + 1))


class Shape:
    """Every form that a value may have. Without forms no value is possible; an empty schema allows any."""

    __slots__ = ("forms",)

    def __init__(self, forms: Iterable[Form]) -> None:
        self.forms = tuple(forms)

    def at(self, pointer: str) -> Shape:
        """Return the shape that a JSON pointer finds; without forms where it can find nothing."""
        shape = self
        for step in pointer.split("/")[1:]:
            name = step_name(step)
            shape = either(form.at(name) for form in shape.forms)
        return shape

    def missing(self, pointer: str) -> tuple[str, str, Shape] | None:
        """Return the end of a pointer that leaves the shape: the found part, the failing step, and the shape there."""
        shape, way = self, ""
        for step in pointer.split("/")[1:]:
            following = shape.at("/" + step)
            if not following.forms:
                return way, step_name(step), shape
            shape, way = following, f"{way}/{step}"
        return None

    def entries(self) -> Shape:
        """Return the shape of a list's entries; without forms if the value is no list."""
        return either(form.entries() for form in self._unfolded() if form.kind in (None, "array"))

    def names(self) -> list[str]:
        """Return the names that a map is known to have, sorted."""
        return sorted({name for form in self._unfolded() for name in form.properties})

    def kinds(self) -> list[str | None]:
        """Return the JSON types of the forms, each once; None stands for any."""
        return list(dict.fromkeys(form.kind for form in self.forms))

    def strays_from(self, due: Shape) -> bool:
        """Whether this is one value of a type that is due, and only its bounds or its way of writing are not kept."""
        pairs = ((form, other) for form in self.forms for other in due.forms if "const" in form.node)
        return any(
            form.kind == other.kind or {form.kind, other.kind} <= _NUMBERS
            for form, other in pairs
            if not _holds(form.node["const"], other.node)
        )

    def words(self) -> str:
        """Return the kind of the value, in words of a plan."""
        if None in self.kinds():
            return "any value"
        kinds = dict.fromkeys(map(_word, self.forms))
        return " or ".join(list(kinds)[:_WORDS_MAX]) or "no value"

    def choices(self) -> list[str]:
        """Return the texts of a closed list, in its order; empty where another value is possible, or they are many."""
        texts = [form.node["const"] for form in self.forms if isinstance(form.node.get("const"), str)]
        return texts if len(texts) == len(self.forms) <= _NAMES_MAX else []

    def lacking(self, due: Shape) -> str:
        """Return in one sentence what this shape lacks to be the one that is due; empty if no sentence says it."""
        form = self._form_due(due)
        if form:
            return form
        lacked = self.lacked(due)
        return f"It lacks {', '.join(lacked)}." if lacked else ""

    def lacked(self, due: Shape) -> list[str]:
        """Return the first names that this map lacks to be the one that is due; none where it is no map."""
        return [
            name
            for form in (due.forms if len(due.forms) == 1 else ())
            for name in form.required
            if self.kinds() == ["object"] and not self.at("/" + pointer_step(name)).forms
        ][:_NAMES_MAX]

    def _form_due(self, due: Shape) -> str:
        """Return how a value becomes the one that is due where only its outer form is another."""
        mine, due_kinds = self.kinds(), due.kinds()
        if mine == ["array"] == due_kinds:
            nested = self.entries().entries().forms and self.entries().kinds() == ["array"]
            flat = "array" not in due.entries().kinds() and None not in due.entries().kinds()
            return "Join the lists: add `flatten: true` beside `output`." if nested and flat else ""
        if due_kinds == ["array"] and "array" not in mine and None not in mine:
            return AS_A_LIST
        names = due.names()
        if due_kinds == ["object"] and names and "object" not in mine and None not in mine:
            return f"Write a map with some of: {', '.join(names[:_NAMES_MAX])}."
        return ""

    def value(self) -> str:
        """Return the beginning of the one value that it can be, as it is written; empty where there are several."""
        only = self.forms[0].node if len(self.forms) == 1 else {}
        return repr(only["const"])[:_VALUE_CHARS_MAX] if isinstance(only.get("const"), str | int | float) else ""

    def _unfolded(self) -> Iterator[Form]:
        """Yield the forms, constants as schemas that say the same."""
        for form in self.forms:
            yield from _unfolded(form)

    def may_be(self, due: Shape) -> bool:
        """Whether a value of this shape can stand where `due` is asked for: some form of it fits some form there."""
        return _Fitting().may_be(self, due, _DEPTH_MAX)


AS_A_LIST: Final = "Write it as a list, a single value too."
OPEN: Final = Shape([Form({}, {})])
NOWHERE: Final = Shape([])
NULL: Final = Shape([Form({"type": "null"}, {})])
TEXT: Final = Shape([Form({"type": "string"}, {})])


@lru_cache(_SCHEMAS_KEPT)
def shape_of(text: str) -> Shape:
    """Return the shape that the text of a JSON schema allows; no text allows any value."""
    try:
        schema = parse(text) if text else True
    except ValueError:
        return OPEN
    return _shape(schema, schema)


def either(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of a value that has one of these shapes."""
    forms: list[Form] = []
    for shape in shapes:
        forms += shape.forms
        if shape is OPEN or len(forms) > _FORMS_MAX:
            return OPEN
    return Shape(forms)


def listed(shape: Shape) -> Shape:
    """Return the shape of a list of such values."""
    return Shape([Form({"type": "array", "items": shape}, {})])


def map_of(fields: Mapping[str, Shape], *, open_ended: bool = False) -> Shape:
    """Return the shape of a map that has these fields, and with `open_ended` maybe others."""
    node = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": open_ended,
    }
    return Shape([Form(node, {})])


def of_value(value: Any, hole: Callable[[str, Any], Shape | None] = lambda *_: None) -> Shape:
    """Return the shape of one value. `hole` may say what stands for a map with a single name, such as `{each: /x}`."""
    if isinstance(value, dict):
        if len(value) == 1:
            shape = hole(*next(iter(value.items())))
            if shape is not None:
                return shape
        return map_of({name: of_value(item, hole) for name, item in value.items()})
    if isinstance(value, list):
        entries = [of_value(item, hole) for item in value]
        return Shape([Form({"type": "array", "prefixItems": entries, "maxItems": len(entries)}, {})])
    return Shape([Form({"const": value}, {})])


def misfit(actual: Shape, due: Shape, steps: tuple[str | int, ...] = ()) -> tuple[tuple[str | int, ...], Shape, Shape]:
    """Return where in a value it cannot be what is due, with both shapes there. To be asked only of what cannot."""
    for form in actual.forms if len(actual.forms) == 1 else ():
        for name, inner in form.properties.items():
            due_inner = due.at("/" + pointer_step(name))
            if isinstance(inner, Shape) and due_inner.forms and not inner.may_be(due_inner):
                return misfit(inner, due_inner, (*steps, name))
        for at, inner in enumerate(form.first):
            due_inner = due.at(f"/{at}")
            if isinstance(inner, Shape) and due_inner.forms and not inner.may_be(due_inner):
                return misfit(inner, due_inner, (*steps, at))
    return steps, actual, due


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    return "integer" if isinstance(value, int) or value.is_integer() else "number"


def _number_in(node: Mapping[str, Any], bound: str) -> float | None:
    number = node.get(bound)
    return number if isinstance(number, int | float) and not isinstance(number, bool) else None


def _holds(value: Any, node: Mapping[str, Any]) -> bool:
    """Tell whether one text or number keeps the bounds of a schema, and is written as it says."""
    if isinstance(value, str):
        return is_written(value, node.get("format"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    least, most = _number_in(node, "minimum"), _number_in(node, "maximum")
    above, below = _number_in(node, "exclusiveMinimum"), _number_in(node, "exclusiveMaximum")
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )


def _bounds(node: Mapping[str, Any]) -> str:
    limits = ((word, _number_in(node, bound)) for bound, word in _BOUNDS.items())
    return " and ".join(f"{word} {bound}" for word, bound in limits if bound is not None)


def _word(form: Form) -> str:
    format_row = WRITTEN.get(str(form.node.get("format"))) if form.kind == "string" else None
    if format_row is not None:
        return format_row.words
    if form.kind in _NUMBERS and (bounds := _bounds(form.node)):
        return f"{_WORDS[form.kind or '']} ({bounds})"
    kinds = form.entries().kinds() if form.kind == "array" and "const" not in form.node else []
    plural = _PLURALS.get(kinds[0] or "") if len(kinds) == 1 else None
    return _WORDS[form.kind or ""] + (f" of {plural}" if plural else "")


def _shape(node: Any, root: Any) -> Shape:
    """Return the shape of a schema; one with more than `_FORMS_MAX` forms allows any value."""
    forms = list(islice(_Reading(root).forms(node), _FORMS_MAX + 1))
    return Shape(forms) if len(forms) <= _FORMS_MAX else OPEN


class _Reading:
    """One reading of a schema for its forms. A device may write one that never ends: the rest is any value then."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._parts = 0

    def forms(self, node: Any, seen: tuple[str, ...] = ()) -> Iterator[Form]:
        """Yield the forms; one that is left out of account (`allOf`, a reference that leads nowhere) is any."""
        self._parts += 1
        if isinstance(node, Shape):
            yield from node.forms
        elif node is False:
            return
        elif not isinstance(node, dict) or self._parts > _READ_MAX or len(seen) > _DEPTH_MAX:
            yield Form({}, {})
        elif "$ref" in node:
            name = node["$ref"]
            is_new = isinstance(name, str) and name[:1] == "#" and name not in seen
            node_there = point(self._root, name[1:]) if is_new else True
            yield from self.forms(True if node_there is MISSING else node_there, (*seen, str(name)))
        elif isinstance(parts := node.get("anyOf", node.get("oneOf")), list):
            for part in parts if len(seen) < _DEPTH_MAX else [True]:
                yield from self.forms(part, (*seen, ""))
        elif "allOf" in node:
            parts = node["allOf"]
            alone = isinstance(parts, list) and len(parts) == 1 and len(seen) < _DEPTH_MAX
            yield from self.forms(parts[0] if alone else True, (*seen, ""))
        elif "const" in node:
            yield Form({"const": node["const"]}, self._root)
        elif isinstance(values := node.get("enum"), list):
            yield from (Form({"const": value}, self._root) for value in values)
        elif isinstance(kinds := node.get("type"), list):
            yield from (Form({**node, "type": kind}, self._root) for kind in kinds)
        else:
            yield Form(node, self._root)


def _unfolded(form: Form) -> Iterator[Form]:
    value = form.node.get("const")
    yield from of_value(value).forms if isinstance(value, dict | list) else (form,)


class _Fitting:
    """One question whether a value fits. Schemas come from devices: after so many steps the answer is yes."""

    def __init__(self) -> None:
        self._pairs = 0
        self._steps = 0

    def may_be(self, actual: Shape, due: Shape, depth: int) -> bool:
        self._steps += 1
        if depth == 0 or self._steps > _STEPS_MAX:
            return True
        return any(self._fits(form, other, depth - 1) for form in actual.forms for other in due.forms)

    def _fits(self, form: Form, due: Form, depth: int) -> bool:
        self._pairs += 1
        if self._pairs > _PAIRS_MAX:
            return True
        kind, due_kind = form.kind, due.kind
        if kind is None or due_kind is None:
            return True
        if kind != due_kind and not {kind, due_kind} <= _NUMBERS:
            return False
        if "const" in form.node and "const" in due.node:
            return equal(form.node["const"], due.node["const"])
        if "const" in form.node and not _holds(form.node["const"], due.node):
            return False
        look = {"array": self._lists_fit, "object": self._maps_fit}.get(kind)
        return look is None or all(look(one, other, depth) for one in _unfolded(form) for other in _unfolded(due))

    def _lists_fit(self, form: Form, due: Form, depth: int) -> bool:
        count = len(form.first)
        if not all(self.may_be(form.entry(at), due.entry(at), depth) for at in range(count)):
            return False
        rest, due_entry = form.entry(count), due.entries()
        # After entries that are described one by one, nothing need follow.
        return count > 0 or not rest.forms or not due_entry.forms or self.may_be(rest, due_entry, depth)

    def _maps_fit(self, form: Form, due: Form, depth: int) -> bool:
        needed = {*form.required, *due.required}
        for name in dict.fromkeys([*form.properties, *due.required]):
            actual, wanted_field = form.field(name), due.field(name)
            both = actual.forms and wanted_field.forms
            if (both or name in needed) and not self.may_be(actual, wanted_field, depth):
                return False
        return True
