"""The read model of the fleet: what it keeps of all devices follows each change, and costs a question nothing again."""

from __future__ import annotations

from collections import Counter

from msgspec import Raw

from starloom.edge.live.views import FleetView
from starloom.planner.equivalents import equivalents
from starloom.planner.fleet import FleetSnapshot, LatestSnapshot
from starloom.planner.recipes.catalogue import Catalogue
from starloom.planner.service import Planning
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Device, Offer, ToolOffer, encode_entity
from starloom_protocol.records.fleet import Pace
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET, Event
from starloom_protocol.vocabulary import DeviceLink, Repeatability
from tests.cost import calls

TOOLS = [
    ToolOffer(name="csv.read", repeatability=Repeatability.PURE),
    ToolOffer(name="db.read", repeatability=Repeatability.PURE, stands_for="csv.read"),
]
PLAN = {"starloom": 1, "name": "p", "tasks": [{"id": "a", "tool": "csv.read", "device": {"name": "n1"}}]}


def device(number: int, *, name: str = "", link: DeviceLink = DeviceLink.ONLINE, revoked: bool = False) -> Device:
    called = name or f"n{number}"
    return Device(id=f"d-{number}", name=called, key="k", joined_ms=0, link=link, session=1, revoked=revoked)


class Feed:
    """A view and the events that it is fed with."""

    def __init__(self, devices: int) -> None:
        self.view = FleetView()
        self.latest = LatestSnapshot(self.view, {})
        self._seq = 0
        for number in range(devices):
            self.put(f"device/d-{number}", encode_entity(device(number)))
            self.put(f"offer/d-{number}", encode_entity(Offer(digest="x", tools=TOOLS)))

    def put(self, key: str, raw: bytes | None) -> None:
        self._seq += 1
        kind, puts = EventKind.DEVICE_ONLINE, {key: None if raw is None else Raw(raw)}
        self.view.apply(Event(at_ms=0, by="engine", kind=kind, puts=puts, seq=self._seq, stream=FLEET))

    def device(self, number: int, **fields: object) -> None:
        self.put(f"device/d-{number}", encode_entity(device(number, **fields)))  # type: ignore[arg-type]

    def follows(self) -> None:
        """What is kept is what the entities give."""
        view, here = self.view, [one for one in self.view.devices.values() if not one.revoked]
        assert set(view.names()) == {name for one in here for name in (one.name, one.id, *one.former_names)}
        assert {link: count for link, count in view.by_link().items() if count} == Counter(one.link for one in here)
        made = equivalents(view.devices, view.offers)
        assert {pair: [one.name for one in found] for pair, found in view.equivalents().items()} == {
            pair: [one.name for one in found] for pair, found in made.items()
        }
        seen, fresh = self.latest(), FleetSnapshot.of(view.devices, view.offers, paces=view.paces)
        assert seen == fresh
        assert seen.by_name == fresh.by_name
        assert seen.able(["csv.read"]) == fresh.able(["csv.read"])
        assert bool(seen.able_now("db.read")) == any(one.can_now(("db.read",)) for one in fresh.devices)
        assert seen.known_tools() == fresh.known_tools()


def test_what_is_kept_of_all_devices_follows_each_change() -> None:
    feed = Feed(3)
    feed.follows()
    assert [one.name for one in feed.view.equivalents()["csv.read", "db.read"]] == ["n0", "n1", "n2"]
    feed.device(1, link=DeviceLink.OFFLINE)
    feed.follows()
    feed.device(1, name="other")
    feed.follows()
    feed.device(2, revoked=True)
    feed.follows()
    feed.put("offer/d-0", encode_entity(Offer(digest="y", tools=TOOLS[:1])))
    feed.follows()
    assert [one.name for one in feed.view.equivalents()["csv.read", "db.read"]] == ["other"]
    feed.put("offer/d-1", None)
    feed.follows()
    feed.put("device/d-1", None)
    feed.follows()
    feed.put("pace/p", encode_entity(Pace(device="d-0", last_ms=0, tool="csv.read")))
    feed.follows()
    feed.view.reset(0, {"device/d-7": encode_entity(device(7))})
    feed.follows()


def test_a_snapshot_stays_as_it_was_taken() -> None:
    feed = Feed(2)
    before = feed.latest()
    feed.device(1, name="other")
    feed.put("pace/p", encode_entity(Pace(device="d-0", last_ms=0, tool="csv.read")))
    assert [one.name for one in before.devices] == ["n0", "n1"]
    assert "other" not in before.by_name
    assert not before.paces


def submission(feed: Feed) -> None:
    """Look whether a plan can begin, as each submission does, after a task of another has ended and left its pace."""
    feed.put("pace/p", encode_entity(Pace(device="d-0", last_ms=0, tool="csv.read")))
    assert Planning(Catalogue([]), feed.latest).unable(_lowered()) == []


def _lowered() -> LoweredPlan:
    made = check_plan(PLAN, known_devices=["n1"])
    assert made.plan is not None, made.faults
    return made.plan


def test_a_submission_costs_as_much_beside_many_devices() -> None:
    small, large = Feed(3), Feed(300)
    for feed in (small, large):
        submission(feed)
    assert calls(lambda: submission(large)) == calls(lambda: submission(small))


def test_a_plan_is_checked_beside_many_devices_as_beside_few() -> None:
    def check(view: FleetView) -> None:
        names, tools, signatures = view.names(), view.known_tools(), view.signatures()
        made = check_plan(PLAN, known_devices=names, known_tools=tools, known_signatures=signatures)
        assert made.plan is not None, made.faults
        assert view.equivalents()
        assert view.by_link()[DeviceLink.ONLINE] == len(view.devices)

    small, large = Feed(3).view, Feed(300).view
    for view in (small, large):
        check(view)
    assert calls(lambda: check(large)) == calls(lambda: check(small))


def test_a_device_is_found_by_its_name_with_an_accent_apart_from_its_letter() -> None:
    fleet = Feed(1)
    fleet.device(0, name="p\u00e9lican")
    found = fleet.view.device("pe\u0301lican")
    assert found is not None
    assert found.name == "p\u00e9lican"
