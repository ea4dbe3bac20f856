"""Devices that words name, where the corpus of words has no case for it."""

from __future__ import annotations

from starloom.planner.requests.slots import take_device
from starloom_protocol.plan.recipe import ParamDoc
from tests.planner.fleets import device, fleet, offer

NEEDS = ["fs.find", "artifact.put"]


def test_my_phone_is_no_phone_of_the_demonstration_where_there_is_a_real_one() -> None:
    real, demo = device("handy", os="browser", labels=["phone"]), device("demo-phone", labels=["phone"], demo=True)
    param = ParamDoc(type="device", needs=NEEDS)
    taken = take_device("my phone", param, fleet(real, demo, device("atlas"), offers={"handy": offer(without=NEEDS)}))
    assert not taken.filled
    assert "handy does not offer fs.find" in taken.reason
    assert take_device("my phone", param, fleet(demo, device("atlas"))).value == {"name": "demo-phone"}
