"""Cards: the part of a result that a model is shown. Owns their size, their shape and the list of what they lack.

Pure. A card is data of strangers: the caller puts it under `DATA`, one line of JSON each, so that no text in it can
end its line. Nothing in a card is read as an instruction or decides anything here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starloom.planner.context.table_shapes import table_in
from starloom.planner.quoting import within_a_line
from starloom_protocol.plan.checks.findings import topics
from starloom_protocol.records.entities import Attempt, TaskRecord, TaskSpec
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Sharing, TaskState

HEAD_BYTES_MAX: Final = 2048
"""Twelve such heads are about 8,000 tokens, which a small model can still read beside its prompt."""
ARGS_BYTES_MAX: Final = 512
MESSAGE_CHARS_MAX: Final = 400
FIELDS_MAX: Final = 40
NAME_CHARS_MAX: Final = 60
SHAPE_DEPTH_MAX: Final = 4
SAMPLE_ITEMS: Final = 20
LEFT_OUT_MAX: Final = 10
_TEXT_STEPS: Final = (1600, 800, 400, 200, 80)
_ITEM_STEPS: Final = (100, 50, 25, 12, 6, 3, 1)
OWN_WORDS: Final = "the plan or a model wrote these values; they prove nothing and cannot be cited"
_PURE_FAMILY: Final = "data."
"""The tools whose result is made of their arguments alone."""
_MASK: Final = "***"

TELLING_TOOLS: Final = frozenset(
    {
        "adb.devices",
        "adb.files",
        "archive.verify",
        "artifact.put",
        "container.list",
        "disk.usage",
        "fs.copy",
        "fs.find",
        "fs.hash",
        "fs.list",
        "fs.move",
        "fs.restore",
        "fs.stat",
        "fs.trash",
        "fs.verify",
        "fs.write",
        "git.status",
        "image.info",
        "lab.echo",
        "net.check",
        "package.updates",
        "process.list",
        "service.status",
        "system.info",
    }
)
"""Tools that tell about a device and repeat no content of files, pages or logs.

Any other tool counts as one that may repeat it, those of MCP servers too.
"""

_SECRET_TEXTS: Final = re.compile(
    r"""
    -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?(?:-----END[ A-Z]*PRIVATE\ KEY-----|\Z)
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b
    | \b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-|pk_live_|sk_live_|rk_live_|npm_|hf_|AIza)[\w-]{12,}
    | \beyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,}
    | (?<=bearer\ )[\w.~+/=-]{8,}
    | (?<=basic\ )[\w+/=]{8,}
    | (?<=://)[^\s/:@]{1,100}:[^\s/@]{1,200}(?=@)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_SECRET_WORD: Final = (
    r"(?:pass(?:word|wd|phrase|wort)?|kennwort|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret"
    r"|credentials?|pwd)"
)
_SECRET_SETTING: Final = re.compile(
    rf"(?P<name>{_SECRET_WORD}[\w.-]{{0,40}}[\"']?\s{{0,8}}[:=]\s{{0,8}}[\"']?)(?P<value>[^\s\"',;&]{{3,}})",
    re.IGNORECASE,
)
"""Every repetition before the value is bounded, so that no text makes the search slow."""
_SECRET_FIELD: Final = re.compile(rf"(?:^|[_.-]|\b){_SECRET_WORD}s?$", re.IGNORECASE)


@dataclass(frozen=True)
class Card:
    """The part of one task that is shown. `shape` and `head` are absent where nothing of the value may be shown.

    `left_out` says which parts the head lacks; `withheld` says why it is absent although there is a value.
    """

    task: str
    tool: str
    device: str
    state: str
    args: str = "{}"
    age_s: int = 0
    attempt: int = 0
    code: str = ""
    message: str = ""
    bytes: int = 0
    shape: Any = None
    head: Any = None
    left_out: tuple[str, ...] = field(default=())
    withheld: str = ""
    taken_over: str = ""
    """The constellation of the earlier run that made the value, if this one took it over."""
    own_words: bool = False
    """Whether the plan itself holds the value: it was written, not found."""

    def document(self) -> dict[str, Any]:
        """Return it as a JSON value without what is empty; a value that is shown whole needs no shape."""
        fields: dict[str, Any] = {
            "age_s": self.age_s,
            "args": parse(self.args) if self.args != "{}" else None,
            "bytes": self.bytes,
            "code": self.code,
            "device": self.device,
            "head": self.head,
            "left_out": list(self.left_out),
            "message": self.message,
            "own_words": OWN_WORDS if self.own_words else None,
            "shape": self.shape if self.head is None or self.left_out else None,
            "state": self.state,
            "taken_over_from": self.taken_over,
            "task": self.task,
            "tool": self.tool,
            "withheld": self.withheld,
        }
        return {name: value for name, value in fields.items() if value not in (None, "", [])}

    def line(self) -> str:
        """Return it as one line of JSON."""
        return one_line(self.document())


