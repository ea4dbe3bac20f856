"""The reading of a document: a text in JSON or YAML becomes plain maps and lists.

YAML is read as 1.2 reads it: `no` and dates stay texts, no octal or base-60 numbers, no tags, anchors or merges; keys
are texts and stand once. Owns size and depth; knows nothing of plans.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from starloom_protocol.records.entities import Fault
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import VALUE_DEPTH_MAX, depth_of, name_twice
from starloom_protocol.vocabulary import CODES, Code

DOCUMENT_BYTES_MAX: Final = 1024 * 1024
"""A document is read whole before anything in it is known to be a plan."""
REASON_CHARS_MOST: Final = 600
"""A parser quotes the text, which may be one line of a megabyte."""
_TAG_DIRECTIVE: Final = re.compile("(?<![^\r\n\x85\u2028\u2029\ufeff])%TAG(?=[ \t])")
"""The C parser compares each with all before it, and lets no other thread run meanwhile."""
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""The escape of half of a character. Alone, it is no text that can be written or sent; YAML refuses it."""


class DocumentRefused(Exception):
    """The text is no document; `fault` says where and why."""

    def __init__(self, reason: str, place: str = "", code: Code = Code.PLAN_INVALID, hint: str = "") -> None:
        # A key or a number of the text may be as long as the text.
        reason = reason if len(reason) <= REASON_CHARS_MOST else reason[:REASON_CHARS_MOST] + " ..."
        super().__init__(reason)
        self.fault = Fault(code=code, hint=hint or CODES[code].hint, place=place, reason=reason)


class _Loader(yaml.CSafeLoader):
    """YAML 1.2's core words only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own shape


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            reason = f"a key must be a text, not {quoted(key)}"
            raise DocumentRefused(reason, _line(key_node.start_mark), hint="Put it in quotes.")
        if key in mapping:
            reason = f"the key `{key}` stands twice in one map"
            raise DocumentRefused(reason, _line(key_node.start_mark), hint="Remove one of the two.")
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    number = float(str(loader.construct_scalar(node)))
    if number in (float("inf"), float("-inf")):
        raise DocumentRefused("a number is out of range", _line(node.start_mark))
    return number


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def read_document(text: str | bytes) -> dict[str, Any]:
    """Return the map that JSON or YAML text holds.

    Raises:
        DocumentRefused: with the one fault that makes the text unreadable.
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > DOCUMENT_BYTES_MAX:
        raise DocumentRefused(
            f"the document has {size} bytes; at most {DOCUMENT_BYTES_MAX} are taken", code=Code.PLAN_TOO_BIG
        )
    try:
        source = text.decode("utf-8") if isinstance(text, bytes) else text
        source.encode("utf-8")
    except UnicodeError as error:
        raise DocumentRefused(f"the document is not UTF-8: {error}") from error
    document = _read_json(source) if source.lstrip()[:1] in ("{", "[") else _read_yaml(source)
    if not isinstance(document, dict):
        raise DocumentRefused("the document must be a map with named fields")
    return document


def _read_json(source: str) -> Any:
    try:
        document = json.loads(source, object_pairs_hook=_pairs, parse_constant=_refuse_constant)
    except (DocumentRefused, RecursionError, ValueError) as error:
        # Text that nests too deep is refused for that, whatever its other faults.
        _limit_depth(_depth_of_text(source))
        if isinstance(error, json.JSONDecodeError):
            return _read_yaml(source)
        if isinstance(error, ValueError):
            raise DocumentRefused(f"a number is out of range: {error}") from error
        raise
    _limit_depth(depth_of(document))
    if _HALF.search(source) is not None:
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start]).strip("'")
            raise DocumentRefused(f"a text has half of a character: {half}", hint="Write the character.") from error
    return document


def _limit_depth(depth: int) -> None:
    if depth > VALUE_DEPTH_MAX:
        raise DocumentRefused(f"the document nests deeper than {VALUE_DEPTH_MAX} levels")


def _depth_of_text(source: str) -> int:
    """Return how deeply brackets nest in a text, be it JSON or not."""
    depth = deepest = 0
    # A string that nobody closes is read to the end once; looking for its end from each quote in it would take hours.
    for sign in re.findall(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', source, re.DOTALL):
        if sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    return deepest


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise DocumentRefused(f"the key `{name_twice(pairs)}` stands twice in one map", hint="Remove one of the two.")
    return mapping


def _refuse_constant(word: str) -> Any:
    raise DocumentRefused(f"{word} is not a JSON number")


def _read_yaml(source: str) -> Any:
    directive = _TAG_DIRECTIVE.search(source)
    if directive is not None:
        line = source.count("\n", 0, directive.end()) + 1
        raise DocumentRefused("directives (%TAG) are not taken", f"line {line}, column 1", hint="Remove the line.")
    try:
        depth = 0
        # Only the C loader's events are cheap enough to look at every node before any object is made.
        for event in yaml.parse(source, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                reason = "anchors and aliases (& and *) are not taken"
                raise DocumentRefused(reason, _line(event.start_mark), hint="Write it out.")
            tag = getattr(event, "tag", None)
            if tag not in (None, "!"):
                reason = f"the tag {tag} is not taken"
                raise DocumentRefused(reason, _line(event.start_mark), hint="Write a plain value.")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > VALUE_DEPTH_MAX:
                    reason = f"the document nests deeper than {VALUE_DEPTH_MAX} levels"
                    raise DocumentRefused(reason, _line(event.start_mark))
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
        return yaml.load(source, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        what = " ".join(part for part in (error.context, error.problem) if part)
        mark = error.problem_mark
        at_tab = mark is not None and source[mark.index : mark.index + 1] == "\t"
        hint = "A tab stands there: YAML indents by spaces." if at_tab else ""
        raise DocumentRefused(f"this is not YAML: {what}", _line(mark), hint=hint) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DocumentRefused(f"this is not YAML: {error}") from error


def line_of(text: str, place: str) -> int:
    """Return the line of a place (`tasks[3].args.path`) in a text, or of the nearest part around it; 0 if it has none.

    The text was refused, so it may be no document at all.
    """
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return 0
    line = 0
    while place:
        for step, mark, inner in _steps(node):
            rest = place.removeprefix(step)
            if rest != place and rest[:1] in ("", ".", "["):
                node, line, place = inner, mark.line + 1, rest.removeprefix(".")
                break
        else:
            break
    return line


def _steps(node: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts of a node: how a place names it, where it begins, and its own node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key.start_mark, value
    elif isinstance(node, yaml.SequenceNode):
        for at, value in enumerate(node.value):
            yield f"[{at}]", value.start_mark, value


def _line(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
