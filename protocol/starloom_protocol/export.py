"""The export of the protocol, from the types themselves: JSON Schema, the page's TypeScript, `docs/errors.md`.

`python -m starloom_protocol.export` writes the files of a checkout, `--check` exits 1 if one is stale. Generated
files are never edited; a test fails when they are stale. Owns no shape of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast, get_args

import msgspec
from msgspec import inspect

from starloom_protocol import vocabulary
from starloom_protocol.records import (
    access,
    approvals,
    edits,
    entities,
    fleet,
    goals,
    lab,
    models,
    record,
    run_report,
    schedules,
    specs,
)
from starloom_protocol.stream import events, feed, sketches
from starloom_protocol.text import browsers, presentation, rights
from starloom_protocol.text.field_docs import describe, field_docs, without_indentation
from starloom_protocol.tools import ways_back
from starloom_protocol.vocabulary import CodeClass
from starloom_protocol.wire import frame_shapes, frames, session
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, UNAUTHENTICATED_BYTES_MAX, tag_of
from starloom_protocol.wire.short_words import WORDS
from starloom_protocol.wire.version import AGENT_VERSIONS, FRAMES_SINCE, PROTOCOL_VERSIONS

TYPESCRIPT: Final = Path("frontend/src/generated/protocol.ts")
TAB: Final = Path("device_agents/browser/src/generated")
SCHEMA: Final = Path("protocol/schema/v1.json")
SCENARIO: Final = Path("protocol/schema/scenario-v1.json")
ERRORS: Final = Path("docs/errors.md")
_COMMAND: Final = "python -m starloom_protocol.export"
_OF_THE_TAB: Final = (vocabulary.Code, vocabulary.CodeClass, session.Side, session.State)
"""The words that the browser agent needs beside those of the frames: its tables are made of them."""


def enums() -> list[type[StrEnum]]:
    """Return every enum of the vocabulary and the session, in the order they stand there."""
    named = [
        *vars(vocabulary).values(),
        *vars(lab).values(),
        *vars(presentation).values(),
        *vars(events).values(),
        *vars(run_report).values(),
    ]
    found = dict.fromkeys(item for item in named if isinstance(item, type) and issubclass(item, StrEnum))
    return [item for item in found if item is not StrEnum] + [session.Side, session.State]


def structs() -> list[type[msgspec.Struct]]:
    """Return every record, feed frame, AIP frame and edit operation, parts before the structs that hold them."""
    found: dict[str, type[msgspec.Struct]] = {}
    abstract = {entities.Record, frames.Part, frames.Frame, edits.Operation}
    for module in (
        record,
        access,
        approvals,
        schedules,
        models,
        specs,
        goals,
        fleet,
        lab,
        sketches,
        entities,
        feed,
        edits,
        frames,
        run_report,
    ):
        for item in vars(module).values():
            if not (isinstance(item, type) and issubclass(item, msgspec.Struct)) or item in abstract:
                continue
            if item.__module__ == module.__name__ and not item.__name__.startswith("_"):
                if item.__name__ in found:
                    raise ValueError(f"two structs are named {item.__name__}: rename one, TypeScript has one namespace")
                found[item.__name__] = item
    return [item for item in found.values() if item is not msgspec.Struct]


def unions() -> dict[str, tuple[type[msgspec.Struct], ...]]:
    """Return the named unions of the protocol."""
    return {
        "Entity": get_args(entities.Entity),
        "LiveRequest": get_args(feed.LiveRequest),
        "LiveFrame": get_args(feed.LiveFrame),
        "AgentFrame": get_args(frames.AgentFrame),
        "HubFrame": get_args(frames.HubFrame),
        "ReportFrame": get_args(frames.ReportFrame),
        "EditOperation": get_args(edits.EditOperation),
    }


# -- TypeScript


def typescript() -> str:
    """Return the whole text of the page's `protocol.ts`."""
    return "\n".join(_page_lines()) + "\n"


def tab_typescript() -> str:
    """Return the whole text of the browser agent's `protocol.ts`: the frames and all that they are made of."""
    return "\n".join(_tab_lines()) + "\n"


def _page_lines() -> Iterator[str]:
    yield from _versions()
    yield "/** The child whose value is the answer of a goal has the goal's name and this. */"
    yield f"export const GOAL_ANSWER_SUFFIX = {_json(goals.GOAL_ANSWER_SUFFIX)};"
    yield "/** The difference of two logarithms of a pace where one time is twice the other. */"
    yield f"export const PACE_OCTAVE = {fleet.PACE_OCTAVE};"
    yield "/** Fewer calls of a tool on a device are a guess at its pace. */"
    yield f"export const PACE_CALLS_LEAST = {fleet.PACE_CALLS_LEAST};"
    yield from _types(enums(), structs(), unions())
    yield ""
    yield "/** The record of each kind of key, by the part before its first slash. */"
    yield "export interface EntityByKind {"
    yield from (f"  {kind}: {record.__name__};" for kind, record in entities.KINDS.items())
    yield "}"
    yield from _sets()
    yield from _codes()
    yield from _tables()
    yield from _phases()
    yield from _browsers()
    yield from _rights()
    yield from _controls()
    yield from _ways_back()
    yield from _session()


