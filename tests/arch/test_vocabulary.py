"""No dead vocabulary: each word of an enum, frame, input, effect or event kind is made and read by product code."""

from __future__ import annotations

import ast
import typing

import pytest

from starloom.core.state import inputs, orders
from starloom_protocol.stream.events import KINDS, Category, EventKind
from starloom_protocol.wire import frames
from tests.arch.shape import bare_kinds, hub_modules
from tests.arch.usage import Uses, calls, count, in_script, looked_up, names, uses, vocabularies

FROM_OUTSIDE = {
    "Approval": "a plan says it",
    "CatchUp": "a person chooses it for a schedule",
    "FaultKind": "who asks the lab for a fault says it",
    "FaultTarget": "who asks the lab for a fault says it",
    "Gate": "a plan says it",
    "Need": "a plan says it",
    "NotifyWhen": "a person chooses it for a schedule",
    "Op": "a plan says it",
    "Overlap": "a person chooses it for a schedule",
    "PrincipalKind": "who adds a principal says it",
    "Priority": "a person or a plan says it",
    "Purpose": "a recipe says it",
    "Repeatability": "a plan or an offer says it",
    "Role": "who adds a principal says it",
    "Sharing": "the owner and the person who asks choose it",
}
"""Vocabularies whose words come in as text: what is asked of product code is that it reads each."""

ONLY_GIVEN = {
    "Act": "the table of guards says it of each frame, and the tests of rights walk that table",
    "Category": "people filter the record of activity by it",
    "EventKind": "the log has it, and people read the words of its row",
    "Exit": "the exit code of a command; shells read it",
    "Scope": "a token's scopes are compared with the one that its route names",
}
"""Vocabularies of which nothing asks for a single word."""

NOT_MADE = {
    "AttemptEnd.REFUSED": "converted from the outcome of the same name",
    "Code.DISK_EXCEEDED": "sandbox/quota.py runs inside the cage, knows no package, and says it as text",
    "CodeClass.DEVICE": "said in the table of codes as text",
    "CodeClass.PERMANENT": "said in the table of codes as text",
    "CodeClass.TRANSIENT": "said in the table of codes as text",
    "EventKind.GROUP_FAILED": "named by the state in which the group ends",
    "EventKind.GROUP_SKIPPED": "named by the state in which the group ends",
    "EventKind.GROUP_SUCCEEDED": "named by the state in which the group ends",
    "Layer.BUBBLEWRAP": "the trial of the cage walks all layers",
    "Layer.LANDLOCK": "the trial of the cage walks all layers",
    "Layer.NAMESPACES": "the trial of the cage walks all layers",
}
NOT_READ = {
    "Door.PROOF": "the way in that is left when a door is none of the others",
    "Door.TICKET": "the way in that is left when a door is none of the others",
    "Reason.MAY_HAVE_HAPPENED": "shown with its task as it stands, in the words of its state",
    "Wire.OPENAI": "the wire that is spoken when it is not the other",
}
STRUCTS_NOT_MADE = {
    "Ping": "for agents and hubs of other make, which may ask whether the other end is there; both of ours answer",
}

AGENT, HUB, TAB, PAGE = "device_agents/starloom_agent", "backend/starloom", "device_agents/browser/src", "frontend/src"
FACTS = "DeviceFact"
"""A vocabulary of keys: a device puts a fact under its word, the hub looks it up by the same."""

WORDS = [f"{name}.{member}" for name, members in vocabularies().items() if name != FACTS for member in members]
STRUCTS = {
    "frame": [kind for side in (frames.AgentFrame, frames.HubFrame) for kind in typing.get_args(side)],
    "input": list(typing.get_args(inputs.AnyInput)),
    "effect": list(typing.get_args(orders.AnyOrder)),
}


def is_made(word: str) -> bool:
    name, member = word.split(".")
    return bool(uses().made[name, member])


def is_read(word: str) -> bool:
    name, member = word.split(".")
    if uses().read[name, member]:
        return True
    exported = vocabularies("protocol")
    return name in exported and in_script(str(exported[name][member]))