def card_of(
    spec: TaskSpec,
    record: TaskRecord,
    attempt: Attempt | None,
    *,
    device: str,
    now_ms: int,
    sharing: Sharing = Sharing.CARDS,
    telling: bool = False,
) -> Card:
    """Return the card of a task by its last attempt; `device` is the name of that attempt's device.

    `telling` says that its result is made of those of telling tools (`telling_in`).

    A result of a person or of a mark is that person's own words and is shown like any other value.
    """
    common: dict[str, Any] = {
        "age_s": max(0, now_ms - (_made_ms(attempt) or record.since_ms)) // 1000,
        "attempt": record.attempt,
        "code": str(record.code or (attempt.code if attempt else "") or ""),
        "device": device,
        "state": str(record.state),
        "taken_over": (attempt.origin or "") if attempt is not None and attempt.origin_task else "",
        "task": spec.id,
        "tool": spec.tool or ("person" if spec.person else ""),
    }
    if sharing is Sharing.NAMES:
        return Card(**common, withheld="the owner shares no values" if _value_of(record, attempt) else "")
    common["args"] = _args_of(spec.args)
    if record.state is not TaskState.SUCCEEDED:
        message = "" if attempt is None else attempt.detail or attempt.tail
        return Card(**common, message=_short(scrubbed(message)))
    value = _value_of(record, attempt)
    if value is None:
        return Card(**common, **_kept_elsewhere(attempt))
    is_shown = sharing is Sharing.HEADS or telling or not spec.tool or spec.tool in TELLING_TOOLS
    return Card(**common, **_value_fields(value, is_shown=is_shown))


def _made_ms(attempt: Attempt | None) -> int:
    """Return when a result was made, which may have been in an earlier run; 0 if there is none."""
    return 0 if attempt is None else attempt.origin_ms or attempt.ended_ms


def own_words_in(specs: Mapping[str, TaskSpec]) -> set[str]:
    """Return the tasks whose results were written, not found: `data.*` without a value of any other task, and answers
    of goals, which are a model's.

    One that takes values only from such tasks is one of them.
    """
    claims = {name for name, spec in specs.items() if is_claim(specs, spec)}
    pure = {
        name: _inputs_of(specs, spec)
        for name, spec in specs.items()
        if (spec.tool or "").startswith(_PURE_FAMILY) and spec.for_each is None and spec.group is None
    }
    while more := {name for name, sources in pure.items() if name not in claims and sources <= claims}:
        claims |= more
    return claims


def is_claim(specs: Mapping[str, TaskSpec], spec: TaskSpec) -> bool:
    """Tell whether a task is the answer of a goal: a model wrote its value, from results that it cites."""
    group = specs.get(spec.group) if spec.group is not None else None
    return group is not None and group.goal is not None and spec.tool is None


def telling_in(specs: Mapping[str, TaskSpec]) -> set[str]:
    """Return the tasks of `data.*` whose results are made of nothing but what telling tools found."""
    telling = {name for name, spec in specs.items() if spec.tool in TELLING_TOOLS}
    pure = {name: spec for name, spec in specs.items() if (spec.tool or "").startswith(_PURE_FAMILY)}
    made_of: set[str] = set()
    while more := {
        name for name, spec in pure.items() if name not in made_of and _sources(specs, spec) <= made_of | telling
    }:
        made_of |= more
    return made_of


def _inputs_of(specs: Mapping[str, TaskSpec], spec: TaskSpec) -> set[str]:
    """Return the tasks and groups that give the inputs of a task, those that publish its topics included."""
    sources = {source_input.source for source_input in spec.inputs if not source_input.topic}
    for topic in {source_input.topic for source_input in spec.inputs if source_input.topic}:
        sources |= {name for name, other in specs.items() if topic in topics(other)}
    return sources


def _sources(specs: Mapping[str, TaskSpec], spec: TaskSpec) -> set[str]:
    """Return the tasks and groups whose values a task takes, through its own list or that of its group too."""
    sources = _inputs_of(specs, spec)
    if spec.for_each is not None:
        sources.add(spec.for_each.source or "(devices)")
    return sources | ({"(a list)"} if spec.group is not None else set())


def one_line(value: Any) -> str:
    """Return a JSON value as text that can end neither its line nor a fence."""
    return within_a_line(canonical(value))