def _tab_lines() -> Iterator[str]:
    named = {name: members for name, members in unions().items() if all(issubclass(m, frames.Frame) for m in members)}
    _, reached = msgspec.json.schema_components([*set(chain(*named.values())), *_OF_THE_TAB])
    yield from _versions()
    yield from _types(
        [enum for enum in enums() if enum.__name__ in reached],
        [struct for struct in structs() if struct.__name__ in reached],
        named,
    )
    yield from _codes()
    yield from _session()


def _versions() -> Iterator[str]:
    yield f"// Generated by `{_COMMAND}`; do not edit."
    yield ""
    yield f"export const PROTOCOL_VERSIONS = {_json(PROTOCOL_VERSIONS)} as const;"
    yield "/** The versions that an agent offers: those in which the hub proves its key. */"
    yield f"export const AGENT_VERSIONS = {_json(AGENT_VERSIONS)} as const;"
    yield "/** The version that a frame came with, by its tag; any other is of version 1. */"
    yield f"export const FRAMES_SINCE: Readonly<Record<string, number>> = {_json(FRAMES_SINCE)};"
    yield "/** From here on a disk counts as nearly full. */"
    yield f"export const DISK_NEARLY_FULL_PERCENT = {vocabulary.DISK_NEARLY_FULL_PERCENT};"
    yield f"export const MESSAGE_BYTES_MAX = {MESSAGE_BYTES_MAX};"
    yield f"export const UNAUTHENTICATED_BYTES_MAX = {UNAUTHENTICATED_BYTES_MAX};"


def _types(
    words: Iterable[type[StrEnum]],
    records: Iterable[type[msgspec.Struct]],
    named: Mapping[str, tuple[type[msgspec.Struct], ...]],
) -> Iterator[str]:
    for enum in words:
        yield ""
        yield from _doc(enum)
        yield f"export type {enum.__name__} = {' | '.join(_json(member) for member in enum)};"
        yield f"export const {_constant(enum.__name__)}: readonly {enum.__name__}[] = {_json(list(enum))};"
    for struct in records:
        yield ""
        yield from _interface(struct)
    for name, members in named.items():
        yield ""
        yield f"export type {name} = {' | '.join(member.__name__ for member in members)};"


def _codes() -> Iterator[str]:
    yield ""
    yield from _doc(vocabulary.CodeInfo)
    yield "export interface CodeInfo { code_class: CodeClass; status: number; title: string; hint: string }"
    yield "export const CODES: Record<Code, CodeInfo> = {"
    yield from (f"  {code}: {_json(asdict(info))}," for code, info in vocabulary.CODES.items())
    yield "};"


def _tables() -> Iterator[str]:
    yield ""
    yield "/** The subject and the words of each kind of event; `%` stands for the thing that it is about. */"
    yield "export interface KindRow { category: Category; words: string; housekeeping: boolean; own?: string }"
    yield "export const KINDS: Record<EventKind, KindRow> = {"
    yield from (f"  {kind}: {_json(_without_empty(asdict(row)))}," for kind, row in events.KINDS.items())
    yield "};"
    yield ""
    yield "/** How a task's state is shown: every state with every reason, checked or not. */"
    yield "export interface PresentationRow {"
    yield "  state: TaskState; reason: Reason | null; checked: boolean; word: string; glyph: Glyph; tone: Tone"
    yield "}"
    yield "export const PRESENTATION: readonly PresentationRow[] = ["
    yield from (f"  {_json(row)}," for row in presentation_rows())
    yield "];"


def _without_empty(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value != ""}


def _browsers() -> Iterator[str]:
    yield ""
    yield "/** Patterns in a user agent, each with its name; the first that is found counts. */"
    for name in ("BROWSERS", "BROWSER_SYSTEMS"):
        yield f"export const {name}: readonly (readonly [pattern: string, name: string])[] = ["
        yield from (f"  {_json(row)}," for row in getattr(browsers, name))
        yield "];"


def _rights() -> Iterator[str]:
    yield ""
    yield "/** Each scope with the least role that has it, and what it allows in words. */"
    yield "export const RIGHTS: readonly (readonly [scope: string, role: Role, words: string])[] = ["
    yield from (f"  {_json(row)}," for row in rights.RIGHTS)
    yield "];"