def test_a_use_is_told_from_a_mention() -> None:
    found = Uses()
    source = """
from starloom_protocol.vocabulary import TaskState as S, Reason
T = S
WORDS = {Reason.HELD: "held"}
FINAL = frozenset({S.FAILED})
def move(record):
    if record.state is T.READY or record.state in (S.WAITING, S.UNKNOWN):
        return replace(record, state=T.RUNNING)
    match record.state:
        case S.LEASED:
            return {"x": S.SKIPPED}
"""
    count(read(one=source)["one"], found)
    assert {member for _, member in found.read} == {"HELD", "FAILED", "READY", "WAITING", "UNKNOWN", "LEASED"}
    assert {member for _, member in found.made} == {"RUNNING", "SKIPPED"}


def test_every_word_of_an_enum_is_made() -> None:
    dead = [word for word in WORDS if not is_made(word) and word.split(".")[0] not in FROM_OUTSIDE]
    assert sorted(set(dead) - NOT_MADE.keys()) == [], "no product code makes it: send it, or take it out"
    assert sorted(NOT_MADE.keys() - set(dead)) == [], "this exception is not needed any more"


def test_every_word_of_an_enum_is_read() -> None:
    dead = [word for word in WORDS if not is_read(word) and word.split(".")[0] not in ONLY_GIVEN]
    assert sorted(set(dead) - NOT_READ.keys()) == [], "no product code reads it: use it, or take it out"
    assert sorted(NOT_READ.keys() - set(dead)) == [], "this exception is not needed any more"


def test_the_vocabularies_with_an_exception_exist() -> None:
    assert (FROM_OUTSIDE.keys() | ONLY_GIVEN.keys() | {FACTS}) - vocabularies().keys() == set()
    assert FROM_OUTSIDE.keys() & ONLY_GIVEN.keys() == set()


@pytest.mark.parametrize(("member", "fact"), vocabularies()[FACTS].items())
def test_every_fact_of_a_device_is_told_and_used(member: str, fact: str) -> None:
    told = member in names(AGENT, of=FACTS) or in_script(fact, TAB)
    assert told, f"neither the agent nor the tab tells {fact}"
    assert member in names(HUB, of=FACTS) or in_script(fact, PAGE), f"neither the hub nor the page looks at {fact}"


@pytest.mark.parametrize("kind", STRUCTS)
def test_every_struct_is_made_and_read(kind: str) -> None:
    made, tables = calls(), looked_up(AGENT, HUB, "protocol/starloom_protocol/wire/session.py")
    unmade, unread = [], []
    for struct in dict.fromkeys(STRUCTS[kind]):
        name, tag = struct.__name__, str(struct.__struct_config__.tag)
        if not made[name] and not (kind == "frame" and in_script(tag, TAB)):
            unmade.append(name)
        if name not in tables and not (kind == "frame" and in_script(tag, TAB)):
            unread.append(name)
    assert [name for name in unmade if name not in STRUCTS_NOT_MADE] == [], f"no product code makes this {kind}"
    assert unread == [], f"no product code takes this {kind}"


def test_every_kind_of_event_has_words_and_a_subject() -> None:
    assert [kind for kind in EventKind if kind not in KINDS] == [], "write its words in `KINDS`"
    assert set(KINDS) == set(EventKind)
    assert [kind for kind, row in KINDS.items() if not row.words] == []
    assert [kind for kind, row in KINDS.items() if row.category is Category.OTHER and not row.housekeeping] == []


def test_no_event_is_emitted_by_a_text() -> None:
    assert bare_kinds(hub_modules()) == []


def read(**sources: str) -> dict[str, list[ast.AST]]:
    return {name: [*ast.walk(ast.parse(text))] for name, text in sources.items()}


@pytest.mark.parametrize(
    "call",
    [
        "work.emit(stream, 'started', 'x', [])",
        "case.emit('started', record)",
        "begin(work, 'started' if now else 'paused')",
        "begin(work, kind='started')",
        "Drafted(1, 'started')",
        "Event(kind='started')",
    ],
)
def test_each_way_to_make_an_event_is_seen(call: str) -> None:
    ways = """
class Work:
    def emit(self, stream: Stream, kind: EventKind, about: str) -> None: ...
class Case:
    def emit(self, kind: EventKind, record: Record) -> None: ...
class Drafted:
    seq: int
    kind: EventKind
def begin(work: Work, kind: EventKind | None) -> None: ...
"""
    assert bare_kinds(read(ways=ways, hub=call))[:1] == ["hub:1 'started'"]
    by_member = call.replace("'started'", "EventKind.STARTED").replace("'paused'", "kind")
    assert bare_kinds(read(ways=ways, hub=by_member)) == []
