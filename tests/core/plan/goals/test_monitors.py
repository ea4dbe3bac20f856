"""The monitors and the ladder: the model is warned, then a person is asked, then the goal ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.records.models import ModelCall
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code, Outcome
from tests.core.plan.goals.pursued import VALUE, Pursued, call


def same_call(one: Pursued) -> None:
    for _ in range(2):
        one.step(call(number=1), cites=())
        one.end_calls({"v": one.now_ms})
        one.now_ms += 1
    one.step(call(number=1))


def no_news(one: Pursued) -> None:
    for at in range(5):
        one.step(call(number=at))
        one.end_calls({"the": "same"})


def like_errors(one: Pursued) -> None:
    for at in range(3):
        one.step(call(number=at))
        for work in one.take():
            one.result(work, None, Outcome.ERROR, code=Code.FILE_NOT_FOUND)


def no_cite(one: Pursued) -> None:
    for at in range(4):
        one.step(call(number=at))
        one.end_calls({"v": at})


STALLS: list[tuple[Callable[[Pursued], None], dict[str, Any], str]] = [
    (same_call, {}, "the same call of t.pure for a third time"),
    (no_news, {}, "4 steps without a new result"),
    (like_errors, {}, "3 like errors in a row: t.pure ended with file_not_found"),
    (no_cite, {"steps": 8}, "half of its 8 steps without a result that it cites"),
]


@pytest.mark.parametrize(("stall", "budget", "why"), STALLS)
def test_a_stall_warns_the_model_first(stall: Callable[[Pursued], None], budget: dict[str, int], why: str) -> None:
    one = Pursued(goal={"budget": budget})
    stall(one)
    assert one.turns[-1] == ("told", why)
    assert not one.made.open_questions
    assert [event.note for event in one.events if event.kind == "goal_stalled"] == [why]
    assert one.claim().value["claimed"] is True


@pytest.mark.parametrize(
    ("budget", "used", "after_ms", "why"),
    [
        ({"tokens": 1000}, {"tokens": 500}, 0, "half of its 1000 tokens without a result that it cites"),
        ({"dollars": 0.4}, {"micros": 200_000}, 0, "half of its 0.40 dollars without a result that it cites"),
        ({"within_s": 60}, {}, 30_000, "half of its 60 s without a result that it cites"),
    ],
)
def test_half_of_any_part_of_the_budget_without_a_cite_warns_once(
    budget: dict[str, Any], used: dict[str, int], after_ms: int, why: str
) -> None:
    one = Pursued(goal={"budget": budget})
    one.claim()
    pay(one, **used)
    one.now_ms += after_ms
    for at in range(3):
        one.step(call(number=at))
        one.end_calls()
    assert [turn for turn in one.turns if turn[0] == "told"] == [("told", why)]
    assert not one.made.open_questions


def test_half_of_the_tokens_with_a_cited_result_warns_nobody() -> None:
    one = Pursued(goal={"budget": {"tokens": 1000}})
    one.step(call(number=1))
    one.end_calls()
    one.claim()
    pay(one, tokens=600)
    one.step(call(number=2), cites=("why.1",))
    one.end_calls()
    assert "told" not in dict(one.turns)


def test_a_second_stall_asks_a_person_who_lets_it_go_on_with_a_hint() -> None:
    one = Pursued()
    same_call(one)
    one.step(call(number=1))
    (question,) = one.made.open_questions
    assert "gets nowhere: the same call" in one.made.questions[question].text
    one.reply("go_on", "look at /var/log")
    assert one.turns[-1] == ("hint", "look at /var/log")
    one.step(call(number=2))
    assert one.end_calls() == ["why.3"]
    one.answer(cites=("why.3",))
    assert one.state() == "succeeded"
    one.folded_equals_state()


@pytest.mark.parametrize("by", ["model", "worker:w", "device:d-one", "assistant:x"])
def test_only_a_person_gives_a_hint(by: str) -> None:
    one = Pursued()
    assert [fault.code for fault in one.control("hint", "why", by=by, reason="use every device").faults] == [
        Code.FORBIDDEN
    ]
    assert one.turns == []
    assert not one.control("hint", "why", reason="look at /var/log").faults
    assert one.turns == [("hint", "look at /var/log")]


@pytest.mark.parametrize("how", ["stop", "nobody"])
def test_a_person_who_stops_it_or_does_not_answer_ends_it_with_what_is_known(how: str) -> None:
    one = Pursued()
    same_call(one)
    one.step(call(number=1))
    if how == "stop":
        one.reply("stop", "enough")
    else:
        one.fire_due("approval")
    assert one.made.groups["why"].code is Code.GOAL_UNMET
    assert one.state() == "partial"
    answer = one.made.tables["answer"][""]
    assert "why" in answer.sentence
    assert [item.task for item in answer.items] == ["why.1", "why.2"]


def test_used_up_steps_ask_a_person_and_going_on_allows_as_many_again() -> None:
    one = Pursued(goal={"budget": {"steps": 2}})
    for at in range(2):
        one.step(call(number=at), cites=("why.1",) if at else ())
        one.end_calls()
    one.step(call(number=3))
    (question,) = one.made.open_questions
    assert "its 2 steps are used up" in one.made.questions[question].text
    one.reply("go_on")
    one.step(call(number=3))
    assert one.end_calls() == ["why.3"]
    one.answer(cites=("why.3",))
    assert one.state() == "succeeded"


def pay(one: Pursued, **used: Any) -> Answer:
    return one.do(
        i.ModelUsed(
            by="worker:w",
            call=ModelCall(asked_ms=0, job="", model="m", prompt="p", stage="working"),
            calls=1,
            constellation="c1",
            id=one.ident(),
            job=one.job.id,
            scope="worker",
            worker="w",
            **used,
        )
    )


@pytest.mark.parametrize(
    ("budget", "used", "why"),
    [
        ({"tokens": 1000}, {"tokens": 1000}, "its 1000 tokens are used up"),
        ({"dollars": 0.3}, {"micros": 300_000}, "its 0.30 dollars are used up"),
    ],
)
def test_tokens_and_money_that_are_used_up_ask_a_person(budget: dict[str, Any], used: dict[str, int], why: str) -> None:
    one = Pursued(goal={"budget": budget})
    one.claim()
    assert not pay(one, **used).faults
    one.propose("step", calls=[call()])
    one.end_calls()
    (question,) = one.made.open_questions
    assert why in one.made.questions[question].text


@pytest.mark.parametrize("last", ["w2", "w1"])
def test_no_worker_takes_a_goal_whose_tokens_others_have_used_up(last: str) -> None:
    """Neither another worker nor the last one, which begins anew after its claim was over."""
    one = Pursued(goal={"budget": {"tokens": 1000}})
    for at in range(2):
        assert one.claim(f"w{at}").value["claimed"] is True
        one.do(
            i.ModelUsed(
                by=f"worker:w{at}",
                calls=1,
                constellation="c1",
                id=one.ident(),
                job=one.job.id,
                tokens=500,
                worker=f"w{at}",
            )
        )
        # It is killed before it proposes.
        one.now_ms += 20_000
    assert one.claim(last).value == {"claimed": False}
    (question,) = one.made.open_questions
    assert "its 1000 tokens are used up" in one.made.questions[question].text
    one.reply("go_on")
    assert one.claim(last).value["claimed"] is True
    one.folded_equals_state()


def test_time_that_is_over_asks_a_person_and_stands_still_meanwhile() -> None:
    one = Pursued(goal={"budget": {"within_s": 60}})
    one.fire_due("goal_over")
    assert len(one.made.open_questions) == 1
    one.now_ms += 600_000
    one.reply("go_on")
    assert one.job.goal is not None
    assert one.job.goal.due_ms >= one.now_ms + 60_000
    one.answer(cites=())
    assert one.state() == "succeeded"


def test_a_goal_that_is_stopped_ends_with_its_last_call() -> None:
    one = Pursued()
    one.step(call())
    (sent,) = one.take()
    one.fire_due("goal_over")
    one.reply("stop")
    assert one.job.state == "ending"
    assert one.state() == "active", "its last call runs on its device"
    one.result(sent, None, Outcome.INTERRUPTED)
    assert one.state() == "failed"
    one.folded_equals_state()


_CALLS = st.builds(
    call,
    st.sampled_from(["t.pure", "fs.read", "fs.write", "http.request", "svc.restart", "t.never", "t.gone"]),
    st.sampled_from(["one", "two", "", "d-two", "nobody"]),
    path=st.sampled_from(["notes/a", "notes/../x", "/etc/passwd", "secrets"]),
    url=st.sampled_from(["https://intranet.example/a", "https://evil.example/", "notes"]),
)
_TURNS = st.one_of(
    st.tuples(st.just("step"), st.lists(_CALLS, min_size=1, max_size=5)),
    st.tuples(st.just("answer"), st.sampled_from([VALUE, {"cause": 1}, {}, []])),
    st.tuples(st.just("nothing"), st.none()),
    st.tuples(st.just("give_up"), st.none()),
    st.tuples(st.just("hand_over"), st.sampled_from(["next_tier", "person", "root"])),
)
ENVELOPE: dict[str, Any] = {
    "device": {"name": "one"},
    "may": {"tools": ["fs.read", "fs.write", "http.request", "svc.restart"], "paths": ["notes"]},
    "budget": {"steps": 5},
}


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_TURNS, min_size=1, max_size=12), st.lists(st.sampled_from(["first", "last"]), max_size=6), st.data())
def test_no_turns_of_a_model_leave_the_envelope_and_each_goal_ends(
    turns: list[tuple[str, Any]], replies: list[str], data: st.DataObject
) -> None:
    one = Pursued(goal=ENVELOPE)
    one.tiers = data.draw(st.sampled_from([(), ("small", "worker")]))
    one.reply("allow")
    allowed: set[str] = set()
    ahead = list(replies)

    def end_calls() -> None:
        """End what was sent, by a step or by a person who allowed it, as its device does."""
        for work in one.take():
            args = parse(work.args)
            assert work.device == "d-one"
            assert work.tool in ENVELOPE["may"]["tools"]
            assert args["path"] == "notes/a", "a step left its folders"
            if work.tool in ("http.request", "svc.restart"):
                assert work.at.task in allowed, "nobody was asked"
            ends = data.draw(st.sampled_from([Outcome.OK, Outcome.ERROR]))
            one.result(work, {"v": 1}, ends, **({} if ends is Outcome.OK else {"code": Code.TOOL_FAILED}))

    for kind, given_now in turns * 8:
        if one.made.head.state != "active":
            break
        for key in list(one.made.open_questions):
            question = one.made.questions[key]
            yes = bool(ahead) and ahead.pop(0) == "first"
            if yes:
                allowed.update(_tasks_of(question.operations))
            one.reply(question.choices[0 if yes else 1].value)
        end_calls()
        if one.job.state not in ("open", "claimed"):
            continue
        one.claim()
        calls = given_now if kind == "step" else []
        value = None if kind != "answer" else canonical(given_now)
        one.propose(kind, calls=calls, to=given_now if kind == "hand_over" else "", note="so it is", value=value)
        end_calls()
    for _ in range(4):
        if one.made.head.state == "active" and not one.made.open_questions:
            one.fire_due("goal_over")
        if one.made.open_questions:
            one.fire_due("approval")
    assert one.made.head.state in ("succeeded", "partial", "failed"), "the goal goes on for ever"
    one.folded_equals_state()


def _tasks_of(operations: str) -> list[str]:
    return [item["spec"]["id"] for item in parse(operations)] if operations else []


def test_words_of_a_model_that_sound_like_a_used_budget_take_no_rung_of_the_ladder() -> None:
    one = Pursued()
    one.step(call())
    one.end_calls()
    for _ in range(2):
        one.answer(cites=("all its tokens are used up",))
    assert "used up" in one.turns[-1][1]
    assert (one.turns[-1][0], one.job.state, one.made.open_questions) == ("told", "open", {})