def _controls() -> Iterator[str]:
    yield ""
    yield "/** The controls of a task that its state allows. */"
    yield "export const CONTROLS: Record<TaskState, readonly string[]> = {"
    yield from (f"  {state}: {_json(controls)}," for state, controls in vocabulary.CONTROLS.items())
    yield "};"


def _ways_back() -> Iterator[str]:
    yield ""
    yield "/** The call that takes back the work of a tool, where a task names none. */"
    yield "export const WAYS_BACK: Readonly<Record<string, UndoCall>> = {"
    for tool, call in ways_back.OF_TOOLS.items():
        yield f"  {_json(tool)}: {_json(msgspec.to_builtins(call))},"
    yield "};"


def _session() -> Iterator[str]:
    yield ""
    yield "/** Who may send which frame in which state, and the state after it; null is not legal. */"
    yield "export const SESSION_TABLE: Record<Side, Record<string, Record<State, State | null>>> = {"
    for side in session.Side:
        yield f"  {side}: {{"
        rows: dict[str, dict[str, str | None]] = {}
        for (sender, frame, state), after in session.TABLE.items():
            if sender is side:
                rows.setdefault(tag_of(frame), {})[state] = after
        yield from (f"    {tag}: {_json(row)}," for tag, row in rows.items())
        yield "  },"
    yield "};"
    yield ""
    yield "/** The words of the short authentication string, in order. */"
    yield f'export const SHORT_WORDS: readonly string[] = {_json(" ".join(WORDS))}.split(" ");'


def _phases() -> Iterator[str]:
    yield ""
    yield '/** The phases in which a task waits, with words that follow "waited" or "waits". */'
    yield "export const WAITS: Readonly<Partial<Record<Phase, string>>> = {"
    yield from (f"  {phase}: {_json(words)}," for phase, words in run_report.WAITS.items())
    yield "};"
    tables: dict[str, Mapping[Any, run_report.Phase]] = {
        "PHASE_OF_REASON": run_report.OF_REASON,
        "PHASE_OF_RUN": run_report.OF_RUN,
        "PHASE_OF_STATE": run_report.OF_STATE,
    }
    for name, table in tables.items():
        kind = type(next(iter(table)))
        yield f"export const {name}: Readonly<Partial<Record<{kind.__name__}, Phase>>> = {_json(table)};"
    for name in ("FOR_A_PERSON", "ON_A_DEVICE"):
        members: frozenset[run_report.Phase] = getattr(run_report, name)
        ordered = [phase for phase in run_report.Phase if phase in members]
        yield f"export const {name}: ReadonlySet<Phase> = new Set<Phase>({_json(ordered)});"


def _sets() -> Iterator[str]:
    for name in (
        "FINAL_TASK_STATES",
        "STARTED_TASK_STATES",
        "FINAL_GROUP_STATES",
        "FINAL_CONSTELLATION_STATES",
        "RISKY_EFFECTS",
        "REPEATABLE",
        "PERSON_ATTENTION",
    ):
        members: frozenset[StrEnum] = getattr(vocabulary, name)
        kind = type(next(iter(members)))
        ordered = [member for member in kind if member in members]
        yield ""
        yield f"export const {name}: ReadonlySet<{kind.__name__}> = new Set<{kind.__name__}>({_json(ordered)});"


def presentation_rows() -> list[dict[str, Any]]:
    """Return every (state, reason, checked) with its presentation; the page adds the numbers of attempts."""
    rows = []
    reasons: list[vocabulary.Reason | None] = [None, *vocabulary.Reason]
    for state in vocabulary.TaskState:
        for reason in reasons:
            for checked in (False, True):
                shown = presentation.presentation(state, reason, checked=checked)
                rows.append({"state": state, "reason": reason, "checked": checked, **asdict(shown)})
    return rows


def _interface(struct: type[msgspec.Struct]) -> Iterator[str]:
    config = struct.__struct_config__
    info = cast("inspect.StructType", inspect.type_info(struct))
    yield from _doc(struct)
    yield f"export interface {struct.__name__} {{"
    if config.tag is not None:
        yield f"  {config.tag_field}: {_json(config.tag)};"
    told = field_docs(struct)
    for field in info.fields:
        if field.name in told:
            yield f"  /** {told[field.name].replace('*/', '* /')} */"
        mark = "" if field.required else "?"
        yield f"  {field.encode_name}{mark}: {_type(field.type)};"
    yield "}"