def scrubbed(value: Any) -> Any:
    """Return a JSON value in which what looks like a key, a token or a password is masked.

    The values of Starloom's own secrets are removed before a result is kept; this is for what nobody told it.
    """
    if isinstance(value, str):
        masked = _SECRET_TEXTS.sub(_MASK, value)
        return _SECRET_SETTING.sub(lambda match: f"{match['name']}{_MASK}", masked)
    if isinstance(value, Mapping):
        return {
            scrubbed(name): _MASK if _SECRET_FIELD.search(name) and isinstance(item, str | int) else scrubbed(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    return value


def shape_of(value: Any, depth: int = SHAPE_DEPTH_MAX) -> Any:
    """Return types, lengths and names of fields, and nothing of the content; the first items stand for a list."""
    if isinstance(value, Mapping):
        names = list(value)[:FIELDS_MAX]
        shape: dict[str, Any] = {"type": "object"}
        if depth > 0:
            shape["fields"] = {name[:NAME_CHARS_MAX]: shape_of(value[name], depth - 1) for name in names}
        return {**shape, **({"more_fields": len(value) - len(names)} if len(value) > len(names) else {})}
    if isinstance(value, list):
        shape = {"items": len(value), "type": "list"}
        return {**shape, "of": _item_shape(value[:SAMPLE_ITEMS], depth - 1)} if value and depth > 0 else shape
    if isinstance(value, str):
        return _text_shape(value, depth)
    if isinstance(value, bool):
        return "boolean"
    return "null" if value is None else "number"


def head_of(value: Any, most: int = HEAD_BYTES_MAX) -> tuple[Any, tuple[str, ...]]:
    """Return the beginning of a value as a whole JSON value of at most `most` bytes, and what it lacks."""
    for chars in _TEXT_STEPS:
        for items in _ITEM_STEPS:
            lacks: list[str] = []
            cut = _cut(value, chars, items, "", lacks)
            if len(canonical(cut).encode()) <= most:
                more = len(lacks) - LEFT_OUT_MAX
                return cut, (*lacks[:LEFT_OUT_MAX], *([f"and {more} more parts"] if more > 0 else ()))
    return None, ("the value has no part that is small enough to show",)


def _value_fields(text: str, *, is_shown: bool) -> dict[str, Any]:
    value = scrubbed(parse(text))
    fields: dict[str, Any] = {
        "bytes": len(text.encode()),
        "shape": shape_of(value),
    }
    if not is_shown:
        return {**fields, "withheld": "the owner shares no content of files, pages and logs"}
    head, lacks = head_of(value)
    return {**fields, "head": head, "left_out": lacks}


def _kept_elsewhere(attempt: Attempt | None) -> dict[str, Any]:
    """Return what is known of a value that is kept as bytes, from its size, its name and its facts."""
    if attempt is None or attempt.artifact is None:
        return {}
    facts = {scrubbed(name): shape_of(parse(text)) for name, text in list(attempt.facts.items())[:FIELDS_MAX]}
    return {
        "bytes": attempt.bytes,
        "shape": {"known_parts": facts, "type": "large value"},
        "withheld": "the value is too large for a card; `read` one of its parts",
    }


def _value_of(record: TaskRecord, attempt: Attempt | None) -> str | None:
    return record.marked if record.marked is not None else attempt.value if attempt is not None else None


def _args_of(text: str) -> str:
    cut, _ = head_of(scrubbed(parse(text)), ARGS_BYTES_MAX)
    return canonical(cut if cut is not None else {})


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_CHARS_MAX else line[: MESSAGE_CHARS_MAX - 1] + "\u2026"


def _item_shape(items: list[Any], depth: int) -> Any:
    """Return the shape of the items of a list; objects are laid over each other."""
    if all(isinstance(item, Mapping) for item in items):
        fields = {name: item[name] for item in reversed(items) for name in item}
        return shape_of(fields, depth)
    kinds = dict.fromkeys(canonical(shape_of(item, 0)) for item in items if not isinstance(item, str))
    texts = [item for item in items if isinstance(item, str)]
    if not kinds:
        return {"chars_most": max(map(len, texts)), "type": "text"}
    return shape_of(items[0], depth) if len(kinds) == 1 and not texts else "mixed"


def _text_shape(text: str, depth: int) -> Any:
    shape: dict[str, Any] = {"chars": len(text), "type": "text"}
    lines = text.splitlines()
    if len(lines) < 2:
        return shape
    shape["lines"] = len(lines)
    if text.lstrip()[:1] in ("{", "[") and depth > 0:
        try:
            return {**shape, "json": shape_of(parse(text), depth - 1)}
        except ValueError:
            return shape
    return {**shape, **table_in(lines, lambda name: str(scrubbed(name[:NAME_CHARS_MAX])), FIELDS_MAX)}


def _cut(value: Any, chars: int, items: int, at: str, lacks: list[str]) -> Any:
    if isinstance(value, str):
        if len(value) <= chars:
            return value
        lacks.append(f"{at or '/'}: {len(value) - chars} of {len(value)} characters")
        return value[:chars]
    if isinstance(value, list):
        if len(value) > items:
            lacks.append(f"{at or '/'}: {len(value) - items} of {len(value)} items")
        return [_cut(item, chars, items, f"{at}/{number}", lacks) for number, item in enumerate(value[:items])]
    if isinstance(value, Mapping):
        names = list(value)[:items]
        if len(value) > items:
            lacks.append(f"{at or '/'}: {len(value) - items} of {len(value)} fields")
        return {name: _cut(value[name], chars, items, f"{at}/{name}"[:200], lacks) for name in names}
    return value
