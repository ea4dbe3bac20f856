"""Events keep their bytes, folding puts and removes, the hash of a state does not depend on its order."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_protocol.stream.feed import Event, decode_event, encode_event, entity_digest, fold, state_hash

KEYS = st.sampled_from(["head", "task/a", "task/b", "item/f/0"])
PUTS = st.dictionaries(KEYS, st.none() | st.integers().map(lambda n: msgspec.Raw(b'{"n":%d}' % n)), max_size=4)


def event(seq: int, puts: dict[str, msgspec.Raw | None]) -> Event:
    return Event(at_ms=1, by="engine", kind="x", puts=puts, seq=seq, stream="c1")


@given(st.lists(PUTS, max_size=6))
def test_folding_is_the_last_put_of_each_key(all_puts: list[dict[str, msgspec.Raw | None]]) -> None:
    events = [event(seq, puts) for seq, puts in enumerate(all_puts, 1)]
    read = [decode_event(encode_event(item)) for item in events]
    expected: dict[str, bytes] = {}
    for puts in all_puts:
        for key, raw in puts.items():
            expected.pop(key, None)
            if raw is not None:
                expected[key] = bytes(raw)
    assert fold({}, read) == expected
    assert state_hash(expected) == state_hash(dict(reversed(expected.items())))
    assert [encode_event(item) for item in read] == [encode_event(item) for item in events]


def test_the_hash_binds_key_and_bytes() -> None:
    assert state_hash({}) == "0" * 64
    assert state_hash({"a": b"1"}) != state_hash({"a": b"2"}) != state_hash({"b": b"2"})
    assert int(state_hash({"a": b"1", "b": msgspec.Raw(b"2")}), 16) == (
        entity_digest("a", b"1") + entity_digest("b", b"2")
    ) % (1 << 256)


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_event(b'{"seq":1}')
