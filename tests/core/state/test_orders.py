"""Orders in the outbox: a hub carries out those that an earlier one has left there."""

from __future__ import annotations

import msgspec
import pytest

from starloom.core.state.orders import OutboxOrder, SendDispatch
from tests.builders import Driver, plan, task

EARLIEST = (
    '{"k":"dispatch","after":"commit","args":"{}","at":{"constellation":"c","task":"a","attempt":1,"incarnation":1},'
    '"attempt_of_max":3,"device":"d-one","fence_after_ms":13000,"repeatability":"pure","start_to_close_s":60,"tool":"t"}'
)


@pytest.fixture
def decoder() -> msgspec.json.Decoder[OutboxOrder]:
    return msgspec.json.Decoder(OutboxOrder)


def test_a_dispatch_that_an_earlier_hub_has_ordered_is_carried_out(decoder: msgspec.json.Decoder[OutboxOrder]) -> None:
    found = decoder.decode(EARLIEST)
    assert isinstance(found, SendDispatch)
    assert (found.device, found.fence_after_ms, found.patience_most_ms) == ("d-one", 13_000, 0)


def test_a_dispatch_is_read_as_it_was_written(decoder: msgspec.json.Decoder[OutboxOrder]) -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    (ordered,) = driver.take()
    assert ordered.patience_most_ms > 0
    assert decoder.decode(msgspec.json.encode(ordered)) == ordered
