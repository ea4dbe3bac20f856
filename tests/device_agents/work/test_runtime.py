"""The agent against a hub stand-in over a real websocket, with real processes and a real ledger."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from starloom_agent.platforms import processes
from starloom_agent.policy.commands import CommandRule
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy
from starloom_agent.work import core
from starloom_agent.work.ledger import DecisionRow
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import AGENT_STOPPED, Code, EffectSeen, Outcome, Profile, Resume
from starloom_protocol.wire.frames import (
    Alive,
    AsksFrame,
    Bye,
    Cancel,
    ConditionFrame,
    FactsFrame,
    FetchFacts,
    Goaway,
    LedgerReport,
    LogChunk,
    OfferFrame,
    OwnerAnswer,
    PlanEntry,
    Query,
    Refuse,
    ResultFrame,
    Started,
    UpdateAvailable,
    VitalsFrame,
)
from tests.device_agents.stand_in import dispatch, lease
from tests.device_agents.work.conftest import Bench, shell
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.short


async def test_it_offers_what_it_has_and_echoes_without_the_ledger(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    order = dispatch("lab.echo", '{"value":[1]}', repeatability="pure", wants=["/value"])
    await bench.hub.send(order)
    result = await bench.hub.result(order.at)
    assert (result.outcome, result.value, result.facts) == (Outcome.OK, '{"value":[1]}', {"/value": "[1]"})
    (offer,) = bench.hub.of(OfferFrame)
    assert {"lab.echo", "shell.run"} <= {tool.name for tool in offer.offer.tools}
    assert "shell:run" in offer.offer.grants
    assert agent.ledger.state_of(order.at) == "unknown"


@pytest.mark.parametrize(("unattended", "outcome"), [(False, Outcome.ERROR), (True, Outcome.OK)])
async def test_the_lab_alone_makes_no_notice_seen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unattended: bool, outcome: Outcome
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    bench.start(unattended=unattended)
    await bench.hub.connected()
    order = dispatch("notify", '{"text":"Your pictures are safe"}')
    await bench.hub.send(order)
    result = await bench.hub.result(order.at)
    assert result.outcome is outcome
    assert ('"shown":"log"' in (result.value or "")) is unattended


async def test_it_says_how_it_fares_with_what_it_says_anyway_and_anew_to_each_hub(bench: Bench) -> None:
    bench.start()
    first = await bench.hub.until(lambda: next(iter(bench.hub.of(VitalsFrame)), None))
    assert 0 <= first.load_percent <= 10_000
    assert 0 < first.memory_percent <= 100
    at = bench.hub.heard.index(first)
    assert isinstance(bench.hub.heard[at + 1], Alive), "figures and `alive` are one message"
    await bench.hub.cut()
    await bench.hub.until(lambda: len(bench.hub.of(VitalsFrame)) > 1)


async def test_what_comes_of_a_message_is_ready_when_it_was_read(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    orders = [dispatch("lab.echo", at=lease(name), repeatability="pure") for name in "ab"]
    agent.received(list(orders))
    told = agent.reports()
    assert [report.at.task for report in told if isinstance(report, ResultFrame)] == ["a", "b"]


async def test_a_hub_that_reads_nothing_is_still_heard_and_gets_all_of_it_in_order(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    bench.hub.listens.clear()
    args = json.dumps({"value": "x" * 15_000})
    orders = [dispatch("lab.echo", args, at=lease(f"t{n}"), repeatability="pure") for n in range(1_500)]
    async with asyncio.timeout(PATIENCE_S):
        for order in orders:
            await bench.hub.send(order)
        await bench.hub.send(UpdateAvailable(version="9.9.9"))
    await bench.until_said("version 9.9.9")
    assert len(agent.outbox.pending) == len(orders)
    assert len([frame for frame in bench.hub.heard if isinstance(frame, ResultFrame)]) < len(orders)
    bench.hub.listens.set()
    await bench.hub.result(orders[-1].at)
    results = [frame for frame in bench.hub.heard if isinstance(frame, ResultFrame)]
    assert [result.at for result in results] == [order.at for order in orders]


async def test_started_is_in_the_ledger_and_said_before_the_result(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell("echo hello")))
    result = await bench.hub.result(lease())
    kinds = [type(item) for item in bench.hub.heard if isinstance(item, Started | ResultFrame)]
    assert kinds == [Started, ResultFrame]
    assert result.outcome is Outcome.OK
    assert "hello" in "".join(chunk.text for chunk in bench.hub.of(LogChunk))
    assert agent.ledger.started_attempts() == [lease()]


@pytest.mark.parametrize("background", ["nohup sleep 300 >/dev/null 2>&1 &", "setsid sleep 300 >/dev/null 2>&1 &"])
async def test_a_program_in_the_background_ends_with_its_call(bench: Bench, background: str) -> None:
    bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell(f"{background} echo restarted")))
    result = await bench.hub.result(lease())
    assert result.outcome is Outcome.OK
    ended = json.loads(result.value or "{}").get("ended", "")
    assert ended.startswith("1 program that it left in the background (sleep 300) was ended with the call. "), ended
    assert "systemctl" in ended
    assert ended in "".join(chunk.text for chunk in bench.hub.of(LogChunk))


async def test_a_command_that_leaves_nothing_says_nothing_of_it(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell("sleep 0.01 & wait; echo done | cat")))
    assert "ended" not in json.loads((await bench.hub.result(lease())).value or "{}")


async def test_a_repeated_dispatch_is_not_run_again(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    marker = bench.home.root / "marker"
    order = dispatch("shell.run", shell(f"echo x >> {marker}"))
    await bench.hub.send(order)
    await bench.hub.result(order.at)
    await bench.hub.send(order, order)
    await bench.hub.until(lambda: len(bench.hub.of(ResultFrame, order.at)) >= 2)
    assert marker.read_text() == "x\n"
    assert len(agent.ledger.started_attempts()) == 1


async def test_a_cut_connection_cancels_nothing_and_the_result_comes_later(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    go = bench.home.root / "go"
    order = dispatch("shell.run", shell(f"while [ ! -e {go} ]; do sleep 0.02; done"))
    await bench.hub.send(order)
    await bench.hub.started(order.at)
    await bench.hub.cut()
    await bench.hub.connected(2)
    go.touch()
    assert (await bench.hub.result(order.at)).outcome is Outcome.OK
    assert len(bench.hub.of(Started, order.at)) == 1


async def test_results_are_sent_again_until_they_are_durable(bench: Bench) -> None:
    bench.hub.acks = False
    bench.start()
    await bench.hub.connected()
    order = dispatch("lab.echo", '{"value":1}', repeatability="pure")
    await bench.hub.send(order)
    await bench.hub.result(order.at)
    await bench.hub.cut()
    await bench.hub.until(lambda: len(bench.hub.of(ResultFrame, order.at)) == 2)
    first, second = bench.hub.of(ResultFrame, order.at)
    assert first == second


async def test_a_cancel_ends_with_a_receipt_and_no_result(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    order = dispatch("shell.run", shell("sleep 300"))
    await bench.hub.send(order)
    await bench.hub.started(order.at)
    await bench.hub.send(Cancel(at=order.at, reason="a person"))
    receipt = await bench.hub.receipt(order.at)
    assert receipt.known
    assert bench.hub.of(ResultFrame, order.at) == []


async def test_what_the_policy_refuses_is_never_started(bench: Bench) -> None:
    write_policy(bench.home.policy, Policy())
    agent = bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell("true")))
    result = await bench.hub.result(lease())
    assert (result.outcome, result.code) == (Outcome.REFUSED, Code.MISSING_GRANT)
    assert f"starloom-agent grant --home {bench.home.root} shell:run -- sh" in result.detail
    assert agent.ledger.started_attempts() == []
    agent.ledger.flush(lazy=True)
    assert [row.allowed for row in agent.ledger.decisions()] == [False]


async def test_a_path_outside_of_the_folders_is_a_refusal_in_the_owners_record(bench: Bench, tmp_path: Path) -> None:
    agent = bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("fs.read", canonical({"path": str(tmp_path.parent / "elsewhere.txt")})))
    result = await bench.hub.result(lease())
    assert (result.outcome, result.code) == (Outcome.REFUSED, Code.POLICY_REFUSED)
    agent.ledger.flush(lazy=True)
    refused, allowed = agent.ledger.decisions()
    assert [(row.tool, row.allowed) for row in (allowed, refused)] == [("fs.read", True), ("fs.read", False)]
    assert "is outside the folders" in refused.reason


async def test_a_changed_policy_is_offered_by_itself(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    await bench.hub.until(lambda: bench.hub.of(OfferFrame))
    write_policy(bench.home.policy, Policy(profile=Profile.OBSERVE))
    offers = await bench.hub.until(lambda: bench.hub.of(OfferFrame)[1:])
    assert offers[0].profile is Profile.OBSERVE


async def test_a_look_that_fails_ends_no_other(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = bench.start()
    await bench.hub.connected()

    def fail() -> None:
        raise RuntimeError("the clock of the sessions is broken")

    with monkeypatch.context() as broken:
        broken.setattr(agent.sessions, "sweep", fail)
        await bench.until_said("the clock of the sessions is broken")
    write_policy(bench.home.policy, Policy(profile=Profile.OBSERVE))
    await bench.until_said("the policy changed: profile observe")


async def test_a_policy_that_was_forged_allows_only_to_observe(bench: Bench) -> None:
    """A request that could write the file, by whatever way, would still gain nothing."""
    bench.start()
    await bench.hub.connected()
    await bench.hub.until(lambda: bench.hub.of(OfferFrame))
    bench.home.policy.write_text('profile = "operate"\ngrants = ["shell:script"]\n', encoding="utf-8")
    offers = await bench.hub.until(lambda: bench.hub.of(OfferFrame)[1:])
    assert offers[0].profile is Profile.OBSERVE
    await bench.hub.send(dispatch("shell.run", shell("true")))
    assert (await bench.hub.result(lease())).outcome is Outcome.REFUSED
    write_policy(bench.home.policy, Policy(profile=Profile.FILES))
    offers = await bench.hub.until(lambda: bench.hub.of(OfferFrame)[2:])
    assert offers[0].profile is Profile.FILES


async def test_the_ledger_answers_a_query(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell("true")))
    await bench.hub.result(lease())
    await bench.hub.send(Query(attempts=[lease(), lease("other")]))
    (report,) = await bench.hub.until(lambda: bench.hub.of(LedgerReport))
    assert [entry.state for entry in report.entries] == ["finished", "unknown"]


async def test_resume_of_work_without_a_trace_is_told_as_interrupted(bench: Bench) -> None:
    bench.hub.resume = [PlanEntry(action=Resume.CONTINUE, at=lease("lost"))]
    bench.start()
    result = await bench.hub.result(lease("lost"))
    assert (result.outcome, result.effect) == (Outcome.INTERRUPTED, EffectSeen.MAYBE)


async def test_a_hub_with_another_key_is_left(bench: Bench) -> None:
    bench.start(hub_key="other", reconnect_most_s=0.05)
    await bench.until_said("is not the hub that this device joined")
    assert bench.hub.hellos == []


async def test_a_refusal_before_the_proof_ends_nothing(bench: Bench) -> None:
    bench.hub.refuse_unproved = Refuse(code=Code.DEVICE_REVOKED, fix="Go away.", reason="test was revoked")
    bench.start(reconnect_most_s=0.05)
    await bench.until_said("before the hub proved its key it refused this device (device_revoked)")
    bench.hub.refuse_unproved = None
    await bench.hub.connected()


async def test_one_changed_byte_does_not_end_an_agent(bench: Bench) -> None:
    bench.hub.refuse_with = Refuse(code=Code.BAD_SIGNATURE, fix="", reason="the signature does not fit")
    bench.start(reconnect_most_s=0.05)
    await bench.until_said("may be the line's doing")
    bench.hub.refuse_with = None
    await bench.hub.connected()


async def test_a_refusal_for_good_stops_the_agent_with_its_reason(bench: Bench) -> None:
    bench.hub.refuse_with = Refuse(code=Code.DEVICE_REVOKED, fix="Enroll it again.", reason="test was revoked")
    bench.start()
    _, task = bench.agents[0]
    ended = await asyncio.wait_for(task, PATIENCE_S)
    assert "test was revoked" in str(ended)
    assert "Enroll it again." in str(ended)


async def test_a_refusal_that_is_not_for_good_is_tried_again(bench: Bench) -> None:
    bench.hub.refuse_with = Refuse(code=Code.PROTOCOL_ERROR, fix="", reason="the hub was confused")
    bench.start()
    await bench.until_said("the hub was confused")
    bench.hub.refuse_with = None
    await bench.hub.connected()


async def test_what_comes_behind_a_goaway_is_left_to_the_next_connection(bench: Bench) -> None:
    bench.start(reconnect_most_s=0.05)
    await bench.hub.connected()
    late = dispatch("lab.echo", at=lease("late"), repeatability="pure")
    bench.hub.send_together(Goaway(reason="the hub is stopping", retry_after_s=0.01), late)
    await bench.hub.connected(2)
    next_one = dispatch("lab.echo", at=lease("next"), repeatability="pure")
    await bench.hub.send(next_one)
    assert (await bench.hub.result(next_one.at)).outcome is Outcome.OK
    assert bench.hub.of(ResultFrame, late.at) == []


async def test_a_call_is_not_answered_with_the_result_of_another_one(bench: Bench) -> None:
    agent = bench.start(reconnect_most_s=0.05)
    await bench.hub.connected()
    hello, bye = (dispatch("shell.run", shell(f"echo {word}")) for word in ("hello", "bye"))
    await bench.hub.send(hello)
    kept = await bench.hub.result(lease())
    await asyncio.to_thread(until, lambda: not agent.outbox.pending, "the hub has the result")
    await bench.hub.send(bye)
    await bench.hub.until(lambda: len(bench.hub.of(ResultFrame)) == 2)
    await asyncio.to_thread(until, lambda: not agent.outbox.pending, "the hub has the answer")
    await bench.hub.send(hello)
    await bench.hub.until(lambda: len(bench.hub.of(ResultFrame)) == 3)
    _, other, again = bench.hub.of(ResultFrame, lease())
    assert (other.outcome, other.effect, other.value) == (Outcome.INTERRUPTED, EffectSeen.MAYBE, None)
    assert "another call under this name" in other.detail
    assert again == msgspec.structs.replace(kept, report=again.report), "the record of the first call stays"
    assert agent.ledger.started_attempts() == [lease()]

    await bench.hub.send(msgspec.structs.replace(bye, at=lease(incarnation=2)))
    await bench.hub.until(lambda: bench.hub.of(LedgerReport))
    await bench.hub.cut()
    await bench.hub.until(lambda: len(bench.hub.of(LedgerReport)) == 2)
    for report in bench.hub.of(LedgerReport):
        assert (report.calls, report.entries[0].at) == ([core.digest_of(hello)], lease())


async def test_facts_are_answered_after_the_end(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell("echo hello")))
    await bench.hub.result(lease())
    await bench.hub.send(FetchFacts(at=lease(), wants=["/exit_code", "/nothing"]))
    await bench.hub.send(FetchFacts(at=lease("other"), wants=["/exit_code"]))
    await bench.hub.until(lambda: len(bench.hub.of(FactsFrame)) == 2)
    (known,), (other,) = bench.hub.of(FactsFrame, lease()), bench.hub.of(FactsFrame, lease("other"))
    assert (known.facts, known.kept) == ({"/exit_code": "0"}, True)
    assert (other.facts, other.kept) == ({}, False)


async def test_a_full_disk_stops_new_work_and_nothing_else(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    marker = bench.home.root / "marker"
    database = agent.ledger._db
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {pages}")
    agent.ledger.decided(DecisionRow(0.0, "filler", "x" * 200_000, True, "fills the disk", "observe"))
    await bench.hub.send(dispatch("shell.run", shell(f"touch {marker}")), Query(attempts=[lease()]))
    await bench.until_said("cannot be written")
    await bench.hub.until(lambda: disk_told(bench) == ["full"])
    assert not marker.exists()
    database.execute("PRAGMA max_page_count = 1000000")
    result = await bench.hub.result(lease())
    assert result.outcome is Outcome.OK
    assert marker.exists()
    await bench.hub.until(lambda: disk_told(bench) == ["full", "ok"])
    assert len(bench.hub.hellos) == 1


def disk_told(bench: Bench) -> list[str]:
    return [frame.facts["disk"] for frame in bench.hub.of(ConditionFrame) if "disk" in frame.facts]


async def test_stopping_ends_the_work_and_says_goodbye(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    order = dispatch("shell.run", shell("echo ready; sleep 300"))
    await bench.hub.send(order)
    # Before its program runs it would be stopped as never started.
    await bench.hub.until(lambda: any("ready" in chunk.text for chunk in bench.hub.of(LogChunk)))
    agent.stop()
    await bench.hub.until(lambda: bench.hub.of(Bye))
    result = await bench.hub.result(order.at)
    assert result.outcome is Outcome.INTERRUPTED
    assert result.detail == f"shell.run was ended: {AGENT_STOPPED}"


async def test_a_killed_agent_reports_interrupted_after_its_restart(bench: Bench) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "starloom_agent", "run", "--home", str(bench.home.root), stderr=asyncio.subprocess.DEVNULL
    )
    await bench.hub.connected()
    marker = bench.home.root / "pid"
    order = dispatch("shell.run", shell(f"echo $$ > {marker}; echo ready; sleep 300"))
    await bench.hub.send(order)
    await bench.hub.until(lambda: any("ready" in chunk.text for chunk in bench.hub.of(LogChunk)))
    process.send_signal(signal.SIGKILL)
    await process.wait()
    bench.start()
    result = await bench.hub.result(order.at)
    assert (result.outcome, result.effect) == (Outcome.INTERRUPTED, EffectSeen.MAYBE)
    pid = int(marker.read_text())
    assert processes.start_mark(pid) is None


async def test_a_question_goes_to_the_hub_and_its_answer_starts_the_call(bench: Bench) -> None:
    rule = CommandRule.of(["sh", "-c", {"word": "(?s).*"}])
    write_policy(bench.home.policy, Policy(profile=Profile.OPERATE, commands=(rule,), answers="hub"))
    bench.start()
    await bench.hub.connected()
    await bench.hub.send(dispatch("shell.run", shell("echo done")))
    assert (await bench.hub.result(lease())).code is Code.NEEDS_APPROVAL
    frame = await bench.hub.until(lambda: next((item for item in bench.hub.of(AsksFrame) if item.open), None))
    (ask,) = frame.open
    assert (frame.answers, ask.tool, ask.constellation, ask.task) == ("hub", "shell.run", "c1", "t")
    await bench.hub.send(OwnerAnswer(action=ask.action, allow=True, ask=ask.id, by="person:ann"))
    await bench.until_said("person:ann answered allow at the hub")
    await bench.hub.send(dispatch("shell.run", shell("echo done"), at=lease(attempt=2)))
    assert (await bench.hub.result(lease(attempt=2))).outcome is Outcome.OK
    await bench.hub.until(lambda: bench.hub.of(AsksFrame)[-1].open == [])


async def test_a_hub_that_knows_no_proof_is_left(bench: Bench) -> None:
    bench.hub.versions = (1, 2)
    bench.start(reconnect_most_s=0.05)
    await bench.until_said("before the hub proved its key it refused this device (hub_too_old)")
    assert bench.hub.hellos == []


async def test_calls_of_a_constellation_share_a_process_until_the_policy_changes(bench: Bench) -> None:
    agent = bench.start()
    await bench.hub.connected()
    await agent.runners.warmed()
    (bench.home.workspace / "a.txt").write_text("a line\n", encoding="utf-8")

    async def group_of(task: str, constellation: str = "c") -> str:
        order = dispatch("fs.stat", '{"paths":["a.txt"]}', at=lease(task), repeatability="pure")
        order = msgspec.structs.replace(order, at=msgspec.structs.replace(order.at, constellation=constellation))
        await bench.hub.send(order)
        assert (await bench.hub.result(order.at)).outcome is Outcome.OK
        (line,) = [line for line in bench.said if f"{constellation}/{task}/" in line and "started, group" in line]
        return line.rpartition(" ")[2]

    first = await group_of("a")
    assert await group_of("b") == first
    assert await group_of("c", "another") != first
    again = await group_of("d")
    write_policy(bench.home.policy, Policy(profile=Profile.OPERATE))
    await bench.until_said("the policy changed")
    await asyncio.to_thread(until, lambda: processes.start_mark(int(again)) is None, "its process has ended")
    assert not list(bench.home.work.iterdir())
