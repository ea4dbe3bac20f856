"""The work of a decision follows the devices that it is about, however many others the fleet has; counted in calls."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from starloom.core.placement.feasible import capable
from starloom.core.placement.finish import paced_of
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.core.state.model import Demand, Shard
from starloom.core.state.task_needs import Needs
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom_protocol.records.access import Secret
from starloom_protocol.records.entities import Device, Enrollment, Offer, OtherCall, Policy, Selector, ToolOffer
from starloom_protocol.records.fleet import Pace
from starloom_protocol.vocabulary import Approval, DeviceFact, DeviceLink, Profile
from tests.builders import TOOLS, Driver, plan, task
from tests.cost import calls

OTHER_TOOLS = [ToolOffer(name="t.other")]
CHARGED = {DeviceFact.BATTERY.value: "80"}
UNASKED = Policy(approval=Approval.NEVER)


def fleet(others: int, tools: list[ToolOffer]) -> Driver:
    """Return two devices with one slot each and the test tools, and others of which each has a slot."""
    driver = Driver("one", "two", slots=1, whole=False)
    for number in range(others):
        driver.add_device(f"other{number:03d}", slots=1, tools=tools)
    return driver


def cost(driver: Driver, item: Any) -> int:
    """Return the calls of one step and of all that follows from it."""
    item = msgspec.structs.replace(item, at_ms=driver.now_ms)

    def one() -> None:
        work = Work(driver.shard)
        step(work, item)
        for event in work.events:
            event.encoded()
        driver.shard.journal.clear()

    return calls(one)


def request(*parts: Any) -> i.RequestReceived:
    return i.RequestReceived(id="r", by="person:ann", constellation="c1", plan=plan(*parts, policy=UNASKED))


@pytest.mark.parametrize("any_of", [[], [OtherCall(tool="t.never")]], ids=["one call", "other calls"])
def test_a_plan_costs_the_same_beside_devices_that_do_not_offer_its_tools(any_of: list[OtherCall]) -> None:
    made = [task(f"t{number}", device=None, any_of=any_of) for number in range(20)]
    small, large = (cost(fleet(others, OTHER_TOOLS), request(*made)) for others in (3, 300))
    assert large == small


def test_a_result_costs_the_same_while_tasks_wait_beside_devices_that_do_not_offer_their_tool() -> None:
    found = []
    for others in (3, 300):
        driver = fleet(others, OTHER_TOOLS)
        driver.submit(plan(*(task(f"t{number}", device=None) for number in range(20)), policy=UNASKED))
        ends = driver.take()[0]
        found.append(calls(lambda driver=driver, ends=ends: driver.result(ends, 1)))  # type: ignore[misc]
    assert found[0] == found[1]


@pytest.mark.parametrize("tools", [OTHER_TOOLS, TOOLS], ids=["without the tool", "with the tool"])
def test_a_change_of_one_device_looks_at_no_other_while_tasks_wait(tools: list[ToolOffer]) -> None:
    found = []
    for others in (3, 300):
        driver = fleet(others, tools)
        driver.submit(plan(*(task(f"t{number}", device=None) for number in range(others + 10)), policy=UNASKED))
        change = i.ConditionReceived(id="x", by="device:d-two", device="d-two", session=1, facts=CHARGED)
        found.append(cost(driver, change))
    assert found[0] == found[1]


def test_a_device_joins_and_connects_at_the_same_cost_beside_any_number_of_others() -> None:
    found = []
    for others in (3, 300):
        driver = fleet(others, TOOLS)
        code = Enrollment(
            code_hash="h", created_ms=0, devices=500, expires_ms=2**50, id="e", owner="p", preapproved=True
        )
        driver.do(i.EnrollmentOpened(id="o", by="person:ann", enrollment=code))
        for number in range(others):
            driver.do(joining(f"d-early{number}", f"early{number}"))
        connecting = i.DeviceConnected(id="c", by="device:d-new", device="d-new", instance="x", ledger="l", version="1")
        found.append([cost(driver, joining("d-new", "new")), cost(driver, connecting)])
    assert found[0] == found[1]


def joining(identity: str, name: str) -> i.EnrollmentAsked:
    return i.EnrollmentAsked(
        by=f"device:{identity}",
        device=identity,
        enrollment="e",
        id=identity,
        key="k",
        name=name,
        os="linux",
        profile=Profile.OBSERVE,
        words="w",
    )


SELECTORS = [Selector(), Selector(labels=["lab"]), Selector(name="n1"), Selector(any=[Selector(os="macos")])]


def change(shard: Shard, chance: random.Random) -> None:
    """Change, add or take away one device, its offer, a pace or a secret, as no step would in this order."""
    fleet, access = shard.fleet, shard.access
    identity = f"d{chance.randrange(12)}"
    kind = chance.choice(["device", "device", "device", "offer", "offer", "pace", "secret", "gone"])
    if kind == "gone":
        put(shard, fleet, "offer", identity, None)
        put(shard, fleet, "device", identity, None)
        return
    if kind == "secret":
        kept = Secret(by="p", cipher="", created_ms=0, name="s", set_ms=0, version=access.secrets_revision)
        put(
            shard,
            access,
            "secret",
            "s",
            chance.choice([None, kept, msgspec.structs.replace(kept, devices=["d1", "d2"])]),
        )
        return
    if kind == "pace":
        count = chance.randrange(6)
        row = Pace(device=identity, tool="t.pure", last_ms=0, count=count, logs=count * chance.randrange(9000, 20000))
        put(shard, fleet, "pace", f"t.pure/{identity}/0", chance.choice([row, row, row, None]))
        return
    if kind == "offer":
        tools = [chance.choice(TOOLS[:1]), *chance.choice([[], TOOLS[1:]])]
        tools = [msgspec.structs.replace(tool, unavailable=chance.choice([None, None, "no"])) for tool in tools]
        offer = Offer(digest="x", slots=chance.randrange(1, 4), tools=chance.choice([tools, tools, OTHER_TOOLS]))
        put(shard, fleet, "offer", identity, fleet.tool_sets.share(offer))
        return
    condition = chance.choice([{}, {DeviceFact.OWNER_PRESENT.value: "true"}, {DeviceFact.BATTERY.value: "50"}])
    device = Device(
        id=identity,
        name=f"n{chance.randrange(12)}",
        key="k",
        joined_ms=0,
        session=1,
        condition=condition,
        demo=chance.random() < 0.2,
        draining=chance.random() < 0.1,
        labels=chance.choice([[], ["lab"]]),
        link=chance.choice([DeviceLink.ONLINE, DeviceLink.ONLINE, DeviceLink.OFFLINE]),
        os=chance.choice(["linux", "macos"]),
        revoked=chance.random() < 0.1,
    )
    put(shard, fleet, "device", identity, device)
    if identity not in fleet.offers:
        put(shard, fleet, "offer", identity, Offer(digest="x", slots=1, tools=TOOLS))


def known_of(shard: Shard, demand: Demand) -> tuple[Any, ...]:
    """Return all that placement knows of the devices of a demand."""
    known = list(capable(shard.fleet, demand))
    paced = paced_of(shard.fleet, demand, 0)
    times = (dict(sorted(paced.known.items())), dict(sorted(paced.doubt.items())), paced.order) if paced else None
    return known, dict(demand.places), times


@pytest.mark.parametrize("seed", range(20))
def test_a_list_that_follows_changes_is_the_one_that_is_made_anew(seed: int) -> None:
    chance, shard = random.Random(seed), Shard()
    needs = [None, Needs(shard.access, ("s",), None)]
    kept = [Demand(("", b""), "t.pure", selector, need) for selector in SELECTORS for need in needs]
    for _ in range(150):
        change(shard, chance)
        for demand in kept:
            if chance.random() < 0.7:
                anew = Demand(demand.key, demand.tool, demand.selector, demand.needs)
                assert known_of(shard, demand) == known_of(shard, anew)
