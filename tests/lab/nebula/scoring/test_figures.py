"""Figures of a log, the report over several runs, and the person who answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from starloom.client import routes
from starloom.client.calls import Get, Post
from starloom.client.problems import Problem, usage
from starloom.client.view import View
from starloom.lab.nebula.person.doubts import movable
from starloom.lab.nebula.person.person import Person
from starloom.lab.nebula.reports.report import Report, intervals, totals_of
from starloom.lab.nebula.running import GOLD, NONE, NOT_TAKEN, Ran
from starloom.lab.nebula.scoring.consent import Consent, seen_tools
from starloom.lab.nebula.scoring.figures import Figures, figures_of
from starloom.lab.nebula.scoring.honesty import End
from starloom.lab.nebula.scoring.score import Scored
from starloom.lab.nebula.task import Answers, Choose, chosen
from starloom_protocol.records.entities import (
    Attempt,
    Dependency,
    ForEach,
    Head,
    Question,
    Selector,
    TaskRecord,
    TaskSpec,
)
from starloom_protocol.vocabulary import Attention, Code, ConstellationState, Gate, Repeatability, TaskState
from tests.cli.events import CONSTELLATION, Log

pytestmark = pytest.mark.quick


def attempt(begin_ms: int, end_ms: int, device: str = "d-a", **more: Any) -> Attempt:
    times: dict[str, Any] = {"leased_ms": begin_ms, "started_ms": begin_ms + 10, "ended_ms": end_ms}
    return Attempt(device=device, incarnation=1, repeatability=Repeatability.PURE, **times, **more)


def dependency(source: str, target: str) -> Dependency:
    return Dependency(changed_in=1, gate=Gate.SUCCESS, source=source, target=target)


def head_of(**more: Any) -> Head:
    times: dict[str, Any] = {"created_ms": 0, "ended_ms": 1000}
    state = ConstellationState.SUCCEEDED
    return Head(author="person:ann", id=CONSTELLATION, name="n", state=state, **times, **more)


def a_view(**puts: Any) -> tuple[View, Sequence[Any]]:
    """Return the view of a constellation of 1000 ms with these entities."""
    log, view = Log(), View(CONSTELLATION)
    log.add("planned", **{"head": head_of(), **puts})
    view.apply(log.rows)
    return view, log.rows


def spec(name: str, **more: Any) -> TaskSpec:
    return TaskSpec(id=name, changed_in=1, tool="fs.read", **more)


def test_the_time_of_transfers_is_that_of_their_own_calls() -> None:
    tools = {"a": "artifact.put", "b": "artifact.get", "c": "artifact.put", "d": "fs.read"}
    tasks = {f"spec__{name}": TaskSpec(id=name, changed_in=1, tool=tool) for name, tool in tools.items()}
    times = {"a": (0, 110), "b": (50, 210), "c": (400, 500), "d": (300, 900)}
    tries = {f"attempt__{name}__1": attempt(*span) for name, span in times.items()}
    # Calls begin 10 ms after their lease: from 10 to 210 and from 410 to 500.
    assert figures_of(*a_view(**tasks, **tries)).transfer_ms == 290


def test_two_tasks_beside_each_other_and_one_after_them() -> None:
    tasks = {f"spec__{name}": spec(name) for name in "abc"}
    tries = {"attempt__a__1": attempt(0, 100), "attempt__b__1": attempt(0, 300), "attempt__c__1": attempt(300, 400)}
    gates = {"dep__ac": dependency("a", "c"), "dep__bc": dependency("b", "c")}
    figures = figures_of(*a_view(**tasks, **tries, **gates))
    assert (figures.tasks, figures.depth, figures.width) == (3, 2, 1.5)
    assert (figures.work_ms, figures.critical_ms, figures.makespan_ms) == (500, 400, 400)
    assert figures.gain == pytest.approx(0.2)
    assert figures.wall_ms == 1000


def test_a_wait_in_which_no_device_works_is_no_loss_beside_one_at_a_time() -> None:
    tasks = {f"spec__{name}": spec(name) for name in "abc"}
    tries = {"attempt__a__1": attempt(0, 100), "attempt__b__1": attempt(0, 100), "attempt__c__1": attempt(900, 1000)}
    figures = figures_of(*a_view(**tasks, **tries))
    assert (figures.work_ms, figures.idle_ms, figures.makespan_ms) == (300, 800, 1000)
    assert figures.sequential_ms == 1100
    assert figures.gain == pytest.approx(1 / 11)
    ran_so = ran(1, "succeeded", RIGHT, figures=figures)
    assert totals_of([ran_so, ran_so])["gain"] == pytest.approx(1 / 11)


def test_children_of_a_family_follow_their_own_sibling_alone() -> None:
    groups = {
        "spec__one": TaskSpec(id="one", changed_in=1, family="one", for_each=ForEach(source="list")),
        "spec__two": TaskSpec(id="two", changed_in=1, family="one", for_each=ForEach(same="one")),
        "spec__list": spec("list"),
    }
    children: dict[str, Any] = {}
    for key, took_ms in (("1", 10), ("2", 20)):
        for group in ("one", "two"):
            children[f"spec__{group}DOT{key}"] = spec(f"{group}.{key}", group=group, key=key, family="one")
            children[f"attempt__{group}DOT{key}__1"] = attempt(0, took_ms)
        children[f"dep__{key}"] = dependency(f"one.{key}", f"two.{key}")
    figures = figures_of(*a_view(**groups, **children, dep__g=dependency("one", "two"), attempt__list__1=attempt(0, 5)))
    assert (figures.tasks, figures.depth) == (5, 3)
    assert figures.critical_ms == 5 + 20 + 20


def test_a_skipped_task_hands_on_what_it_waited_for() -> None:
    tasks = {f"spec__{name}": spec(name) for name in "abc"}
    gates = {"dep__ab": dependency("a", "b"), "dep__bc": dependency("b", "c")}
    figures = figures_of(*a_view(**tasks, **gates, attempt__a__1=attempt(0, 10), attempt__c__1=attempt(20, 40)))
    assert (figures.tasks, figures.depth, figures.critical_ms) == (2, 2, 30)


def test_retries_moves_and_hedges_are_counted_and_asking_the_owner_is_none() -> None:
    tries = {
        "attempt__a__1": attempt(0, 10, code=Code.NEEDS_APPROVAL),
        "attempt__a__2": attempt(10, 20),
        "attempt__b__1": attempt(0, 10),
        "attempt__b__2": attempt(10, 20, "d-b", hedge=True),
    }
    figures = figures_of(*a_view(spec__a=spec("a"), spec__b=spec("b"), **tries))
    assert (figures.attempts, figures.retries, figures.moves, figures.hedges) == (4, 1, 1, 1)


def test_a_hedge_that_took_over_is_still_counted_as_one() -> None:
    log, view = Log(), View(CONSTELLATION)
    log.add("planned", head=head_of(), spec__a=spec("a"), attempt__a__1=attempt(0, 0))
    log.add("hedge_opened", attempt__a__2=attempt(5, 0, "d-b", hedge=True))
    log.add("hedge_took_over", attempt__a__1=attempt(0, 9), attempt__a__2=attempt(5, 9, "d-b"))
    view.apply(log.rows)
    assert figures_of(view, log.rows).hedges == 1


def test_nothing_that_ran_gives_no_figures_and_divides_by_nothing() -> None:
    figures = figures_of(*a_view(spec__a=spec("a")))
    assert (figures.tasks, figures.width, figures.parallelism, figures.gain) == (0, 0.0, 0.0, 0.0)
    assert figures_of(View(CONSTELLATION), []) == Figures()


def ran(number: int, state: str, *points: tuple[str, bool, int], seed: int = 1, **more: Any) -> Ran:
    return Ran(chosen([str(number)])[0], seed, state, Scored(points), **more)


def ended(number: int, end: End, profile: str = "P1", **more: Any) -> Ran:
    """Return a run under faults that ended in one way."""
    state, points, kept = _ENDS[end]
    return ran(number, state, *points, profile=profile, constellation=CONSTELLATION, **{**kept, **more})


RIGHT, WRONG = ("right", True, 3), ("wrong", False, 1)
NAMED = "It failed: 0 of 1 tasks succeeded. Cancelled: send on phone."
_ENDS: dict[End, tuple[str, tuple[tuple[str, bool, int], ...], dict[str, Any]]] = {
    End.MET: ("succeeded", (RIGHT,), {}),
    End.HONEST: ("failed", (WRONG,), {"answer": NAMED, "missing": ("send",)}),
    End.NOT_MET: ("failed", (WRONG,), {"answer": NAMED, "missing": ("other",)}),
    End.HUNG: ("cancelled", (WRONG,), {"hung": True}),
    End.FALSE_DONE: ("succeeded", (WRONG,), {}),
    End.DOUBLED: ("succeeded", (RIGHT,), {"doubled": 1}),
}


def test_the_totals_weigh_checkpoints_and_count_tasks() -> None:
    runs = [ran(1, "succeeded", RIGHT), ran(6, "partial", RIGHT, WRONG), ran(18, "failed", WRONG)]
    totals = totals_of(runs)
    assert (totals["success"], totals["tsr"], totals["tcr"]) == (1, pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert totals["ssr"] == pytest.approx(6 / 8)
    assert totals["false_done"] == 0


def report(planner: str, *runs: Ran) -> Report:
    return Report("id", planner, "P0", [1], runs, 1.0)


@pytest.mark.parametrize("end", [End.HUNG, End.FALSE_DONE, End.DOUBLED, End.NOT_MET])
def test_under_faults_the_gate_is_that_nothing_hangs_lies_or_happens_twice(end: End) -> None:
    made = ended(35, end)
    assert made.end is end
    (said,) = report(GOLD, ended(1, End.MET), ended(35, End.HONEST), made).misses
    assert said.endswith(": 35-tomorrow-to-phone (P1)")


def test_an_honest_end_is_no_miss_under_faults_and_one_without_them() -> None:
    assert report(GOLD, ended(35, End.HONEST)).misses == []
    assert report(GOLD, ended(35, End.HONEST, baseline="norecover", profile="P0")).misses == []
    assert report(GOLD, ended(35, End.HONEST, profile="P0")).misses == ["1 task is not met: 35-tomorrow-to-phone"]


def test_a_loss_that_keeps_a_task_from_its_end_is_explained_by_the_task() -> None:
    declared, movable = ended(18, End.HONEST, "P3"), ended(31, End.HONEST, "P3")
    assert "P3" in declared.task.about.faults
    assert report(GOLD, declared).misses == []
    assert report(GOLD, movable).misses == ["not met after a loss, and the task does not say why: 31-three-prices (P3)"]
    assert report(GOLD, ended(31, End.HONEST, "P3", baseline="norecover")).misses == []
    stuck = ended(1, End.HONEST, "P3", movable=("pick",))
    assert report(GOLD, stuck).misses == [
        "not met after a loss, though other devices may do it: 01-todays-errors (pick)"
    ]


def test_work_that_another_device_may_do_is_told_from_work_of_the_lost_one_alone() -> None:
    states = {
        "here": (TaskState.FAILED, Selector(name="desk")),
        "there": (TaskState.CANCELLED, None),
        "either": (TaskState.UNKNOWN, Selector(any=[Selector(name="desk"), Selector(name="gpu")])),
        "done": (TaskState.SUCCEEDED, None),
        "after": (TaskState.SKIPPED, None),
    }
    log, view = Log(), View(CONSTELLATION)
    for name, (state, device) in states.items():
        record = TaskRecord(since_ms=1, state=state)
        puts: dict[str, Any] = {f"spec__{name}": spec(name, device=device), f"task__{name}": record}
        log.add("planned", **puts)
    view.apply(log.rows)
    assert movable(view, "d-desk", "desk") == ["there", "either"]
    assert movable(view, "", "") == []


def test_a_task_that_cannot_be_said_yet_is_not_run_and_no_miss_under_faults() -> None:
    left = ran(5, "", WRONG, profile="P1")
    assert left.end is End.NOT_RUN
    assert report(GOLD, left).misses == []


def test_profiles_and_baselines_stand_in_one_table() -> None:
    runs = [
        ended(1, End.MET, profile="P0"),
        ended(1, End.MET, profile="P0", baseline="seq"),
        ended(1, End.MET, recoveries={"retried": 2}, struck=("the hub is killed",)),
        ended(35, End.HONEST, recoveries={"person": 1}),
    ]
    head, *rows = report(GOLD, *runs).conditions()
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert [(row["faults"], row["met"], row["honest"]) for row in found] == [
        ("P0", "1/1", "0"),
        ("P0 seq", "1/1", "0"),
        ("P1", "1/2", "1"),
    ]
    assert (found[2]["retried"], found[2]["person"], found[2]["TSR"]) == ("2", "1", "50.0%")
    assert "| P1 | 1 | 1/2 |" in report(GOLD, *runs).markdown()


def test_the_gate_of_gold_is_every_task_and_names_those_that_are_not_met() -> None:
    assert report(GOLD, ran(1, "succeeded", RIGHT)).misses == []
    said = report(GOLD, ran(1, "succeeded", RIGHT, WRONG), ran(18, "", WRONG)).misses
    assert said[0] == "2 tasks are not met: 01-todays-errors, 18-top-ten"
    assert said[1] == "said to be done and not: 01-todays-errors"


def test_the_gate_of_no_planner_is_that_no_recipe_takes_what_it_does_not_answer() -> None:
    left = ran(1, "", WRONG, fault=NOT_TAKEN)
    assert report(NONE, left, ran(18, "succeeded", RIGHT)).misses == []
    assert report(NONE, left, ran(18, "failed", WRONG)).misses == ["recipes took what they do not answer: 18-top-ten"]


def test_a_check_that_notices_nothing_is_a_miss() -> None:
    assert report(GOLD, ran(1, "succeeded", RIGHT, unnoticed=("the answer is empty",))).misses == [
        "the check does not notice: 01-todays-errors: the answer is empty"
    ]


def test_the_interval_is_over_seeds() -> None:
    assert intervals([ran(1, "succeeded", RIGHT)]) == {"tsr": None, "ssr": None, "tcr": None}
    runs = [
        ran(number, "succeeded" if seed > 1 else "failed", RIGHT, seed=seed) for seed in (1, 2, 3) for number in (1, 6)
    ]
    found = intervals(runs)
    for share in ("tsr", "tcr"):
        low, high = found[share] or (0.0, 0.0)
        assert 0.0 <= low < 2 / 3 < high <= 1.0
    assert found["ssr"] == [1.0, 1.0]


def test_the_report_counts_questions_approvals_and_where_the_time_went() -> None:
    consent = Consent(questions=2, needed=1, wrong=1, approvals=1, approvals_needed=1)
    runs = [
        ran(
            36,
            "succeeded",
            RIGHT,
            consent=consent,
            times={"planning": 200, "queue": 900},
            figures=Figures(2_000, tasks=1),
        ),
        ran(47, "succeeded", RIGHT, consent=Consent(missed=1), times={"queue": 100}, figures=Figures(2_000, tasks=1)),
    ]
    made = report(GOLD, *runs)
    assert made.misses == []
    assert made.times()[1:] == [["queue", "1.0", "25%"], ["planning", "0.2", "5%"]]
    assert made.consent() == [
        "questions 2: needed 1, welcome 0, wrong 1 (36-ask-ann), missed 1",
        "approvals 1: needed 1, effects beyond them 0",
        f"effects are seen of {', '.join(seen_tools())}",
    ]
    assert "| queue | 1.0 | 25% |" in made.markdown()
    beyond = ran(1, "succeeded", RIGHT, consent=Consent(beyond=("mail.send on desk",)))
    assert report(GOLD, *runs, beyond).misses == [
        "had an effect that nobody approved: 01-todays-errors (mail.send on desk)"
    ]


def test_the_page_and_the_document_hold_each_task_and_the_papers_figures() -> None:
    made = report(GOLD, ran(1, "succeeded", RIGHT), ran(18, "failed", WRONG, fault="a | b"))
    page = made.markdown()
    assert "| ok 01-todays-errors | P0 |" in page
    assert "| -- 18-top-ten | P0 |" in page
    assert "a / b" in page
    assert made.document()["paper"]["tsr"] == 0.709
    assert made.document()["runs"][1]["points"] == [{"name": "wrong", "met": False, "weight": 1}]


class Asked:
    """A client that notes what was said; `asks` are the open questions of devices."""

    def __init__(self, asks: Sequence[dict[str, Any]] = (), late: Problem | None = None) -> None:
        self.said: list[tuple[str, Any]] = []
        self._asks = list(asks)
        self._late = late

    def get(self, call: Get[Any]) -> Any:
        assert call == routes.get_asks()
        return {"items": self._asks}

    def post(self, call: Post[Any], body: Any = None) -> Any:
        self.said.append((call.path, body))
        if self._late is not None:
            raise self._late


def question(text: str, task: str | None = None) -> Question:
    return Question(id="q", kind="person" if task else "approval", opened_ms=0, task=task, text=text)


def person_of(client: Asked, answers: Answers) -> tuple[Person, list[float]]:
    clock = [0.0]
    return Person(client, answers, now=lambda: clock[0]), clock


def test_a_person_thinks_a_second_and_answers_once() -> None:
    client = Asked()
    person, clock = person_of(client, Answers(questions=[Choose(holds="trash", value="yes")]))
    view, _ = a_view(question__ask=question("Into the trash?", "ask"), question__plan=question("May trash run?"))
    for clock[0] in (0.0, 0.9, 1.0, 2.0):
        person.look(view)
    assert client.said == [
        (f"/approvals/{CONSTELLATION}:ask/answer", {"value": "yes"}),
        (f"/approvals/{CONSTELLATION}:plan/approve", {}),
    ]
    assert person.approvals == 1
    assert person.asked == ["Into the trash?", "May trash run?"]


def test_a_person_may_allow_a_plan_and_deny_its_change() -> None:
    client = Asked()
    person, clock = person_of(client, Answers(questions=[Choose(holds="beyond", value="deny")]))
    wide = Question(id="q", kind="edit", opened_ms=0, text="It goes beyond that", wider=["mail.send"])
    view, _ = a_view(question__edit=wide, question__plan=question("May it run?"))
    for clock[0] in (0.0, 1.0):
        person.look(view)
    said = {path.rpartition("/")[2] for path, _ in client.said if ":edit/" in path}
    assert said == {"deny"}
    assert {path.rpartition("/")[2] for path, _ in client.said if ":plan/" in path} == {"approve"}
    assert "It goes beyond that\nmail.send" in person.asked


def test_a_question_that_nobody_foresaw_stays_open_and_is_told() -> None:
    client = Asked()
    person, clock = person_of(client, Answers())
    view, _ = a_view(question__ask=question("Red or blue?", "ask"))
    for clock[0] in (0.0, 5.0):
        person.look(view)
    assert client.said == []
    assert person.unforeseen == ["Red or blue?"]


def test_a_person_may_deny_and_answers_devices_too() -> None:
    client = Asked([{"id": "d-1:x", "answer": "", "tool": "mcp.svc.restart", "args": "{}"}])
    person, clock = person_of(client, Answers(approvals="deny", asks="deny"))
    view, _ = a_view(head=head_of(attention=[Attention.OWNER_ASKED]), question__plan=question("May it run?"))
    for clock[0] in (0.0, 1.5):
        person.look(view)
    assert client.said == [(f"/approvals/{CONSTELLATION}:plan/deny", {}), ("/asks/d-1:x/deny", {})]


def test_an_answer_that_comes_too_late_is_let_be_and_another_refusal_is_raised() -> None:
    late = usage("answered already")
    late.code = "conflict"
    for problem, raises in ((late, False), (usage("no such value"), True)):
        client = Asked(late=problem)
        person, clock = person_of(client, Answers())
        view, _ = a_view(question__plan=question("May it run?"))
        person.look(view)
        clock[0] = 2.0
        if raises:
            with pytest.raises(Problem):
                person.look(view)
        else:
            person.look(view)
