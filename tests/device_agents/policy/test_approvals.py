"""What the device asks its owner: which calls, answered how often, by whom, and for how long an answer counts."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, write_private
from starloom_agent.home.locking import hold_folder
from starloom_agent.owner import answering
from starloom_agent.policy import approvals
from starloom_agent.policy.allowance import Allowance
from starloom_agent.policy.approvals import ANSWER_WITHIN_S, Asks, CannotAnswer
from starloom_agent.policy.commands import CommandRule, PolicyFault
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import (
    Always,
    Decision,
    Policy,
    decide,
    policy_of,
    with_grant,
    without_grant,
)
from starloom_agent.sandbox.levels import NOT_TRIED
from starloom_agent.work.ledger import DecisionRow, Ledger
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.vocabulary import RISKY_EFFECTS, Code, Profile
from starloom_protocol.wire.frames import OwnerAnswer

TOOLS = {tool.name: tool for tool in all_tools()}
RESTART = TOOLS["service.restart"]
NGINX = {"name": "nginx", "device_name": "vps"}
ALWAYS_NGINX = Always("service.restart", '{"name":"nginx"}')
PATTERN = CommandRule.of(["systemctl", "restart", {"word": "[a-z]+"}])


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


def operate(**more: Any) -> Policy:
    return replace(Policy(profile=Profile.OPERATE, commands=(PATTERN,)), **more)


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    made = AgentHome(tmp_path / "home")
    made.make()
    write_policy(made.policy, operate())
    return made


@pytest.fixture
def call(home: AgentHome) -> Callable[..., Decision]:
    allowance = Allowance(home, (), NOT_TRIED, slots=1, say=lambda _text: None)

    def judged(task: str = "c1/restart", **args: object) -> Decision:
        allowance.read_again()
        return allowance.decide(RESTART, {**NGINX, **args}, writes=None, task=task)

    return judged


def waiting(home: AgentHome) -> str:
    (ask,) = Asks(home.asks).open()
    return ask.id


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if RISKY_EFFECTS & set(tool.effects)])
def test_every_effect_above_write_asks(name: str) -> None:
    tool = TOOLS[name]
    policy = operate(grants=frozenset({tool.grant}), hosts=("example.org",), write=("/d",))
    decision = decide(policy, tool, {"argv": ["systemctl", "restart", "nginx"]})
    if name == "ask":
        assert decision.allowed, "it puts its question to that very person"
        return
    assert (decision.allowed, decision.asks, decision.code) == (False, True, Code.NEEDS_APPROVAL)
    assert decision.line.startswith("starloom-agent approve ")
    assert decision.line in decision.detail


def test_what_only_reads_and_writes_does_not_ask() -> None:
    policy = Policy(profile=Profile.FILES, read=("/d",), write=("/d",))
    assert decide(policy, TOOLS["fs.trash"], {"paths": ["a"]}).allowed
    assert decide(policy, TOOLS["system.info"], {}).allowed


def test_a_command_is_not_asked_about_where_the_rule_is_the_answer() -> None:
    argv = {"argv": ["systemctl", "restart", "nginx"]}
    run = TOOLS["shell.run"]
    exact = CommandRule.of(["systemctl", "restart", "nginx"])
    said = CommandRule.of(["systemctl", "restart", {"word": ".*"}], effects=["read", "write"])
    risky = CommandRule.of(["systemctl", "restart", {"word": ".*"}], effects=["change"])
    assert decide(operate(), run, argv).asks
    assert decide(operate(commands=(PATTERN, exact)), run, argv).allowed
    assert decide(operate(commands=(said,)), run, argv).allowed
    assert decide(operate(commands=(risky,)), run, argv).asks


def test_the_same_action_of_the_same_task_is_one_question(home: AgentHome, call: Callable[..., Decision]) -> None:
    first = call()
    assert first.asks
    assert call(device_name="another name for it") == call()
    assert len(Asks(home.asks).open()) == 1
    call(name="postgres")
    call(task="c2/restart")
    assert len({ask.id for ask in Asks(home.asks).open()}) == 3


def test_an_allowance_is_used_up_by_one_call(home: AgentHome, call: Callable[..., Decision]) -> None:
    call()
    Asks(home.asks).answer(waiting(home), "allow")
    assert not call(task="c2/restart").allowed
    assert not call(name="postgres").allowed
    assert call().allowed
    assert call().asks


def test_a_question_is_answered_once(home: AgentHome, call: Callable[..., Decision]) -> None:
    call()
    name = waiting(home)
    Asks(home.asks).answer(name, "deny", "not on a Friday")
    with pytest.raises(CannotAnswer, match="was answered deny"):
        Asks(home.asks).answer(name, "allow")
    denied = call()
    assert (denied.allowed, denied.asks, denied.code) == (False, False, Code.POLICY_REFUSED)
    assert "not on a Friday" in denied.detail


@pytest.mark.parametrize("name", ["", "00000000", "../policy", "*"])
def test_what_was_not_asked_cannot_be_answered(home: AgentHome, name: str) -> None:
    with pytest.raises(CannotAnswer, match="waiting: none"):
        Asks(home.asks).answer(name, "allow")


def test_silence_and_late_calls_count_as_no(tmp_path: Path) -> None:
    clock = Clock()
    asks = Asks(tmp_path / "asks", clock)
    question = Decision(False, "asked", Code.NEEDS_APPROVAL, "line", asks=True)
    assert asks.settle(question, "00000001", ALWAYS_NGINX, "c1/a").asks
    before = asks.digest
    clock.now_s += ANSWER_WITHIN_S + 1
    assert asks.digest != before, "the hub must hear that it is over"
    with pytest.raises(CannotAnswer, match="waited too long"):
        asks.answer("00000001", "allow")
    assert asks.settle(question, "00000001", ALWAYS_NGINX, "c1/a").code is Code.POLICY_REFUSED
    asks.settle(question, "00000002", ALWAYS_NGINX, "c1/b")
    asks.answer("00000002", "allow")
    clock.now_s += ANSWER_WITHIN_S + 1
    assert not asks.settle(question, "00000002", ALWAYS_NGINX, "c1/b").allowed


def test_questions_without_end_do_not_fill_the_disk(tmp_path: Path) -> None:
    clock = Clock()
    asks = Asks(tmp_path / "asks", clock)
    question = Decision(False, "asked", Code.NEEDS_APPROVAL, "line", asks=True)
    for number in range(510):
        clock.now_s += 1
        asks.settle(question, f"{number:08x}", ALWAYS_NGINX, "c1/a")
    kept = asks.open()
    assert len(kept) == 500
    assert kept[0].id == f"{10:08x}"


def test_a_broken_file_is_no_answer(home: AgentHome, call: Callable[..., Decision]) -> None:
    call()
    path = home.asks / f"{waiting(home)}.json"
    path.write_text('{"answer": "allow"}', encoding="utf-8")
    assert call().asks


def test_an_answer_is_noticed_as_a_change_of_what_is_offered(home: AgentHome, call: Callable[..., Decision]) -> None:
    allowance = Allowance(home, (), NOT_TRIED, slots=1, say=lambda _text: None)
    allowance.read_again()
    before = allowance.offer().offer.digest
    call()
    assert not allowance.read_again(), "a question alone changes nothing"
    Asks(home.asks).answer(waiting(home), "allow")
    assert allowance.read_again()
    assert not allowance.read_again()
    assert allowance.offer().offer.digest != before


def test_always_is_for_exactly_these_arguments(
    home: AgentHome, call: Callable[..., Decision], capsys: pytest.CaptureFixture[str]
) -> None:
    call()
    assert main(["approvals", "--home", str(home.root)]) == 0
    assert '{"name":"nginx"}' in capsys.readouterr().out
    assert main(["approve", waiting(home), "--always", "--home", str(home.root)]) == 0
    assert read_policy(home.policy).always == (ALWAYS_NGINX,)
    for task in ("c1/restart", "c1/restart", "c9/other"):
        assert call(task=task).allowed
    assert call(name="postgres").asks


def test_a_wrong_answer_is_one_plain_line(home: AgentHome, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deny", "12345678", "--home", str(home.root)]) == 1
    assert capsys.readouterr().err == "starloom-agent: no call that waits here is called 12345678; waiting: none\n"
    assert answering.approvals(home, print) == 0
    assert capsys.readouterr().out == f"nothing waits for an answer on {home.root}\n"


def test_a_service_named_in_its_grant_is_not_asked_about() -> None:
    policy = with_grant(operate(), "service:restart", ["nginx"])
    assert decide(policy, RESTART, NGINX).allowed
    assert decide(policy, RESTART, {"name": "ssh"}).asks
    assert decide(without_grant(policy, "service:restart", ["nginx"]), RESTART, NGINX).asks
    with pytest.raises(PolicyFault, match="effects belong to a command"):
        with_grant(policy, "service:restart", ["ssh"], ["read"])


def test_the_policy_file_keeps_answers_and_effects(tmp_path: Path) -> None:
    policy = with_grant(operate(always=(ALWAYS_NGINX,)), "shell:run", ["df", "{-[a-z]}"], ["read"])
    write_policy(tmp_path / "policy.toml", policy)
    assert read_policy(tmp_path / "policy.toml") == policy
    assert with_grant(policy, "shell:run", ["df", "{-[a-z]}"]).commands == (
        PATTERN, CommandRule.of(["df", {"word": "-[a-z]"}]),
    )  # fmt: skip
    assert without_grant(policy, "shell:run", ["df", "{-[a-z]}"]).commands == (PATTERN,)


@pytest.mark.parametrize(
    ("plain", "place"),
    [
        ({"always": 1}, "always"),
        ({"always": [{"tool": "x"}]}, r"always\[0\]"),
        ({"always": [{"tool": "x", "args": 1}]}, r"always\[0\]"),
        ({"commands": [{"argv": ["a"], "effects": ["boom"]}]}, r"commands\[0\]"),
        ({"commands": [{"argv": ["a"], "effects": "read"}]}, r"commands\[0\]"),
    ],
)
def test_a_wrong_field_is_named(plain: dict[str, object], place: str) -> None:
    with pytest.raises(PolicyFault, match=f"^{place}"):
        policy_of(plain)


def test_the_record_of_a_question_is_kept_also_in_an_older_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    older = sqlite3.connect(path)
    older.execute(
        "CREATE TABLE decisions (number INTEGER PRIMARY KEY AUTOINCREMENT, at_s REAL NOT NULL, lease TEXT NOT NULL,"
        " tool TEXT NOT NULL, allowed INTEGER NOT NULL, reason TEXT NOT NULL, profile TEXT NOT NULL) STRICT"
    )
    older.execute("INSERT INTO decisions VALUES (1, 1.0, 'a', 'fs.read', 1, 'r', 'files')")
    older.commit()
    older.close()
    ledger = Ledger(path)
    asked = DecisionRow(2.0, "b", "service.restart", False, "asks", "operate", asked=True)
    ledger.decided(asked)
    ledger.flush(lazy=True)
    assert ledger.decisions() == [asked, DecisionRow(1.0, "a", "fs.read", True, "r", "files")]
    ledger.close()


def test_a_quiet_folder_is_not_read_again_and_a_changed_one_is(tmp_path: Path) -> None:
    folder = tmp_path / "asks"
    asks = Asks(folder)
    question = Decision(False, "asked", Code.NEEDS_APPROVAL, "line", asks=True)
    asks.settle(question, "00000001", ALWAYS_NGINX, "c1/a")
    long_ago = folder.stat().st_mtime_ns - 10_000_000_000
    os.utime(folder, ns=(long_ago, long_ago))
    (kept,) = asks.open()
    (folder / "00000001.json").write_text("changed in place, as nobody does", encoding="utf-8")
    assert asks.open() == [kept]
    (folder / "00000001.json").unlink()
    assert asks.open() == []


def test_a_question_that_the_disk_refuses_allows_nothing(home: AgentHome, call: Callable[..., Decision]) -> None:
    home.asks.write_text("in the way of the folder")
    decision = call()
    assert (decision.allowed, decision.asks, decision.code) == (False, False, Code.TOOL_UNAVAILABLE)
    assert "could not be kept" in decision.reason
    home.asks.unlink()
    assert call().asks


# What the hub is told, and what its answer is worth.


def frames_of(home: AgentHome, **policy: Any) -> tuple[Allowance, OwnerAsk]:
    write_policy(home.policy, operate(**policy))
    allowance = Allowance(home, (), NOT_TRIED, slots=1, say=lambda _text: None)
    allowance.read_again()
    allowance.decide(RESTART, {**NGINX, "name": "hunter2"}, writes=None, task="c1/restart", hide=["hunter2"])
    (ask,) = allowance.asks().open
    return allowance, ask


def an_answer(asked: OwnerAsk, **more: Any) -> OwnerAnswer:
    return OwnerAnswer(**{"action": asked.action, "allow": True, "ask": asked.id, "by": "person:ann", **more})


def again(allowance: Allowance) -> Decision:
    return allowance.decide(RESTART, {**NGINX, "name": "hunter2"}, writes=None, task="c1/restart", hide=["hunter2"])


def test_the_hub_is_told_what_waits_without_secrets(home: AgentHome) -> None:
    allowance, ask = frames_of(home)
    assert allowance.asks().answers == "here"
    assert (ask.tool, ask.constellation, ask.task, ask.args) == ("service.restart", "c1", "restart", '{"name":"***"}')
    assert 0 < ask.left_s <= ANSWER_WITHIN_S


def test_by_default_an_answer_of_the_hub_is_worth_nothing(home: AgentHome) -> None:
    allowance, ask = frames_of(home)
    assert "does not count" in allowance.take_answer(an_answer(ask))
    assert again(allowance).asks


def test_where_its_owner_says_so_a_person_at_the_hub_answers_once(home: AgentHome) -> None:
    allowance, ask = frames_of(home, answers="hub")
    assert "person:ann answered allow" in allowance.take_answer(an_answer(ask))
    assert allowance.asks().open == []
    assert "no open question" in allowance.take_answer(an_answer(ask))
    decision = again(allowance)
    assert decision.allowed
    assert "ann approved it at the hub" in decision.reason
    assert again(allowance).asks
    (anew,) = allowance.asks().open
    assert (anew.id, anew.action == ask.action) == (ask.id, False)
    assert "no open question" in allowance.take_answer(an_answer(ask)), "an old answer is none to the new question"
    assert again(allowance).asks


def test_t317_of_answers_here_and_at_the_hub_the_first_counts(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    allowance, ask = frames_of(home, answers="hub")

    def once_it_is_denied_here(folder: Path) -> AbstractContextManager[None]:
        monkeypatch.setattr(approvals, "hold_folder", hold_folder)
        Asks(home.asks).answer(ask.id, "deny")
        return hold_folder(folder)

    monkeypatch.setattr(approvals, "hold_folder", once_it_is_denied_here)
    assert "no open question" in allowance.take_answer(an_answer(ask))
    denied = again(allowance)
    assert (denied.allowed, denied.asks) == (False, False)


def test_t317_no_two_processes_answer_at_once(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    allowance, ask = frames_of(home, answers="hub")

    def written(path: Path, data: bytes) -> None:
        other = os.open(home.asks, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
        write_private(path, data)

    monkeypatch.setattr(approvals, "write_private", written)
    assert "person:ann answered allow" in allowance.take_answer(an_answer(ask))


def test_an_answer_that_the_disk_refuses_leaves_the_question_open(
    home: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowance, ask = frames_of(home, answers="hub")

    def refused(_path: object, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(approvals, "write_private", refused)
        assert "could not be kept" in allowance.take_answer(an_answer(ask))
    assert "person:ann answered allow" in allowance.take_answer(an_answer(ask))


def test_a_no_of_the_hub_names_who_and_why(home: AgentHome) -> None:
    allowance, ask = frames_of(home, answers="hub")
    allowance.take_answer(an_answer(ask, allow=False, reason="not today"))
    decision = again(allowance)
    assert (decision.allowed, decision.code) == (False, Code.POLICY_REFUSED)
    assert decision.reason == "ann denied it at the hub: not today"


@pytest.mark.parametrize("wrong", [{"action": "0" * 64}, {"ask": "../../policy"}, {"ask": "00000000"}])
def test_an_answer_to_something_else_changes_nothing(home: AgentHome, wrong: dict[str, str]) -> None:
    allowance, ask = frames_of(home, answers="hub")
    assert "no open question" in allowance.take_answer(an_answer(ask, **wrong))
    assert again(allowance).asks


def test_an_answer_that_comes_too_late_is_a_no(home: AgentHome) -> None:
    clock = Clock()
    kept = Asks(home.asks, clock)
    asked = decide(operate(), RESTART, NGINX)
    kept.settle(asked, "1f2e3d4c", ALWAYS_NGINX, "c1/restart")
    (ask,) = kept.offered()
    clock.now_s += ANSWER_WITHIN_S + 1
    assert kept.offered() == []
    assert kept.take(an_answer(ask)) is None
    assert not kept.settle(asked, "1f2e3d4c", ALWAYS_NGINX, "c1/restart").allowed


def test_whose_answer_counts_is_typed_on_the_device(home: AgentHome, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_policy(home.policy).answers == "here"
    assert main(["policy", "--home", str(home.root), "--answers", "hub"]) == 0
    assert 'answers = "hub"' in capsys.readouterr().out
    assert read_policy(home.policy).answers == "hub"
    assert main(["approvals", "--home", str(home.root)]) == 0
    assert "starloom-agent policy --answers here" in capsys.readouterr().out
    with pytest.raises(PolicyFault, match="answers"):
        policy_of({"answers": "model"})
