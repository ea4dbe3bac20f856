"""Devices that are slow over past runs, hedges by what is usual for a device, and the courtesy to an owner."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.answer.why import candidates_of
from starloom.core.placement.pace import index_of, p90_ms, slow_sentence, slow_tools
from starloom.core.run.timeouts import passed
from starloom.core.state import inputs as i
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.vocabulary import Repeatability
from tests.builders import TOOLS, Driver, plan, task
from tests.guard.test_lying_paces import taught


def hedges(driver: Driver) -> list[str]:
    for timer in [item for item in passed(driver.shard, driver.now_ms) if item.kind == "hedge"]:
        driver.fire(timer)
    return [item.device for item in driver.take()]


def test_a_device_that_is_slow_over_runs_is_told_and_stays_a_candidate() -> None:
    driver = Driver("a", "b", "slow")
    taught(driver, 4, a=1_000, b=1_000, slow=5_000)
    index = index_of(driver.shard.fleet)
    assert slow_tools(index, "d-slow", TOOLS) == [("t.pure", 50)]
    assert slow_tools(index, "d-a", TOOLS) == []
    sentence = slow_sentence(index, "d-slow", TOOLS)
    assert sentence.startswith("It takes 5.0 times as long as others for t.pure over past runs.")
    driver.submit(plan(task("x")))
    candidates = candidates_of(driver.shard, driver.shard.constellations["c1"], task("x"))
    told = {item.device: (item.fits, item.words) for item in candidates}
    assert told["d-slow"] == (True, "fits, takes 5.0 times as long as others for t.pure")


def test_two_devices_alone_say_nothing_of_each_other() -> None:
    driver = Driver("a", "slow")
    taught(driver, 4, a=1_000, slow=5_000)
    assert slow_tools(index_of(driver.shard.fleet), "d-slow", TOOLS) == []


def test_programs_that_take_longer_somewhere_say_nothing_of_the_device() -> None:
    driver = Driver("a", "b", "slow")
    taught(driver, 4, a=1_000, b=1_000, slow=5_000)
    never = [replace(offer, repeatability=Repeatability.NEVER) for offer in TOOLS]
    assert slow_tools(index_of(driver.shard.fleet), "d-slow", never) == []
    for name in ("a", "b", "slow"):
        driver.add_device(name, tools=never)
    candidates = candidates_of(driver.shard, driver.shard.constellations["a-0"], task("x"))
    assert [item.words for item in candidates] == ["fits"] * 3


def test_a_hedge_opens_when_nine_of_ten_calls_would_have_ended_in_the_first_run_of_a_plan() -> None:
    driver = Driver("one", "two")
    for number, time_ms in enumerate((8_000, 10_000, 12_000, 14_000, 16_000, 18_000)):
        taught_once(driver, "one", f"r{number}", time_ms)
    late_ms = p90_ms(index_of(driver.shard.fleet), "t.pure", "d-one", 0)
    assert 15_000 < late_ms < 20_000
    driver.submit(plan(task("x")))
    (second,) = driver.take()
    assert second.device == "d-one"
    driver.started(second)
    driver.now_ms += late_ms - 1
    assert hedges(driver) == []
    driver.now_ms += 1
    assert hedges(driver) == ["d-two"]


def taught_once(driver: Driver, device: str, name: str, time_ms: int) -> None:
    driver.submit(plan(task("a", device=device)), name=name)
    (dispatch,) = driver.take()
    driver.now_ms += time_ms
    driver.result(dispatch, 1)


def test_a_log_of_a_hub_before_is_decided_by_the_factor() -> None:
    old = settings_of(Driver().shard.settings)
    del old["hedge_at_p90"]
    assert with_settings(old).hedge_at_p90 == 0


def test_the_owner_who_is_at_a_device_is_named_where_it_is_passed_over() -> None:
    driver = Driver("one", "two")
    facts = {"owner_present": "true"}
    driver.do(i.ConditionReceived(by="", device="d-one", facts=facts, id=driver.ident(), session=1))
    driver.submit(plan(task("a")))
    assert driver.take()[0].device == "d-two"
    why = driver.shard.constellations["c1"].attempts["a/1"].why
    assert why.endswith("and one is taken last, because its owner is at it")
