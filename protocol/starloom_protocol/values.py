"""Plan values: canonical JSON text (RFC 8785), JSON pointers (RFC 6901) and the operators of conditions.

A value is a string of canonical JSON to state, hash and TypeScript; it is parsed only to compare or to point
into. Nothing here evaluates anything.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from itertools import chain, compress
from typing import Any, Final

import msgspec

from starloom_protocol.vocabulary import Op

_sorted = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()
_text = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
# Outside texts: a float (whole numbers never have one of these), or what NaN and infinities are written as.
_float = re.compile(rb"[0-9][.e]|null")

FACT_SCALAR_BYTES_MAX: Final = 1024
"""A fact steers a gate or names a file; it stands in state for good."""
FACT_LIST_ITEMS_MAX: Final = 10_000
"""A list of facts is the list of a group, which makes a task of each."""
FACT_LIST_BYTES_MAX: Final = 1024 * 1024
"""It crosses the wire in one message, beside the result."""
INLINE_VALUE_BYTES_MAX: Final = 16 * 1024
"""A larger result is an artifact, so that state and events stay small."""
VALUE_DEPTH_MAX: Final = 32
"""Every reader of a value may recurse, in Python and in the page."""
_POSITION_DIGITS_MAX: Final = 16
"""No list has as many entries as this has digits."""
_CONTAINERS: Final = (dict, list, tuple)


class Missing:
    """The result of a pointer that finds nothing; `null` is a value, this is none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing()


def canonical(value: Any) -> str:
    """Return the RFC 8785 text of a JSON value.

    Raises:
        ValueError: for NaN, infinities and anything that is not JSON.
    """
    try:
        raw = _sorted.encode(value)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not a JSON value: {error}") from error
    # Most documents hold nothing that could be a float even inside their texts, which is the cheaper question.
    if raw.isascii() and (not _float.search(raw) or not _float.search(_text.sub(b"", raw))):
        return raw.decode()
    return _slow(value)


def list_key(value: Sequence[Any]) -> str:
    """Return the name by which `effects_by` of an offer knows a list: its hash, so that an offer shows no command."""
    return f"sha256:{sha256(canonical(list(value)).encode()).hexdigest()}"


def _slow(value: Any) -> str:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        # RFC 8785 3.2.3 orders keys by UTF-16 code units, which differs from code points above the BMP.
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(_sorted.encode(key).decode() + ":" + _slow(value[key]) for key in keys) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_slow(item) for item in value) + "]"
    return _sorted.encode(value).decode()


def _number(value: float) -> str:
    """Format a float as ECMAScript does (RFC 8785 3.2.2.3)."""
    if not math.isfinite(value):
        raise ValueError("NaN and infinities are not JSON values")
    if value == 0:
        return "0"
    text = repr(abs(value))
    mantissa, _, exponent_text = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" and not exponent_text else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent_text or 0)
    if whole == "0":
        point = -(len(fraction) - len(fraction.lstrip("0"))) + int(exponent_text or 0)
    digits = digits.rstrip("0") or "0"
    count = len(digits)
    if count <= point <= 21:
        body = digits + "0" * (point - count)
    elif 0 < point <= 21:
        body = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        body = "0." + "0" * -point + digits
    else:
        exponent = point - 1
        sign = "+" if exponent >= 0 else "-"
        head = digits[0] + ("." + digits[1:] if count > 1 else "")
        body = f"{head}e{sign}{abs(exponent)}"
    return "-" + body if value < 0 else body


def parse(text: str) -> Any:
    """Parse canonical text.

    Raises:
        ValueError: if the text is not JSON.
    """
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error


def depth_of(value: Any, most: int = VALUE_DEPTH_MAX) -> int:
    """Return how deeply lists and maps nest, or one more than `most`; a scalar has depth 0."""
    depth, layer = 0, [value] if isinstance(value, _CONTAINERS) else []
    while layer and depth <= most:
        # A document has few types and thousands of values: the types are judged, and no value is looked at alone.
        values = list(chain.from_iterable(item.values() if isinstance(item, dict) else item for item in layer))
        containers = {kind for kind in set(map(type, values)) if issubclass(kind, _CONTAINERS)}
        layer = list(compress(values, map(containers.__contains__, map(type, values))))
        depth += 1
    return depth


