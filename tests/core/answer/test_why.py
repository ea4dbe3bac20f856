"""`explain` says of every task one sentence, and of every waiting one each candidate with its reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.cli.constellations.reasons import alike
from starloom.core.answer import story
from starloom.core.answer.why import Why, explain, shard_of
from starloom.core.placement.queue_position import Position, position
from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom.edge.routes.work.why import explain_all
from starloom_protocol.records.entities import Choice, FileOut, ForEach, Selector, ToolOffer, encode_entity
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.text.folder_grants import NO_LINE
from starloom_protocol.text.wording import utc_words
from starloom_protocol.tools.profiles import TAB_OS
from starloom_protocol.vocabulary import AGENT_STOPPED, Attention, Code, DeviceLink, Op, Outcome, Reason
from tests.builders import MAYBE, PURE, TOOLS, Driver, plan, task, when
from tests.core.run.test_hedging import hedge, slow


def why(driver: Driver, name: str = "a") -> Why:
    """Explain twice, from the shard and from committed bytes: they may not differ in what is said."""
    explanation = explain(driver.shard, "c1", name)
    fleet = {f"{kind}/{key}": encode_entity(record) for kind, key, record in driver.shard.fleet.records()}
    stored = shard_of(fleet, "c1", driver.folded["c1"])
    assert explain(stored, "c1", name) == explanation
    assert explanation.sentence.endswith((".", "?")) or ": " in explanation.sentence
    return explanation


def control_device(driver: Driver, name: str, action: str) -> None:
    driver.do(i.DeviceControlled(id="x", by="person:ann", device=f"d-{name}", action=action))


def test_every_candidate_is_named_with_its_reason() -> None:
    driver = Driver("off", "busy", "drained", slots=1)
    driver.add_device("bare", tools=[])
    driver.add_device("asks", tools=[ToolOffer(name="t.pure", repeatability=PURE, grant="files:read")])
    driver.add_device("broken", tools=[ToolOffer(name="t.pure", repeatability=PURE, unavailable="no disk")])
    driver.add_device("set-aside", tools=TOOLS, quarantined=True)
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-off", reason="cut", session=1))
    control_device(driver, "drained", "drain")
    driver.submit(plan(task("z", device="busy"), task("a"), name="x"))
    explanation = why(driver)
    assert {item.device[2:]: item.reason for item in explanation.candidates} == {
        "off": Reason.DEVICE_AWAY,
        "busy": Reason.BUSY,
        "drained": Reason.DEVICE_ASIDE,
        "bare": Reason.NO_CAPABLE_DEVICE,
        "asks": Reason.MISSING_GRANT,
        "broken": Reason.NO_CAPABLE_DEVICE,
        "set-aside": Reason.DEVICE_ASIDE,
    }
    assert explanation.reason is Reason.BUSY
    assert "busy is busy (1 of 1 slots)" in explanation.sentence


def test_a_task_that_waits_in_a_paused_constellation_says_how_it_goes_on() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), name="x"))
    driver.control("pause")
    explanation = why(driver, "b")
    assert explanation.sentence == "b waits for a, and the constellation is paused."
    assert explanation.actions == ["resume"]


def test_a_busy_fleet_says_what_goes_before_a_task() -> None:
    driver = Driver("one", slots=1)
    driver.submit(plan(*(task(f"t{n}") for n in range(9)), name="Scale"), name="big")
    driver.now_ms += 1000
    driver.submit(plan(task("u"), name="Check"), name="small")
    driver.now_ms += 1000
    driver.submit(plan(task("a"), task("b", "x=a"), name="mine"))
    standing = position(driver.shard, "c1", "a")
    assert standing == Position(tasks=1, plans=["Check"], running=["Scale"], used={"d-one": (1, 1)})
    fleet = {f"{kind}/{key}": encode_entity(record) for kind, key, record in driver.shard.fleet.records()}
    found = explain(shard_of(fleet, "c1", driver.folded["c1"]), "c1", "a", standing)
    assert found.reason is Reason.BUSY
    assert found.sentence == "a waits for a free slot: one is busy (1 of 1 slots). 1 task goes before it, of Check."
    assert [item.reason for item in found.candidates] == [Reason.BUSY]
    first = explain(driver.shard, "small", "u", position(driver.shard, "small", "u"))
    assert first.sentence.endswith("It is next, after work of Scale.")
    big = position(driver.shard, "big", "t8")
    assert big is not None
    assert (big.tasks, set(big.plans)) == (9, {"Check", "mine"})
    assert position(driver.shard, "big", "t0") is None


def test_tasks_of_others_count_if_their_turn_is_first() -> None:
    driver = Driver("one", "two", slots=1)
    driver.submit(plan(task("x", device="one"), task("y", device="one"), name="Ann"), name="ann")
    bob = plan(task("z", device="one", tool="t.idem"), name="Bob")
    driver.do(i.RequestReceived(id="r", by="person:bob", constellation="bob", plan=bob))
    standing = position(driver.shard, "ann", "y")
    assert standing is not None
    assert (standing.tasks, standing.plans) == (1, ["Bob"])
    theirs = position(driver.shard, "bob", "z")
    assert theirs is not None
    assert (theirs.tasks, theirs.running) == (0, ["Ann"])


def test_a_task_that_waits_for_a_device_that_is_off_names_every_candidate() -> None:
    driver = Driver("off")
    driver.add_device("bare", tools=[])
    driver.add_device("asks", tools=[ToolOffer(name="t.pure", repeatability=PURE, grant="files:read")])
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-off", reason="cut", session=1))
    driver.submit(plan(task("a")))
    explanation = why(driver)
    assert explanation.reason is Reason.DEVICE_AWAY
    assert {item.device for item in explanation.candidates} == {"d-off", "d-bare", "d-asks"}
    assert all(item.words and not item.fits for item in explanation.candidates)
    assert "off is off or out of reach" in explanation.sentence


def test_work_in_an_open_tab_says_that_a_tap_may_be_needed_there() -> None:
    driver = Driver("pocket")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    assert "tap" not in why(driver).sentence, "another device needs none"
    device = driver.shard.fleet.devices["d-pocket"]
    load(driver.shard, FLEET, 0, {"device/d-pocket": msgspec.structs.replace(device, os=TAB_OS)})
    assert why(driver).sentence.endswith("It runs in the page of Starloom on pocket, where a tap may be needed.")


@pytest.mark.parametrize("link", [DeviceLink.OFFLINE, DeviceLink.SUSPENDED])
def test_a_browser_tab_that_nobody_looks_at_is_asleep_and_is_to_be_opened(link: DeviceLink) -> None:
    driver = Driver("pocket")
    driver.submit(plan(task("a", tool="t.never")))
    device = driver.shard.fleet.devices["d-pocket"]
    load(driver.shard, FLEET, 0, {"device/d-pocket": msgspec.structs.replace(device, os=TAB_OS, link=link)})
    driver.submit(plan(task("a", tool="t.never")), name="c2")
    explanation = explain(driver.shard, "c1", "a")
    assert explanation.sentence == "a is on pocket, which is asleep - open it; it continues there where it was."
    assert (explanation.asleep, explanation.actions) == (["d-pocket"], ["open"])
    waits = explain(driver.shard, "c2", "a")
    assert waits.reason is Reason.DEVICE_AWAY
    assert "pocket is asleep - open it (since " in waits.sentence
    assert (waits.asleep, waits.actions) == (["d-pocket"], ["open", "reassign"])


@pytest.mark.parametrize(
    ("reason", "fields", "actions"),
    [
        (Reason.NO_CAPABLE_DEVICE, {"tool": "t.none"}, ["enroll"]),
        (Reason.NO_CAPABLE_DEVICE, {"tool": "t.none", "device": "one"}, ["reassign", "edit", "cancel"]),
        (Reason.DEVICE_AWAY, {"device": "off"}, ["switch on off, and the task goes on", "reassign"]),
        (Reason.DEVICE_ASIDE, {"device": "drained"}, ["starloom device resume drained", "reassign"]),
    ],
)
def test_the_way_out_is_named(reason: Reason, fields: dict[str, Any], actions: list[str]) -> None:
    driver = Driver("one", "off", "drained")
    control_device(driver, "drained", "drain")
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-off", reason="cut", session=1))
    driver.submit(plan(task("a", **fields)))
    explanation = why(driver)
    assert (explanation.reason, explanation.actions) == (reason, actions)


@pytest.mark.parametrize(
    ("outcome", "code", "actions"),
    [
        (Outcome.REFUSED, Code.POLICY_REFUSED, ["retry"]),
        (Outcome.ERROR, Code.FILE_NOT_FOUND, ["starloom edit c1 --editor --retry a", "retry"]),
        (Outcome.REFUSED, Code.TOOL_UNAVAILABLE, ["retry"]),
        (Outcome.ERROR, Code.EXIT_CODE, ["retry", "mark"]),
    ],
)
def test_work_that_a_device_refused_before_it_began_is_not_marked(
    outcome: Outcome, code: Code, actions: list[str]
) -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=outcome, code=code, detail="No.")
    explanation = why(driver)
    assert (explanation.state, explanation.actions) == ("failed", actions)


def test_a_file_that_is_not_there_may_be_on_another_device() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.FILE_NOT_FOUND, detail="a.txt is not there")
    assert "set the device that has it" in why(driver).sentence


def test_a_device_that_lacks_a_program_says_so_alone() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.REFUSED, code=Code.TOOL_UNAVAILABLE, detail="there is no program print.")
    assert why(driver).sentence == "a failed: there is no program print."
    assert "First cause: a - there is no program print." in driver.folded["c1"]["answer"].decode()


def test_a_missing_grant_shows_the_line_to_type() -> None:
    driver = Driver()
    driver.add_device("one", tools=[ToolOffer(name="t.pure", repeatability=PURE, grant="files:read")])
    driver.submit(plan(task("a")))
    explanation = why(driver)
    assert explanation.reason is Reason.MISSING_GRANT
    assert "starloom-agent grant files:read" in explanation.actions[0]


@pytest.mark.parametrize(
    ("saves", "detail", "grant", "line"),
    [
        ([FileOut(output="/f", to="a.txt")], "", "files:write", "starloom-agent grant files:write ~/FOLDER"),
        ([], "no command rule allows ls", "command rule", "starloom-agent grant shell:run -- ls"),
    ],
)
def test_a_grant_that_the_tool_does_not_show_has_its_device_and_line(
    saves: list[FileOut], detail: str, grant: str, line: str
) -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", files_out=saves, device="one")))
    (dispatch,) = driver.take()
    told = f"{detail}. To allow it, type on the device: starloom-agent grant shell:run -- ls"
    driver.result(dispatch, outcome=Outcome.REFUSED, code=Code.MISSING_GRANT, detail=told)
    explanation = why(driver)
    assert explanation.reason is Reason.MISSING_GRANT
    assert explanation.sentence.startswith("a waits for a grant: on one, ")
    assert grant in explanation.sentence
    assert explanation.sentence.endswith(f"; on the device: {line}.")
    assert line in explanation.actions[0]
    assert [item.device for item in explanation.candidates if item.reason is Reason.MISSING_GRANT] == ["d-one"]
    (row,) = explain_all(driver.shard, "c1", {})["items"]
    assert row["line"] == line


def test_many_devices_that_a_plan_leaves_out_are_a_count() -> None:
    driver = Driver("a", "b", "c", "d")
    driver.add_device("wanted", tools=[ToolOffer(name="t.pure", repeatability=PURE, unavailable="no disk")])
    driver.submit(plan(task("a", device="wanted")))
    said = "wanted cannot do t.pure now: no disk; 4 other devices are not what the plan asks for."
    assert said in why(driver).sentence
    few = Driver("a", "b")
    few.add_device("wanted", tools=[])
    few.submit(plan(task("a", device="wanted")))
    assert "; b is not what the plan asks for; wanted " in why(few).sentence


def test_a_call_of_a_list_that_its_device_cannot_do_is_skipped_first() -> None:
    driver = Driver("one")
    driver.add_device("phone", tools=[])
    driver.submit(plan(task("all", for_each=ForEach(devices=Selector(os="linux")))))
    assert why(driver, "all.d-phone").actions == ["skip", "edit", "cancel"]


def test_without_any_device_it_says_so() -> None:
    driver = Driver()
    driver.submit(plan(task("a")))
    assert "there are none" in why(driver).sentence


def test_each_wait_of_a_constellation_has_its_sentence() -> None:
    driver = Driver("one", slots=8)
    choices = [Choice(value="go", label="Go")]
    driver.submit(plan(task("a"), task("b", "x=a", "y=p"), task("p", person="Well?", choices=choices)))
    assert why(driver, "b").waits_for == ["a", "p"]
    assert "for a and p" in why(driver, "b").sentence
    assert why(driver, "p").actions == ["answer"]
    assert "because it was the only free device then;" in why(driver).sentence
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.expire(dispatch.at)
    (second,) = driver.take()
    driver.control("pause")
    driver.result(second, outcome=Outcome.ERROR, code=Code.NETWORK)
    assert "tried again" in why(driver).sentence
    driver.fire(next(timer for timer in driver.timers if timer.kind == "backoff"))
    assert (why(driver).reason, why(driver).actions) == (Reason.PAUSED, ["resume"])
    driver.control("hold", "a")
    assert why(driver).actions == ["release"]


def test_work_under_way_says_where_and_what_becomes_of_it() -> None:
    driver = Driver("one", slots=8)
    driver.submit(
        plan(task("n", tool="t.never"), task("a", tool="t.never"), task("i", tool="t.never"), task("s", tool="t.idem"))
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.control("cancel", "n")
    assert "being stopped on one" in why(driver, "n").sentence
    driver.expire(by_task["a"].at)
    assert "does not answer" in why(driver, "a").sentence
    driver.result(by_task["i"], outcome=Outcome.INTERRUPTED, effect=MAYBE)
    assert why(driver, "i").actions == ["mark", "retry"]


def test_work_under_way_on_a_draining_device_names_no_obstacle() -> None:
    driver = Driver()
    driver.add_device("one")
    driver.add_device("two")
    driver.submit(plan(task("a", device="one")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    control_device(driver, "one", "drain")
    explanation = why(driver)
    assert "is on one" in explanation.sentence
    assert explanation.candidates == []


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("one", "the device does not answer; it is the one that the plan names, so now the work waits for it"),
        (None, "the device does not answer; the work is moved now"),
    ],
)
def test_absence_says_whether_work_can_be_moved(device: str | None, said: str) -> None:
    driver = Driver()
    driver.add_device("one")
    driver.submit(plan(task("a", device=device, tool="t.pure")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.expire(dispatch.at)
    assert [event.note for event in driver.events if event.kind == EventKind.TASK_ABSENT] == [said]


def test_every_end_says_why() -> None:
    driver = Driver("one", slots=8)
    driver.submit(
        plan(
            task("f"),
            task("s", "x=f"),
            task("done"),
            task("c"),
            task("k"),
            task("g", for_each=ForEach(source="done", output="/l", max_parallel=1)),
            task("w", for_each=ForEach(source="k", output="/l")),
        )
    )
    by_task = {item.at.task: item for item in driver.take()}
    assert "waits for its list for done" in why(driver, "g").sentence
    driver.result(by_task["f"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom")
    driver.result(by_task["done"], {"l": [1, 2]}, verified=True)
    driver.control("cancel", "c")
    driver.receipt(by_task["c"])
    assert "boom" in why(driver, "f").sentence
    assert "f did not succeed" in why(driver, "s").sentence
    assert "its result was checked" in why(driver, "done").sentence
    assert "was cancelled" in why(driver, "c").sentence
    assert "group of 2; 0 are done" in why(driver, "g").sentence
    assert why(driver, "g.1").reason is Reason.QUOTA


def test_a_plan_that_waits_for_its_approval_and_an_absent_device_with_a_plan() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")), hold=True)
    assert (why(driver).reason, why(driver).actions) == (Reason.APPROVAL, ["approve"])


def test_a_drained_device_and_one_that_is_set_aside_say_why() -> None:
    driver = Driver("drained")
    driver.add_device("aside", quarantined=True)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device="d-drained", action="drain", reason="new disk"))
    driver.submit(plan(task("a")))
    explanation = why(driver)
    assert explanation.reason is Reason.DEVICE_ASIDE
    assert "drained is being drained: new disk" in explanation.sentence
    assert "aside is set aside" in explanation.sentence


def test_work_that_is_moved_and_work_with_a_second_attempt_say_so() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a")))
    (first,) = driver.take()
    driver.started(first)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device=first.device, action="drain", deadline_s=0))
    assert "a is moved away from one, which drains" in why(driver).sentence
    driver.receipt(first)
    assert "a is on two" in why(driver).sentence
    hedging, _ = slow()
    second = hedge(hedging)
    explanation = why(hedging, second.at.task).sentence
    assert f"a second attempt runs on {second.device[2:]}; the first result counts" in explanation


def test_a_device_that_is_off_is_to_be_switched_on_before_its_work_is_moved() -> None:
    driver = Driver("one", "off")
    driver.now_ms = 1_764_096_180_000
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-off", reason="cut", session=1))
    driver.submit(plan(task("a", device="off"), task("f", device="off", args='{"path":"."}')))
    explanation = why(driver)
    assert explanation.sentence == (
        "a waits for a device that is away: off is off or out of reach since 2025-11-25 18:43:00 UTC."
    )
    assert explanation.actions == ["switch on off, and the task goes on", "reassign"]
    assert explanation.warning == ""
    assert why(driver, "f").warning == "Another device uses its own files under the same paths, not those of off."


def test_work_in_doubt_names_the_device_that_had_it_alone() -> None:
    driver = Driver("one", "two", "three")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    (had,) = why(driver).candidates
    assert (had.device, had.fits, had.reason) == (dispatch.device, False, Reason.MAY_HAVE_HAPPENED)
    assert had.words == "has begun it: no other device may take it until you mark or retry it"


def test_work_that_a_stopped_agent_ended_says_so() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    detail = f"t.never was ended: {AGENT_STOPPED}"
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE, detail=detail)
    assert why(driver).sentence == (
        "a was started on one and may have happened: it was ended there before it was done, because its agent was"
        " stopped; it is not run twice without your word. Look there, then mark it, or retry it with confirm."
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (Code.AGENT_TOO_OLD, "its agent is too old for this hub; on the device: starloom-agent upgrade"),
        (Code.HUB_TOO_OLD, "this hub is too old for its agent: update the hub"),
    ],
)
def test_a_device_whose_agent_is_refused_is_not_to_be_switched_on(code: Code, words: str) -> None:
    driver = Driver("one", "off")
    driver.now_ms = 1_764_096_180_000
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-off", reason="cut", session=1))
    driver.do(i.DeviceRefused(id="y", by="d", code=code, device="d-off", reason="AIP 1"))
    driver.submit(plan(task("a", device="off")))
    explanation = why(driver)
    assert explanation.sentence == (
        f"a waits for a device that is away: off is refused, because {words} (since 2025-11-25 18:43:00 UTC)."
    )
    assert explanation.actions == ["reassign"]


@pytest.mark.parametrize(
    ("action", "by", "how"), [("leave", "device:d-off", "left this hub"), ("revoke", "person:ann", "was revoked")]
)
def test_a_task_whose_device_has_left_says_so_and_asks_for_attention(action: str, by: str, how: str) -> None:
    driver = Driver("one", "off")
    driver.now_ms = 1_764_096_180_000
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-off", reason="cut", session=1))
    driver.submit(plan(task("a", device="off")))
    driver.submit(plan(task("b", device="one")), name="c2")
    driver.do(i.DeviceControlled(id="x", by=by, device="d-off", action=action))
    explanation = why(driver)
    assert explanation.sentence == f"a waits for off, which {how} on 2025-11-25 18:43:00 UTC."
    assert (explanation.reason, explanation.actions) == (Reason.NO_CAPABLE_DEVICE, ["reassign", "edit", "cancel"])
    assert driver.shard.constellations["c1"].head.attention == [Attention.NO_CAPABLE_DEVICE]
    assert driver.shard.constellations["c2"].head.attention == []


def test_a_device_that_left_is_known_by_its_former_name_too() -> None:
    driver = Driver("one", "office")
    renamed = msgspec.structs.replace(driver.shard.fleet.devices["d-office"], former_names=["off"])
    load(driver.shard, FLEET, 0, {"device/d-office": renamed})
    driver.submit(plan(task("a", device="off")))
    control_device(driver, "office", "revoke")
    assert why(driver).sentence.startswith("a waits for office, which was revoked on ")


def test_another_device_of_the_name_is_waited_for_not_the_one_that_left() -> None:
    driver = Driver("one", "off")
    control_device(driver, "off", "revoke")
    driver.add_device("other")
    other = msgspec.structs.replace(driver.shard.fleet.devices["d-other"], name="off", link=DeviceLink.OFFLINE)
    load(driver.shard, FLEET, 0, {"device/d-other": other})
    driver.submit(plan(task("a", device="off")))
    assert why(driver).reason is Reason.DEVICE_AWAY


def test_every_way_out_of_an_ended_task_is_accepted() -> None:
    driver = Driver("one", slots=8)
    driver.submit(plan(task("f"), task("s", "x=f")))
    (sent,) = driver.take()
    driver.result(sent, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom")
    explanation = why(driver, "f")
    assert explanation.actions
    assert set(explanation.actions) <= set(explanation.possible)
    # A retry of the skipped task alone would skip it again.
    assert why(driver, "s").actions == ["starloom retry f c1"]
    (refused,) = driver.control("retry", "s").faults
    assert (refused.code, refused.hint) == (Code.ILLEGAL_CONTROL, "starloom retry f c1")
    assert refused.reason == "s would be skipped again, since f did not succeed"
    assert "retry" not in why(driver, "s").possible
    assert not driver.control("retry", "f").faults
    assert driver.run() == "succeeded"


def test_a_retry_names_the_work_that_may_not_be_repeated() -> None:
    driver = Driver("one", slots=8)
    driver.submit(plan(task("slow", tool="t.never"), task("note", "x=slow")))
    (sent,) = driver.take()
    driver.started(sent)
    driver.control("cancel", "slow")
    driver.receipt(sent, effect=MAYBE)
    assert why(driver, "slow").confirm == ["slow"]
    assert why(driver, "note").actions == ["starloom retry slow c1 --confirm slow"]
    assert not driver.control("retry", "slow", confirm=["slow"]).faults
    assert driver.states()["note"] == "waiting"


def test_a_task_that_a_condition_skips_names_no_retry_of_its_own() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), when("a>b", "/n", Op.EQ, 2)))
    driver.result(driver.take()[0], {"n": 1})
    assert driver.states()["b"] == "skipped"
    assert why(driver, "b").actions == []
    assert "its condition does not hold" in driver.control("retry", "b").faults[0].reason


def test_calls_of_a_group_that_may_have_happened_are_one_thing_to_decide() -> None:
    driver = Driver("one", "two", slots=8)
    driver.submit(plan(task("l"), task("hash", tool="t.never", for_each=ForEach(source="l", output="/l"))))
    driver.result(driver.take()[0], {"l": [1, 2, 3]})
    for sent in driver.take():
        driver.started(sent)
    for name in ("one", "two"):
        control_device(driver, name, "revoke")
    explanation = why(driver, "hash")
    assert (explanation.state, explanation.actions, explanation.doubted) == (
        "unknown",
        ["mark"],
        ["hash.0", "hash.1", "hash.2"],
    )
    assert explanation.sentence.startswith("3 calls of hash may have happened on ")
    assert "Nobody can look there, since the device is gone: then mark them together" in explanation.sentence
    told = explain_all(driver.shard, "c1", {})
    assert [item["task"] for item in told["items"]] == ["hash"]
    assert told["items"][0]["doubted"] == ["hash.0", "hash.1", "hash.2"]
    assert "Nobody can look there" in why(driver, "hash.1").sentence
    driver.control("cancel")
    assert driver.state() == "cancelling"
    assert not driver.control("mark", "hash", state="failed", reason="nobody knows").faults
    assert driver.state() == "cancelled"
    assert {driver.states()[f"hash.{number}"] for number in range(3)} == {"failed"}
    assert driver.control("mark", "hash", state="failed").faults[0].code is Code.BAD_REQUEST
    driver.folded_equals_state()


def test_a_run_with_an_open_question_names_the_tasks_that_failed_too() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("ask", person="Go on?"), task("a"), task("b")))
    for sent in driver.take():
        driver.result(sent, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    explanation = explain_all(driver.shard, "c1", {})
    assert [(item["task"], item["state"]) for item in explanation["items"]] == [("ask", "ready"), ("a", "failed")]
    assert explanation["items"][-1]["sentence"].endswith("1 more failed alike: b.")
    assert [question["task"] for question in explanation["questions"]] == ["ask"]


def test_tasks_of_a_list_that_are_left_out_are_counted_where_told() -> None:
    driver = Driver("one", slots=1)
    each = ForEach(source="list", output="/rows")
    driver.submit(plan(task("list"), task("sum", for_each=each), task("end", "x=sum")))
    driver.result(driver.take()[0], {"rows": list(range(198))})
    explanation = explain_all(driver.shard, "c1", {})
    groups = alike(explanation["items"])
    waits = next(group for group in groups if group.first["state"] == "ready")
    assert (1 + len(waits.others) + waits.unnamed, waits.unnamed) == (197, 98)
    assert waits.sentence.startswith("197 tasks wait: the only device that can is busy.")
    assert waits.sentence.endswith("and 194 more.")
    assert explanation["more"] == 1


def test_a_refusal_that_offers_no_line_names_none_as_the_way_out() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b")))
    details = {"a": f"/etc is outside. {NO_LINE}", "b": "/data is outside. To allow it, type on the device: x"}
    for sent in driver.take():
        driver.result(sent, outcome=Outcome.REFUSED, code=Code.POLICY_REFUSED, detail=details[sent.at.task])
    assert why(driver, "a").sentence.endswith(NO_LINE)
    assert why(driver, "b").sentence.endswith("type on the device: x. Type the named line on the device to allow it.")
    assert not any(".." in why(driver, name).sentence for name in ("a", "b"))


def test_work_that_is_stopped_on_a_device_that_is_off_says_how_it_ends() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", tool="t.never", device="one"), task("b", device="two")))
    for dispatch in driver.take():
        driver.started(dispatch)
    for name in ("a", "b"):
        driver.control("cancel", name)
        assert "it counts as cancelled once" in why(driver, name).sentence
    for device in ("one", "two"):
        driver.do(i.DeviceDisconnected(id="x", by="d", device=f"d-{device}", reason="cut", session=1))
    assert "If one does not come back, revoke it" in why(driver, "a").sentence
    # Its own fence ends repeatable work.
    assert "revoke" not in why(driver, "b").sentence
    control_device(driver, "one", "revoke")
    assert driver.states()["a"] == "unknown"


def test_a_task_that_waits_too_long_is_told_with_the_devices_it_waits_for() -> None:
    driver = Driver("one")
    driver.submit(plan(task("look"), task("scan", device=Selector(any=[Selector(name="nas"), Selector(name="vps")]))))
    timer = next(one for one in driver.timers if one.kind == "waits_long" and one.entity == "scan")
    driver.fire(timer)
    told = explain_all(driver.shard, "c1", {})["attention"]
    said = "scan waits longer than its limit for nas or vps."
    assert told[-1] == {"reason": Attention.WAITS_LONG, "sentence": said}


def test_a_task_that_waits_too_long_says_since_when_its_device_is_off() -> None:
    driver = Driver("one", "nas")
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-nas", reason="cut", session=1))
    driver.submit(plan(task("scan", device=Selector(name="nas"))))
    driver.fire(next(one for one in driver.timers if one.kind == "waits_long" and one.entity == "scan"))
    said = explain_all(driver.shard, "c1", {})["attention"][-1]["sentence"]
    since = driver.shard.fleet.devices["d-nas"].link_since_ms
    assert said.startswith("scan waits longer than its limit for nas. nas is off since ")
    assert utc_words(since) in said
    assert said.endswith("Turn it on and connect it to the network, or edit the plan to use another device.")


def test_a_skip_by_a_person_is_told_as_one() -> None:
    driver = Driver("a")
    driver.submit(plan(task("one"), task("two", "x=one"), task("three", "x=two"), task("four", "x=three")))
    driver.control("skip", "two")
    assert explain(driver.shard, "c1", "two").sentence == "two was skipped by a person."
    assert explain(driver.shard, "c1", "three").sentence == "three was skipped because a person skipped two."
    assert explain(driver.shard, "c1", "four").sentence == "four was skipped because a person skipped two."
    for dispatch in driver.take():
        driver.result(dispatch)
    run = driver.shard.constellations["c1"]
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert "Skipped by a person: two." in sentence
    assert "Skipped because a person skipped two: three, four." in sentence
    assert "not needed" not in sentence


def test_a_failed_task_whose_file_was_brought_names_where_it_is_read_again() -> None:
    driver = Driver("boat", slots=4)
    offers = [*TOOLS, ToolOffer(name="artifact.put", repeatability=PURE)]
    driver.add_device("pi", tools=offers)
    send = task("send", tool="artifact.put", device="pi", args='{"paths":["readings/buoy-98.csv"]}')
    driver.submit(plan(send, task("parse", "files=send/files", device="boat")))
    (sent,) = driver.take()
    driver.result(sent, {"files": []})
    (parsed,) = driver.take()
    driver.result(
        parsed, outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="the program ended with 1: KeyError: 'depth'"
    )
    explanation = why(driver, "parse")
    at = utc_words(driver.shard.constellations["c1"].attempts["send/1"].ended_ms)
    assert explanation.sentence.startswith("parse (buoy-98.csv) failed: the program ended with 1: KeyError: 'depth'. ")
    assert f"Its file was read from pi at {at}, and a retry gets that again" in explanation.sentence
    assert explanation.actions[:2] == ["retry", "starloom retry-from send c1"]
    assert explanation.brought_by == explain_all(driver.shard, "c1", {})["brought_by"] == ["send"]
    run = driver.shard.constellations["c1"]
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert "First cause: parse (buoy-98.csv) - the program ended with 1: KeyError: 'depth'" in sentence
    assert sentence.endswith(" starloom retry --failed --from-source c1 reads these again.")
    assert not driver.control("retry_from", "send").faults
    assert driver.states()["parse"] == "waiting"


def test_a_failed_item_of_a_list_of_files_names_where_it_is_read_again() -> None:
    driver = Driver("boat", slots=4)
    driver.add_device("pi", tools=[*TOOLS, ToolOffer(name="artifact.put", repeatability=PURE)])
    send = task("send", tool="artifact.put", device="pi", args='{"paths":["readings"]}')
    each = ForEach(source="send", output="/files")
    fit = task("fit", device="boat", args='{"files":[{"each":""}]}', for_each=each)
    driver.submit(plan(send, fit, task("check", device="boat", for_each=ForEach(same="fit"), family="fit")))
    driver.result(driver.take()[0], {"files": [{"artifact": "a" * 64}, {"artifact": "b" * 64}]})
    for one in driver.take():
        driver.result(one, outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="the program ended with 1")
    for failed in ("fit.1", "check.1"):
        explanation = why(driver, failed)
        assert explanation.sentence.startswith(f"{failed} failed: ")
        assert explanation.actions[:2] == ["retry", "starloom retry-from send c1"]
    assert explain_all(driver.shard, "c1", {})["brought_by"] == ["send"]


def test_a_label_that_no_device_has_is_named_with_those_there_are() -> None:
    driver = Driver()
    driver.add_device("one", tools=TOOLS, labels=["boat"])
    driver.submit(plan(task("a", device=Selector(labels=["lab"]))))
    explanation = why(driver)
    assert explanation.sentence == "a waits for a device with the label lab; labels that there are: boat."
    assert explanation.actions == ["starloom device label DEVICE lab", "edit", "cancel"]
    assert explanation.candidates[0].words == "does not have the label lab"
