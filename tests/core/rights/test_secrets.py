"""Secrets in the core: set in order, given to whom they may, waited for, and named by people alone."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.answer.why import explain, shard_of
from starloom.core.state import inputs as i
from starloom.core.state.orders import SendDispatch
from starloom_protocol.records.access import SECRETS_MOST
from starloom_protocol.records.entities import RuleRecord, Selector, TaskSpec, encode_entity
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Attention, Code, ConstellationState, Outcome, Reason, TaskState
from tests.builders import Driver, plan, task

LINE = "starloom secret set key"


def set_it(driver: Driver, version: int = 1, name: str = "key", **more: Any) -> Any:
    fields: dict[str, Any] = {"cipher": f"s-{name}-{version}", "name": name, "version": version, **more}
    return driver.do(i.SecretSet(id=f"set-{name}-{version}", by="principal:mara", **fields))


def needing(name: str = "a", **more: Any) -> TaskSpec:
    return replace(task(name, **more), args=canonical({"value": {"secret": "key"}}), secrets=["key"])


def state(driver: Driver) -> str:
    return str(driver.shard.constellations["c1"].tasks["a"].state)


def orders(driver: Driver) -> list[SendDispatch]:
    return driver.dispatched


def test_versions_rise_and_of_two_writers_one_wins() -> None:
    driver = Driver("one")
    assert set_it(driver).value == {"name": "key", "version": 1, "replaced": None}
    assert set_it(driver, 1).faults[0].code is Code.CONFLICT
    assert set_it(driver, 2, base_version=0).faults[0].code is Code.CONFLICT
    assert set_it(driver, 2, base_version=1, tools=["b", "a", "a"]).value["replaced"] == "s-key-1"
    kept = driver.shard.access.secrets["key"]
    assert (kept.version, kept.cipher, kept.tools, kept.by) == (2, "s-key-2", ["a", "b"], "principal:mara")
    gone = driver.do(i.SecretRemoved(id="rm", by="principal:mara", name="key"))
    assert gone.value == {"name": "key", "replaced": "s-key-2"}
    assert driver.shard.access.secrets == {}
    assert driver.do(i.SecretRemoved(id="rm2", by="principal:mara", name="key")).faults[0].code is Code.NOT_FOUND


def test_names_devices_and_number_are_judged() -> None:
    driver = Driver("one")
    for wrong in ("", "-a", "a b", "a/b", "x" * 65, "ü"):
        assert set_it(driver, name=wrong).faults[0].place == "name"
    assert set_it(driver, devices=["d-nobody"]).faults[0].code is Code.UNKNOWN_DEVICE
    for number in range(SECRETS_MOST):
        assert not set_it(driver, name=f"n{number}").faults
    assert set_it(driver, name="more").faults[0].code is Code.TOO_MANY_SECRETS
    assert not set_it(driver, 2, name="n0").faults


def test_a_task_waits_for_a_secret_that_is_not_set_and_goes_on_by_itself() -> None:
    driver = Driver("one")
    driver.submit(plan(needing()))
    run = driver.shard.constellations["c1"]
    assert state(driver) == TaskState.READY
    assert run.head.attention == [Attention.MISSING_SECRET]
    why = explain(driver.shard, "c1", "a")
    assert (why.reason, why.actions) == (Reason.MISSING_SECRET, [LINE])
    assert why.sentence.endswith("waits for a secret that is not set: key.")
    assert LINE in why.candidates[0].words
    assert orders(driver) == []
    set_it(driver)
    assert state(driver) == TaskState.LEASED
    assert run.head.attention == []
    assert [order.secrets for order in orders(driver)] == [["key"]]
    assert "secret" in orders(driver)[0].args
    assert driver.shard.access.secrets["key"].last_used_ms > 0


def test_attention_ends_when_it_is_set_though_the_device_is_busy() -> None:
    driver = Driver("one", slots=1)
    driver.submit(plan(task("z"), needing()))
    run = driver.shard.constellations["c1"]
    assert run.tasks["z"].state is TaskState.LEASED
    assert Attention.MISSING_SECRET in run.head.attention
    set_it(driver, name="other")
    assert Attention.MISSING_SECRET in run.head.attention
    set_it(driver)
    assert run.head.attention == []
    assert run.tasks["a"].state is TaskState.READY


def test_a_device_a_tool_and_a_recipe_that_may_not_receive_it_are_no_candidates() -> None:
    driver = Driver("one", "two")
    set_it(driver, devices=["d-two"])
    driver.submit(plan(needing()))
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].device == "d-two"
    assert [item.device for item in explain(driver.shard, "c1", "a").candidates] == ["d-two"]
    driver.submit(plan(needing(device=Selector(name="one"))), "c2")
    words = {item.device: item.words for item in explain(driver.shard, "c2", "a").candidates}
    assert words["d-one"] == "may not receive the secret key; it is kept for other devices"
    limited: list[tuple[dict[str, Any], str]] = [
        ({"tools": ["t.other"]}, "only for t.other"),
        ({"recipes": ["backup"]}, "only for backup"),
    ]
    for limits, said in limited:
        driver = Driver("one")
        set_it(driver, **limits)
        driver.submit(plan(needing()))
        assert driver.shard.constellations["c1"].tasks["a"].state is TaskState.READY
        why = explain(driver.shard, "c1", "a")
        assert why.reason is Reason.NO_CAPABLE_DEVICE
        assert said in why.sentence


def test_why_names_the_line_that_lets_a_device_have_a_secret() -> None:
    driver = Driver("one", "two")
    set_it(driver, devices=["d-two"])
    driver.submit(plan(needing(device=Selector(name="one"))))
    why = explain(driver.shard, "c1", "a")
    assert why.actions == ["starloom secret set key --for-device two --for-device one", "edit", "skip"]
    assert "may not receive the secret key" in why.sentence
    assert "no device may have its secret" in why.sentence


def test_a_recipe_that_may_receive_it_does() -> None:
    driver = Driver("one")
    set_it(driver, recipes=["backup"])
    driver.submit(replace(plan(needing()), recipe="backup"))
    assert driver.shard.constellations["c1"].tasks["a"].state is TaskState.LEASED


def test_committed_bytes_explain_as_the_shard_does() -> None:
    driver = Driver("one")
    set_it(driver, name="other")
    driver.submit(plan(needing()))
    fleet = {f"{kind}/{key}": encode_entity(record) for kind, key, record in driver.shard.fleet.records()}
    stored = shard_of(fleet, "c1", driver.folded["c1"], driver.shard.access.secrets)
    assert explain(stored, "c1", "a") == explain(driver.shard, "c1", "a")


def test_one_that_was_removed_before_its_dispatch_left_is_waited_for() -> None:
    driver = Driver("one")
    set_it(driver)
    driver.submit(plan(needing()))
    driver.do(i.SecretRemoved(id="rm", by="principal:mara", name="key"))
    driver.result(orders(driver)[0], outcome=Outcome.NEVER_STARTED)
    assert driver.shard.constellations["c1"].tasks["a"].state is TaskState.READY
    assert explain(driver.shard, "c1", "a").reason is Reason.MISSING_SECRET


def test_one_that_cannot_be_opened_fails_its_task_with_the_way_out() -> None:
    driver = Driver("one")
    set_it(driver)
    driver.submit(plan(needing()))
    driver.result(orders(driver)[0], outcome=Outcome.NEVER_STARTED, code=Code.SECRET_UNREADABLE, detail="key")
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].code is Code.SECRET_UNREADABLE
    assert run.head.state is ConstellationState.FAILED
    assert "starloom secret set" in explain(driver.shard, "c1", "a").sentence


def test_what_a_device_says_does_not_become_a_secrets_name_in_a_rule() -> None:
    driver = Driver("one")
    set_it(driver)
    added = replace(needing("b"), args=canonical({"x": {"output": "/x"}, "value": {"secret": "key"}}))
    operations = canonical([{"op": "add_task", "spec": msgspec.to_builtins(added)}])
    rule = RuleRecord(event="succeeded", name="more", operations=operations, order=0, reason="more", task="a")
    driver.submit(replace(plan(task("a")), rules=[rule]))
    value = canonical({"x": {"deep": [{"secret": "key"}]}})
    driver.result(orders(driver)[0], value=value, facts={"/x": canonical({"deep": [{"secret": "key"}]})})
    run = driver.shard.constellations["c1"]
    assert "b" not in run.specs
    refused = [event for event in driver.events if event.kind == "rule_refused"]
    assert [event.note for event in refused] == ["what a gave at /x names a secret"]
