"""Records: fields in alphabetical order, canonical bytes, strict decoding, identities of dependencies."""

from __future__ import annotations

import msgspec
import pytest

from starloom_protocol.records import access, edits, entities, record, schedules
from starloom_protocol.records.entities import (
    KINDS,
    Condition,
    Dependency,
    Item,
    Offer,
    Policy,
    TaskSpec,
    Timeouts,
    decode_entity,
    dependency_id,
    encode_entity,
    kind_of,
)
from starloom_protocol.stream import feed
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Gate, Op
from starloom_protocol.wire import frames

STRUCTS = [
    item
    for module in (record, access, schedules, entities, feed, frames, edits)
    for item in vars(module).values()
    if isinstance(item, type) and issubclass(item, msgspec.Struct) and item.__module__ == module.__name__
]


@pytest.mark.parametrize("record", [item for item in STRUCTS if issubclass(item, entities.Record | edits.LoweredPlan)])
def test_fields_stand_in_alphabetical_order(record: type[msgspec.Struct]) -> None:
    names = list(record.__struct_fields__)
    assert names == sorted(names)


@pytest.mark.parametrize("struct", STRUCTS)
def test_every_public_struct_is_frozen(struct: type[msgspec.Struct]) -> None:
    assert struct.__struct_config__.frozen or struct.__name__.startswith("_")


@pytest.mark.parametrize("record", [item for item in STRUCTS if issubclass(item, entities.Record)])
def test_state_holds_no_floats(record: type[entities.Record]) -> None:
    assert "'type': 'number'" not in str(msgspec.json.schema(record))


def test_bytes_are_canonical_and_defaults_left_out() -> None:
    spec = TaskSpec(changed_in=1, id="a", tool="fs.find", timeouts=Timeouts(start_to_close_s=9), optional=True)
    raw = encode_entity(spec)
    assert raw == b'{"changed_in":1,"id":"a","optional":true,"timeouts":{"start_to_close_s":9},"tool":"fs.find"}'
    assert canonical(msgspec.json.decode(raw)).encode() == raw
    assert decode_entity("spec/a", raw) == spec
    assert encode_entity(decode_entity("spec/a", raw)) == raw


def test_maps_are_sorted() -> None:
    device = entities.Device(id="d", joined_ms=1, key="k", name="n", condition={"b": "1", "a": "2"})
    assert b'{"a":"2","b":"1"}' in encode_entity(device)


def test_the_key_names_the_kind() -> None:
    assert kind_of("head") == "head"
    assert kind_of("dep/a>b:success") == "dep"
    assert decode_entity("item/f/0", msgspec.Raw(b'{"key":"0","value":"1"}')) == Item(key="0", value="1")
    assert set(KINDS.values()) == set(entities.Entity.__args__)
    with pytest.raises(KeyError):
        decode_entity("nothing/1", b"{}")


@pytest.mark.parametrize("raw", [b"{}", b'{"key":"0","value":"1","x":1}', b'{"key":0,"value":"1"}', b"[]", b"null"])
def test_decoding_is_strict(raw: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_entity("item/f/0", raw)


def test_identity_of_dependencies() -> None:
    def made(gate: Gate, name: str | None = None, pointer: str | None = None) -> str:
        condition = None if pointer is None else Condition(op=Op.EMPTY, output=pointer)
        return dependency_id(
            Dependency(changed_in=1, condition=condition, gate=gate, input=name, source="a", target="b")
        )

    assert made(Gate.SUCCESS) == "a>b:success"
    assert made(Gate.DATA, name="rows") == "a>b:rows"
    assert made(Gate.DATA) == "a>b:"
    assert made(Gate.OUTPUT, pointer="/n") == "a>b:output:/n"


def test_edits_round_trip_by_their_word() -> None:
    operation = edits.SetPolicy(policy=Policy(partial=True))
    raw = msgspec.json.encode([operation])
    assert raw == b'[{"op":"set_policy","policy":{"partial":true}}]'
    assert msgspec.json.decode(raw, type=list[edits.EditOperation]) == [operation]


def test_an_offer_that_an_earlier_hub_kept_beyond_a_bound_of_today_counts_as_none() -> None:
    """A hub starts with every history that a hub has written."""
    long = msgspec.json.encode(Offer(digest="d", facts={"note": "x" * 100_000}))
    assert decode_entity("offer/d-1", long) == Offer(digest="")
    with pytest.raises(msgspec.DecodeError):
        decode_entity("offer/d-1", b'{"digest": ')