def pointer_step(name: str) -> str:
    """Return a name as one step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def step_name(step: str) -> str:
    """Return the name that one step of a JSON pointer stands for."""
    return step.replace("~1", "/").replace("~0", "~")


def point(value: Any, pointer: str) -> Any:
    """Follow a JSON pointer; return `MISSING` where it finds nothing. `""` is the whole value."""
    if pointer == "":
        return value
    for step in pointer[1:].split("/"):
        token = step_name(step)
        if isinstance(value, dict):
            if token not in value:
                return MISSING
            value = value[token]
        elif isinstance(value, list):
            # Python refuses a number of thousands of digits, and takes digits of every script.
            if not (token.isascii() and token.isdecimal()) or len(token) > _POSITION_DIGITS_MAX:
                return MISSING
            if (token != "0" and token[0] == "0") or int(token) >= len(value):
                return MISSING
            value = value[int(token)]
        else:
            return MISSING
    return value


def pointer_fault(pointer: str) -> str | None:
    """Return the fault in the text of a pointer, or None."""
    if pointer and not pointer.startswith("/"):
        return "a pointer is empty or starts with /"
    if len(pointer) > 256:
        return "a pointer has at most 256 characters"
    return None


def _same_kind(actual: Any, value: Any) -> bool:
    numbers = (int, float)
    if isinstance(actual, bool) or isinstance(value, bool):
        return False
    if isinstance(actual, numbers) and isinstance(value, numbers):
        return True
    return isinstance(actual, str) and isinstance(value, str)


def equal(a: Any, b: Any) -> bool:
    """Compare as JSON does: `true` is not 1, 1 is 1.0."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return bool(a == b)


def holds(op: Op, actual: Any, value: Any) -> bool:
    """Decide a condition. A missing `actual` makes every operator false, `exists: false` excepted.

    Orderings compare numbers with numbers and strings with strings; anything else is false.
    """
    if op is Op.EXISTS:
        must_exist = True if value is None else bool(value)
        return (actual is not MISSING) == must_exist
    if actual is MISSING:
        return False
    match op:
        case Op.EQ:
            return equal(actual, value)
        case Op.NE:
            return not equal(actual, value)
        case Op.LT:
            return _same_kind(actual, value) and actual < value
        case Op.LE:
            return _same_kind(actual, value) and actual <= value
        case Op.GT:
            return _same_kind(actual, value) and actual > value
        case Op.GE:
            return _same_kind(actual, value) and actual >= value
        case Op.IN:
            return isinstance(value, list) and any(equal(actual, item) for item in value)
        case Op.NOT_IN:
            return isinstance(value, list) and not any(equal(actual, item) for item in value)
        case Op.CONTAINS:
            if isinstance(actual, str):
                return isinstance(value, str) and value in actual
            return isinstance(actual, list) and any(equal(item, value) for item in actual)
        case Op.EMPTY:
            return actual is None or (isinstance(actual, (str, list, dict)) and len(actual) == 0)
        case Op.NOT_EMPTY:
            return isinstance(actual, (str, list, dict)) and len(actual) > 0


def has_node(value: object, names: Collection[str]) -> bool:
    """Tell whether a value holds, at any depth, an object whose one member has one of these names."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            if len(item) == 1 and next(iter(item)) in names:
                return True
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def name_twice(pairs: Sequence[tuple[str, Any]]) -> str:
    """Return the first name that stands twice in a map's pairs; empty if none does. One pass: a map may be large."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return ""


def composed(name: str) -> str:
    """Return a name for people as it is kept: some systems type and paste an accent apart from its letter."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def name_fault(name: str, *, most: int = 128) -> str | None:
    """Return why a name for people is refused (NFC, no control, bidi or surrogate characters), or None."""
    if not name.strip():
        return "a name may not be empty"
    if len(name) > most:
        return f"a name has at most {most} characters"
    if unicodedata.normalize("NFC", name) != name:
        return "a name must be in Unicode NFC"
    for char in name:
        category = unicodedata.category(char)
        if category in ("Cc", "Cs", "Cf", "Co", "Zl", "Zp"):
            return f"a name may not contain U+{ord(char):04X}"
    return None
