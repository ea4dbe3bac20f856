"""The bounds of the frames of a device: each text, list and map has one, and a frame beyond it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect
from msgspec.structs import replace

from starloom_agent.policy.approvals import _TOLD_CHARS, TOLD_MOST
from starloom_protocol.bounds import ASKS_MOST, CHARS_MOST, LEDGER_MOST
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import AGENT_FRAMES, Side, decode, encode

AT = f.LeaseRef(attempt=1, constellation="c", incarnation=1, task="t")
KNOWN = f.LedgerEntry(at=AT, state="unknown")
UNPROVED = {f.Hello, f.Prove}


def ask(**fields: str) -> OwnerAsk:
    return replace(OwnerAsk(action="a", id="q", left_s=60, tool="t.one"), **fields)


def unbounded(kind: inspect.Type, place: str) -> Iterator[str]:
    """Give the place of each text, list and map that its type does not bound."""
    bounded: Any = kind
    match kind:
        case inspect.StructType():
            for field in kind.fields:
                yield from unbounded(field.type, f"{kind.cls.__name__}.{field.name}")
        case inspect.UnionType():
            for part in kind.types:
                yield from unbounded(part, place)
        case inspect.ListType():
            yield from unbounded(kind.item_type, f"{place}.item")
        case inspect.DictType():
            yield from unbounded(kind.key_type, f"{place}.key")
            yield from unbounded(kind.value_type, f"{place}.value")
    if isinstance(kind, inspect.ListType | inspect.DictType | inspect.StrType) and bounded.max_length is None:
        yield place


def test_each_text_list_and_map_of_a_device_has_a_bound() -> None:
    proved = [frame for frame in AGENT_FRAMES if frame not in UNPROVED]
    assert [place for frame in proved for place in unbounded(inspect.type_info(frame), "")] == []


def test_a_field_without_a_bound_is_named() -> None:
    class Wide(f.Frame, frozen=True, kw_only=True, tag="wide"):
        bounded: f.LeaseRef
        rows: dict[str, list[str]]

    assert list(unbounded(inspect.type_info(Wide), "")) == [
        "Wide.rows.key",
        "Wide.rows.value.item",
        "Wide.rows.value",
        "Wide.rows",
    ]


REFUSED: list[tuple[f.Frame, str]] = [
    (
        f.AsksFrame(answers="hub", open=[ask(args="x" * (CHARS_MOST + 1))]),
        "`open[0].args` of `asks` has at most 4096 characters",
    ),
    (f.AsksFrame(answers="hub", open=[ask(), ask(id="x" * 201)]), "`open[1].id` of `asks` has at most 200 characters"),
    (f.AsksFrame(answers="hub", open=[ask(task="x" * 1_001)]), "`open[0].task` of `asks` has at most 1000 characters"),
    (f.AsksFrame(answers="hub", open=[ask()] * (ASKS_MOST + 1)), "`open` of `asks` has at most 100 entries"),
    (f.Started(at=replace(AT, task="x" * 1_001), report=1), "`at.task` of `started` has at most 1000 characters"),
    (f.LedgerReport(entries=[KNOWN] * (LEDGER_MOST + 1)), "`entries` of `ledger` has at most 1000 entries"),
    (
        f.ResultFrame(at=AT, detail="x" * 65_537, outcome=Outcome.OK, report=1),
        "`detail` of `result` has at most 65536 characters",
    ),
    (f.ConditionFrame(facts={"x" * 201: ""}), "a name in `facts` of `condition` has at most 200 characters"),
    (
        f.ConditionFrame(facts={"disk": "x" * (CHARS_MOST + 1)}),
        "a value in `facts` of `condition` has at most 4096 characters",
    ),
    (f.Started(at=replace(AT, attempt=2**53 + 1), report=1), "`at.attempt` of `started` is at most 9007199254740992"),
    (f.Started(at=replace(AT, attempt=-1), report=1), "`at.attempt` of `started` is at least 0"),
    (f.Bye(reason="x" * (CHARS_MOST + 1)), "`reason` of `bye` has at most 4096 characters"),
]


@pytest.mark.parametrize(("frame", "bound"), REFUSED)
def test_a_frame_beyond_a_bound_is_refused_by_its_place(frame: f.Frame, bound: str) -> None:
    message = encode(1, [frame], Side.AGENT)
    with pytest.raises(f.ProtocolFault) as refused:
        decode(message, Side.AGENT, authenticated=True)
    assert (refused.value.code, refused.value.reason) == (
        Code.PROTOCOL_ERROR,
        f"not a message of the agent: {bound}",
    )


def test_the_most_that_an_agent_asks_is_taken() -> None:
    assert TOLD_MOST <= ASKS_MOST
    asked = ask(action="a" * 64, args="x" * (_TOLD_CHARS + 3), task="t" * 64)
    frame = f.AsksFrame(answers="hub", open=[asked] * TOLD_MOST)
    assert decode(encode(1, [frame], Side.AGENT), Side.AGENT, authenticated=True).f == [frame]
