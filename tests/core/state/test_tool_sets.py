"""Tools that devices offer alike are one object, and nothing of them stays when the last device has gone."""

from __future__ import annotations

import msgspec

from starloom.core.state.model import ToolSets
from starloom_protocol.records.entities import Offer, ToolOffer


def offer(*names: str, title: str = "") -> Offer:
    return Offer(digest="", tools=[ToolOffer(name=name, title=title) for name in names])


def taken(sets: ToolSets, offered: Offer, device: str) -> Offer:
    shared = sets.share(offered)
    sets.take(device, shared.tools)
    return shared


def test_devices_that_offer_the_same_hold_one_list() -> None:
    sets = ToolSets()
    first, second = taken(sets, offer("a", "b"), "d1"), taken(sets, offer("a", "b"), "d2")
    assert first.tools is second.tools
    assert len(sets) == 1
    assert second == offer("a", "b")


def test_a_tool_in_two_sets_is_one_object() -> None:
    sets = ToolSets()
    first, second = taken(sets, offer("a", "b"), "d1"), taken(sets, offer("b", "c"), "d2")
    assert first.tools[1] is second.tools[0]
    assert [sorted(found) for found in sets.different()] == [["a", "b"], ["b", "c"]]


def test_a_tool_with_other_fields_is_another_tool() -> None:
    sets = ToolSets()
    first, second = taken(sets, offer("a"), "d1"), taken(sets, offer("a", title="another"), "d2")
    assert first.tools[0] != second.tools[0]
    assert second.tools[0].title == "another"
    assert len(sets) == 2


def test_sets_are_forgotten_with_their_last_device() -> None:
    sets = ToolSets()
    first, second, third = (
        taken(sets, offer("a", "b"), "d1"),
        taken(sets, offer("a", "b"), "d2"),
        taken(sets, offer("b"), "d3"),
    )
    assert first.tools is second.tools
    sets.leave("d1")
    assert len(sets) == 2
    sets.leave("d2")
    assert [list(found) for found in sets.different()] == [["b"]]
    assert taken(sets, offer("b", "c"), "d4").tools[0] is third.tools[0]
    sets.leave("d3")
    sets.leave("d4")
    assert len(sets) == 0
    assert list(sets.different()) == []


def test_a_device_without_an_offer_leaves_nothing() -> None:
    sets = ToolSets()
    taken(sets, offer("a"), "d1")
    sets.leave("d2")
    assert len(sets) == 1


def test_a_new_offer_of_a_device_takes_the_place_of_its_last_one() -> None:
    sets = ToolSets()
    first = taken(sets, offer("a"), "d1")
    assert taken(sets, offer("a"), "d1").tools is first.tools
    assert list(sets.offering("a")) == ["d1"]
    taken(sets, offer("b"), "d1")
    assert [sorted(found) for found in sets.different()] == [["b"]]
    assert list(sets.offering("a")) == []


def test_the_devices_of_a_tool_are_those_of_each_set_that_has_it() -> None:
    sets = ToolSets()
    taken(sets, offer("a", "b"), "d1")
    taken(sets, offer("b"), "d2")
    taken(sets, offer("c"), "d3")
    assert sorted(sets.offering("b")) == ["d1", "d2"]
    assert sorted(sets.offering("c")) == ["d3"]
    sets.leave("d1")
    assert sorted(sets.offering("b")) == ["d2"]
    assert list(sets.offering("a")) == []


def test_everything_is_forgotten_at_once() -> None:
    sets = ToolSets()
    taken(sets, offer("a"), "d1")
    sets.clear()
    assert len(sets) == 0
    assert list(sets.offering("a")) == []


def test_a_set_can_be_taken_without_being_shared_first() -> None:
    sets = ToolSets()
    assert list(sets.take("d1", offer("a").tools)) == ["a"]
    again = msgspec.json.decode(msgspec.json.encode(offer("a")), type=Offer)
    assert list(sets.take("d2", again.tools)) == ["a"]
    sets.leave("d1")
    assert len(sets) == 1
    sets.leave("d2")
    assert len(sets) == 0
