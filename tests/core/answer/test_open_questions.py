"""The explanation of work that waits for a person tells the question, who asks it, and the values that answer."""

from __future__ import annotations

from starloom.core.answer.open_questions import open_questions
from starloom.edge.routes.work.why import explain_all
from starloom_protocol.records.entities import Choice, Policy
from starloom_protocol.vocabulary import Approval
from tests.builders import Driver, plan, task
from tests.core.plan.goals.pursued import Pursued, call


def test_a_goal_that_asks_a_person_is_explained_with_its_question() -> None:
    one = Pursued(goal={"may": {"tools": ["svc.restart"]}}, policy={"approval": "never"})
    one.step(call("svc.restart", name="web"))
    (question,) = one.made.open_questions
    explanation = explain_all(one.shard, "c1", {})
    (item,) = explanation["items"]
    assert item["task"] == "why"
    assert "a person is asked" in item["sentence"]
    (asked,) = item["questions"]
    assert explanation["questions"] == [asked]
    assert asked["id"] == f"c1:{question}"
    assert asked["by"] == "the goal why"
    assert "svc.restart" in asked["text"]
    assert asked["values"] == ["allow", "deny"]
    one.reply("deny")
    assert explain_all(one.shard, "c1", {})["questions"] == []


def test_a_goal_whose_model_is_asked_is_explained_too() -> None:
    explanation = explain_all(Pursued().shard, "c1", {})
    (item,) = explanation["items"]
    assert (item["task"], item["questions"]) == ("why", [])
    assert "its model is asked" in item["sentence"]


def test_an_approval_is_asked_before_the_plan_begins() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never"), policy=Policy(approval=Approval.ALWAYS)))
    explanation = explain_all(driver.shard, "c1", {})
    (asked,) = explanation["questions"]
    assert (asked["by"], asked["values"]) == ("the hub, before the plan begins", ["allow", "deny"])
    assert [item["questions"] for item in explanation["items"]] == [[asked]]


def test_a_task_for_a_person_asks_with_its_choices() -> None:
    driver = Driver("one")
    choices = [Choice(value="go", label="Go"), Choice(value="no", label="No", fails=True)]
    driver.submit(plan(task("p", person="Well?", choices=choices)))
    (asked,) = open_questions(driver.shard.constellations["c1"])
    assert (asked.by, asked.text, asked.values, asked.words) == (
        "the plan, by its task p", "Well?", ("go", "no"), False,
    )  # fmt: skip
