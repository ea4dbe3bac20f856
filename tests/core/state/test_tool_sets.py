"""Tools that devices offer alike are one object, and nothing of them stays when the last device has gone."""

from __future__ import annotations

import msgspec

from starloom.core.state.tool_sets import ToolSets
from starloom_protocol.records.entities import Offer, ToolOffer


def offer(*names: str, title: str = "") -> Offer:
    return Offer(digest="", tools=[ToolOffer(name=name, title=title) for name in names])


def taken(sets: ToolSets, offered: Offer) -> Offer:
    shared = sets.share(offered)
    sets.take(shared.tools)
    return shared


def test_devices_that_offer_the_same_hold_one_list() -> None:
    sets = ToolSets()
    first, second = taken(sets, offer("a", "b")), taken(sets, offer("a", "b"))
    assert first.tools is second.tools
    assert len(sets) == 1
    assert second == offer("a", "b")


def test_a_tool_in_two_sets_is_one_object() -> None:
    sets = ToolSets()
    first, second = taken(sets, offer("a", "b")), taken(sets, offer("b", "c"))
    assert first.tools[1] is second.tools[0]
    assert [sorted(found) for found in sets.different()] == [["a", "b"], ["b", "c"]]


def test_a_tool_with_other_fields_is_another_tool() -> None:
    sets = ToolSets()
    first, second = taken(sets, offer("a")), taken(sets, offer("a", title="another"))
    assert first.tools[0] != second.tools[0]
    assert second.tools[0].title == "another"
    assert len(sets) == 2


def test_sets_are_forgotten_with_their_last_device() -> None:
    sets = ToolSets()
    first, second, third = taken(sets, offer("a", "b")), taken(sets, offer("a", "b")), taken(sets, offer("b"))
    sets.leave(first.tools)
    assert len(sets) == 2
    sets.leave(second.tools)
    assert [list(found) for found in sets.different()] == [["b"]]
    assert taken(sets, offer("b", "c")).tools[0] is third.tools[0]
    sets.leave(third.tools)
    sets.leave(offer("b", "c").tools)
    assert len(sets) == 0
    assert list(sets.different()) == []


def test_an_offer_that_was_never_taken_leaves_nothing() -> None:
    sets = ToolSets()
    taken(sets, offer("a"))
    sets.leave(offer("b").tools)
    assert len(sets) == 1


def test_everything_is_forgotten_at_once() -> None:
    sets = ToolSets()
    taken(sets, offer("a"))
    sets.clear()
    assert len(sets) == 0


def test_a_set_can_be_taken_without_being_shared_first() -> None:
    sets = ToolSets()
    assert list(sets.take(offer("a").tools)) == ["a"]
    assert list(sets.take(msgspec.json.decode(msgspec.json.encode(offer("a")), type=Offer).tools)) == ["a"]
    sets.leave(offer("a").tools)
    assert len(sets) == 1
    sets.leave(offer("a").tools)
    assert len(sets) == 0