def _type(kind: inspect.Type) -> str:
    match kind:
        case inspect.BoolType():
            return "boolean"
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.StrType():
            return "string"
        case inspect.NoneType():
            return "null"
        case inspect.RawType() | inspect.AnyType():
            return "unknown"
        case inspect.EnumType() | inspect.StructType():
            return kind.cls.__name__
        case inspect.ListType():
            inner = _type(kind.item_type)
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case inspect.DictType():
            return f"Record<string, {_type(kind.value_type)}>"
        case inspect.UnionType():
            # null last, as people write it; the order of the others is that of the declaration.
            parts = sorted(kind.types, key=lambda part: isinstance(part, inspect.NoneType))
            return " | ".join(_type(part) for part in parts)
        case _:
            raise TypeError(f"no TypeScript for {kind}: teach it to export._type")


def _doc(item: type) -> Iterator[str]:
    text = (item.__doc__ or "").strip()
    first = text.split("\n\n")[0].replace("\n", " ").replace("*/", "* /")
    if first and "(" not in first[: len(item.__name__) + 1]:
        yield f"/** {' '.join(first.split())} */"


def _constant(name: str) -> str:
    words = "".join(f"_{char}" if char.isupper() else char for char in name).strip("_").upper()
    return words + "_WORDS"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


# -- JSON Schema


def json_schema() -> dict[str, Any]:
    """Return one JSON Schema document with a definition for every struct and enum."""
    kinds: list[Any] = [*structs(), *enums(), frames.AgentMessage, frames.HubMessage]
    _, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    definitions = without_indentation(definitions)
    describe(definitions, kinds)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"Generated by `{_COMMAND}`; do not edit.",
        "title": "Starloom protocol, version 1",
        "$defs": dict(sorted(definitions.items())),
    }


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario of the lab; its plan is checked by the plan language, not by the schema."""
    from starloom_protocol.plan.scenario import Scenario  # Pydantic is no dependency of the protocol's other parts

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"Generated by `{_COMMAND}`; do not edit.",
        **Scenario.model_json_schema(),
    }


# -- pages

USUAL_STATUS: Final = 422
_CLASS_WORDS: Final = {
    CodeClass.TRANSIENT: "may pass",
    CodeClass.PERMANENT: "",
    CodeClass.DEVICE: "the device",
}
_ERRORS_HEAD: Final = """# Errors

Every error carries a stable code, a sentence, the place where it lies and the way out. REST gives them as
`application/problem+json` (`code`, `reason`, `hint`, `errors[]`); the command line prints them, the page shows them,
and a failed task keeps its code. This page is generated from the vocabulary (`make gen`).

Unless its row says otherwise, the same try would end the same, and the HTTP status is 422 where a request is refused
with the code. *May pass*: work that can be repeated is tried again with back-off. *The device*: such work is tried on
another one.

| code | meaning | way out | differs |
|---|---|---|---|
"""


def error_page() -> str:
    """Return `docs/errors.md`: a row for each code in the vocabulary's order, with what differs from most."""
    return _ERRORS_HEAD + "".join(_error_row(code) for code in vocabulary.Code)


def _error_row(code: vocabulary.Code) -> str:
    info = vocabulary.CODES[code]
    status = "" if info.status == USUAL_STATUS else str(info.status)
    differs = ", ".join(word for word in (_CLASS_WORDS[info.code_class], status) if word)
    cells = (f"`{code}`", info.title, info.hint.replace("|", "\\|"), differs)
    return "| " + " | ".join(cells) + " |\n"


# -- files


def generated() -> dict[Path, str]:
    """Return the text of every generated file by its place in the checkout."""
    return {
        TYPESCRIPT: typescript(),
        TAB / "protocol.ts": tab_typescript(),
        TAB / "shapes.ts": frame_shapes.typescript(_COMMAND),
        SCHEMA: json.dumps(json_schema(), indent=1, sort_keys=True, ensure_ascii=True) + "\n",
        SCENARIO: json.dumps(scenario_schema(), indent=1, sort_keys=True, ensure_ascii=True) + "\n",
        ERRORS: error_page(),
    }


def stale(root: Path) -> list[Path]:
    """Return the generated files under `root` that are stale."""
    return [
        place
        for place, text in generated().items()
        if not (root / place).is_file() or (root / place).read_text(encoding="utf-8") != text
    ]


def write(root: Path) -> list[Path]:
    """Write the files that are stale and return them."""
    written = stale(root)
    texts = generated()
    for place in written:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(texts[place], encoding="utf-8")
    return written


def main(arguments: Sequence[str]) -> int:
    """Run the command; the result is its exit code."""
    parser = argparse.ArgumentParser(prog=_COMMAND, description="Write the generated files of the protocol.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file is stale")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="the checkout")
    options = parser.parse_args(arguments)
    if options.check:
        found = stale(options.root)
        for place in found:
            sys.stderr.write(f"{place} is stale: run `make gen`\n")
        return 1 if found else 0
    for place in write(options.root):
        sys.stdout.write(f"wrote {place}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
