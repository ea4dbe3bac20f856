"""The bounds of the frames of a device: each text, list and map has one, and a frame beyond it is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec import inspect
from msgspec.structs import replace

from starloom.edge.agents.aip import Connection
from starloom.edge.agents.frame_bounds import ASKS_MOST, BOUNDS, CHARS_MOST, LEDGER_MOST, frame_fault
from starloom_agent.policy.approvals import _TOLD_CHARS, TOLD_MOST
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import tag_of
from tests.edge.world import World, settle
from tests.protocol import frames_sample

AT = f.LeaseRef(attempt=1, constellation="c", incarnation=1, task="t")


def ask(**fields: str) -> OwnerAsk:
    return replace(OwnerAsk(action="a", id="q", left_s=60, tool="t.one"), **fields)


def unbounded(kind: inspect.Type, place: str) -> Iterator[str]:
    """Give the place of each text, list and map that its own type does not bound."""
    match kind:
        case inspect.StructType():
            for field in kind.fields:
                yield from unbounded(field.type, f"{kind.cls.__name__}.{field.name}")
        case inspect.UnionType():
            for part in kind.types:
                yield from unbounded(part, place)
        case inspect.ListType():
            yield place
            yield from unbounded(kind.item_type, f"{place}.item")
        case inspect.DictType():
            yield place
            yield from unbounded(kind.key_type, f"{place}.key")
            yield from unbounded(kind.value_type, f"{place}.value")
        case inspect.StrType() if kind.max_length is None:
            yield place


def test_each_text_list_and_map_of_a_device_has_a_bound() -> None:
    """A new field without one is a KeyError in the hub; this names it before."""
    found = {place for frame in Connection.handlers for place in unbounded(inspect.type_info(frame), "")}
    assert found == set(BOUNDS)


REFUSED: dict[str, f.Frame] = {
    "OwnerAsk.args": f.AsksFrame(answers="hub", open=[ask(args="x" * (CHARS_MOST + 1))]),
    "OwnerAsk.id": f.AsksFrame(answers="hub", open=[ask(id="x" * 201)]),
    "OwnerAsk.task": f.AsksFrame(answers="hub", open=[ask(task="x" * 1_001)]),
    "AsksFrame.open": f.AsksFrame(answers="hub", open=[ask()] * (ASKS_MOST + 1)),
    "LeaseRef.task": f.Started(at=replace(AT, task="x" * 1_001), report=1),
    "LedgerReport.entries": f.LedgerReport(entries=[f.LedgerEntry(at=AT, state="unknown")] * (LEDGER_MOST + 1)),
    "ResultFrame.detail": f.ResultFrame(at=AT, detail="x" * 65_537, outcome="ok", report=1),  # type: ignore[arg-type]
    "ConditionFrame.facts.key": f.ConditionFrame(facts={"x" * 201: ""}),
    "Bye.reason": f.Bye(reason="x" * (CHARS_MOST + 1)),
}


@pytest.mark.parametrize("place", REFUSED)
async def test_a_frame_beyond_a_bound_ends_the_connection(world: World, place: str) -> None:
    frame = REFUSED[place]
    assert frame_fault(frame) == f"`{tag_of(frame)}`: {place} has more than {BOUNDS[place]}"
    liar = await world.online("liar")
    await liar.send(frame)
    await settle()
    assert world.hub.fleet.devices[liar.id].link == "offline"


def test_the_most_that_an_agent_asks_is_taken() -> None:
    assert TOLD_MOST <= ASKS_MOST
    asked = ask(action="a" * 64, args="x" * (_TOLD_CHARS + 3), task="t" * 64)
    assert frame_fault(f.AsksFrame(answers="hub", open=[asked] * TOLD_MOST)) == ""


def test_a_frame_of_each_kind_is_taken() -> None:
    samples = [frame for frame in frames_sample.AGENT if type(frame) in Connection.handlers]
    assert {type(frame) for frame in samples} == set(Connection.handlers)
    assert [fault for frame in samples if (fault := frame_fault(frame))] == []
