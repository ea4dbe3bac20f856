"""Every operation of the API that acts on work that is live is performed by a person in the page.

What there is comes from the OpenAPI of the running hub: an operation without a journey, and a journey without its
operation, fail. A journey counts only by the requests that the page itself sent, with the right path, answered 2xx.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, Response, StorageState, expect

from starloom_agent.policy.commands import CommandRule
from tests.e2e.asking import asking_device
from tests.e2e.conftest import NewContext
from tests.e2e.pointer import SEEN_MS
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.e2e

V1 = "/api/v1"
SENT_WITHIN_S = 10.0 * SLOWER
UNSAFE = ("post", "put", "patch", "delete")
# What is neither live work nor a device at work: said by its first part, with the tests that perform it.
ELSEWHERE = {
    "artifacts": "files of tasks are sent by agents (tests/device_agents)",
    "brief": "before there is a constellation (test_assistants)",
    "enrollments": "a device joins (test_fleet, test_joining)",
    "lab": "what is broken on purpose, on simulated devices only (test_lab)",
    "lan": "the hub's own listener (test_joining)",
    "live": "the page's own stream (every test of this folder)",
    "model": "the hub's model (test_waiting)",
    "people": "who may use the hub (tests/edge/routes/people/test_sessions.py)",
    "prompt-preview": "before there is a constellation (test_prompt_preview)",
    "recipe-proposals": "plans that may be kept (test_keeping)",
    "recipes": "plans that are kept (test_rows)",
    "schedule-notices": "news of clocks (tests/edge/routes/requests/test_schedules.py)",
    "schedule-preview": "before there is a schedule (test_schedules)",
    "schedules": "clocks (test_schedules)",
    "secrets": "values that are kept (test_secrets)",
    "sign-in": "sessions (test_signing_in)",
    "sign-in-links": "sessions (test_signing_in)",
    "sign-out": "sessions (test_small_pages)",
    "standing-approvals": "what later work may do (test_approvals)",
    "tokens": "keys of programs (test_small_pages)",
    "what-if": "before there is a constellation (tests/edge/routes/requests/test_what_if.py)",
}
BEFORE = {f"POST {V1}/constellations", f"POST {V1}/constellations/preview", f"PATCH {V1}/devices/{{device}}"}
RESTORED = {f"POST {V1}/devices/{{device}}/seen"}
"""Only a hub on a restored history has it (tests/chaos/test_restored.py); the page's own test presses its button."""
GONE = {f"POST {V1}/devices/{{device}}/forget"}
"""Only a device that is gone takes it, and the page lists none; tests/cli/devices/test_fleet.py forgets one."""

_C = f"{V1}/constellations/{{constellation}}"
ASKS = {f"POST {_C}/what-if"}
"""It asks about a run and changes nothing; test_timeline presses it."""
OF_GOALS = {f"POST {_C}/tasks/{{task}}/hint"}
"""Only work of a model takes it, which the stack of these journeys has not (test_goals gives one from the page)."""


def operations_of(document: dict[str, Any]) -> set[str]:
    """Return every unsafe operation as `METHOD /path`, one for each value of a part that is one of a few words."""
    found: set[str] = set()
    for path, item in document["paths"].items():
        for method in UNSAFE:
            if method not in item:
                continue
            paths = [path]
            for one in item[method].get("parameters", []):
                words = one["schema"].get("enum", ()) if one["in"] == "path" else ()
                if words:
                    paths = [each.replace("{" + one["name"] + "}", word) for each in paths for word in words]
            found |= {f"{method.upper()} {each}" for each in paths}
    return found


def on_live_work(operations: set[str]) -> set[str]:
    return {
        one
        for one in operations - BEFORE - RESTORED - GONE - ASKS - OF_GOALS
        if (tail := one.partition(V1 + "/")[2]) and tail.partition("/")[0] not in ELSEWHERE
    }


@dataclass
class Person:
    """Somebody at the page, and what the page sent to the hub and was answered with 2xx."""

    page: Page
    stack: Stack
    sent: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    asked: int = 0

    def ask(self, request: Request) -> None:
        self.asked += request.method.lower() in UNSAFE

    def lose(self, request: Request) -> None:
        self.asked -= request.method.lower() in UNSAFE

    def note(self, response: Response) -> None:
        path = response.url.removeprefix(self.stack.url).partition("?")[0]
        if response.request.method.lower() in UNSAFE:
            answered = self.sent if 200 <= response.status < 300 else self.refused
            answered.append(f"{response.request.method} {path}")

    def until_sent(self, operation: str) -> None:
        pattern = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(operation)))
        deadline = time.monotonic() + SENT_WITHIN_S
        while not any(pattern.fullmatch(one) for one in self.sent):
            assert time.monotonic() < deadline, (
                f"the page did not send {operation}, only {self.sent}, refused {self.refused}"
            )
            self.page.wait_for_timeout(50)  # lets the browser tell what it sent

    def until_answered(self) -> None:
        """Wait for the answers to what the page sent: the browser tells of none that comes after its page was left."""
        deadline = time.monotonic() + SENT_WITHIN_S
        while len(self.sent) + len(self.refused) < self.asked and time.monotonic() < deadline:
            self.page.wait_for_timeout(50)

    def submit(self, *tasks: dict[str, Any], depends: str = "", hold: bool = False) -> str:
        """Submit tasks; `depends` is `from>to`, where one waits for the other."""
        source, _, target = depends.partition(">")
        links = [{"from": source, "to": target, "when": "success"}] if depends else []
        plan = {"starloom": 1, "policy": {"approval": "never"}, "tasks": list(tasks), "dependencies": links}
        return self.stack.submit({**plan, "name": f"Stepped into by hand: {tasks[0]['id']}"}, hold=hold)

    def at(self, constellation: str, task: str = "") -> Locator:
        """Open a constellation, or a task of it, and return where its buttons are."""
        self.until_answered()
        self.page.goto(f"/constellations/{constellation}" + (f"/t/{task}" if task else ""))
        return self.page.get_by_role("complementary", name=f"Task {task}") if task else self.page.locator("body")

    def press(self, where: Locator, name: str, sure: str = "") -> None:
        """Press a button once it can be pressed and was seen; `sure` is the answer to the question that it asks."""
        button = where.get_by_role("button", name=re.compile(f"^{name}( r)?$"))
        button.wait_for()
        self.page.wait_for_timeout(SEEN_MS)
        expect(button).not_to_have_attribute("aria-disabled", "true")
        button.click()
        if sure:
            self.page.get_by_role("dialog").get_by_role("button", name=sure, exact=True).click()

    def until_task(self, constellation: str, task: str, *states: str) -> None:
        state = self.stack.task_state
        until(lambda: state(constellation, task) in states, f"{task} is {' or '.join(states)}")

    def look(self, name: str, **more: Any) -> dict[str, Any]:
        return {"id": name, "tool": "system.info", "device": {"name": self.stack.desktop}, **more}


def steer_all(person: Person) -> None:
    one = person.submit(person.stack.gated("wait", "steered"))
    page = person.at(one)
    for name in ("Pause", "Resume"):
        person.press(page, name)
        expect(
            page.get_by_role("button", name={"Pause": "Resume", "Resume": "Pause"}[name], exact=True)
        ).to_be_visible()
    person.press(page, "Cancel", sure="Cancel the constellation")
    person.stack.until_state(one, "cancelled")


def steer_task(person: Person) -> None:
    one = person.submit(person.stack.gated("wait", "stepped"), person.look("later"), depends="wait>later")
    person.until_task(one, "wait", "running")
    later = person.at(one, "later")
    person.press(later, "Hold")
    person.press(later, "Release")
    person.press(later, "Skip")
    person.until_task(one, "later", "skipped")
    wait = person.at(one, "wait")
    person.press(wait, "Cancel task", sure="Cancel task")
    person.until_task(one, "wait", "cancelled")
    person.press(wait, "Retry")
    person.until_task(one, "wait", "running")
    person.stack.open_gate("stepped")
    person.stack.until_state(one, "succeeded")  # what hangs on it must not be at work when it is done again
    person.press(wait, "Retry from here")
    person.until_sent(f"POST {_C}/tasks/{{task}}/retry-from")
    person.stack.until_state(one, "succeeded")


def change_plan(person: Person) -> None:
    one = person.submit(person.stack.gated("wait", "changed"), person.look("later"), depends="wait>later")
    person.until_task(one, "wait", "running")
    page = person.at(one)
    person.press(page, "Edit plan")
    # The first row that can be changed is open already.
    person.press(page, "Remove")
    person.until_sent(f"PUT {_C}/draft")
    person.press(page, "Apply")
    person.page.wait_for_url(re.compile(f"/constellations/{one}$"))
    until(lambda: person.stack.task_state(one, "later") == "absent", "the row is gone")
    person.stack.open_gate("changed")
    person.stack.until_state(one, "succeeded")


def go_back(person: Person) -> None:
    one = person.submit(person.look("look", undo={"tool": "system.info"}))
    person.stack.until_state(one, "succeeded")
    task = person.at(one, "look")
    person.press(task, "Undo", sure="Undo look")
    until(lambda: len(person.stack.client.get(f"/constellations/{one}")["tasks"]) == 2, "the undoing is a task")
    person.stack.until_state(one, "succeeded")
    person.press(person.at(one, "look"), "Fork from here")
    person.page.wait_for_url(lambda url: "/constellations/" in url and one not in url)


def answer_questions(person: Person) -> None:
    question = {"id": "ask", "person": "Is the lid open?", "choices": [{"value": "open", "label": "It is open"}]}
    for button, state, task, hold in (
        ("Approve", "succeeded", person.look("allowed"), True),
        ("Deny", "cancelled", person.look("denied"), True),
        ("It is open", "succeeded", question, False),
    ):
        one = person.submit(task, hold=hold)
        asked = person.at(one).get_by_role("region", name="Needs you")
        asked.get_by_role("button", name=button, exact=True).click()
        expect(asked).to_have_count(0)
        person.stack.until_state(one, state)


def rule_a_device(person: Person) -> None:
    """Its questions are answered, its work is moved, and what it may have done is told."""
    name = "ruled"
    asking_device(person.stack, name, "hub", CommandRule.of(["sleep", {"word": "[0-9]+"}]))

    def work(seconds: str) -> dict[str, Any]:
        return {"tool": "shell.run", "args": {"argv": ["sleep", seconds]}, "device": {"name": name}}

    one = person.submit({"id": "refused", **work("700")}, {"id": "slow", **work("600")})
    if person.stack.state(one) == "awaiting_approval":
        person.at(one).get_by_role("button", name="Approve", exact=True).click()
    asked = person.page.get_by_role("region", name="Waits on your devices").locator(".item", has_text=name)
    person.page.goto("/inbox")
    asked.filter(has_text='"700"').get_by_role("button", name="Deny", exact=True).click()
    asked.filter(has_text='"600"').get_by_role("button", name="Allow once").click()
    person.until_task(one, "slow", "running")
    person.page.goto("/devices")
    person.page.get_by_role("link", name=re.compile(name)).first.click()
    panel = person.page.get_by_role("complementary", name=f"Device {name}")
    person.press(panel, "Drain...", sure="Drain")
    person.press(panel, "Take work again")
    person.press(panel, "Reserve")
    person.press(panel, "Take all work")
    person.press(panel, "Revoke", sure="Revoke")
    person.until_task(one, "slow", "unknown")
    person.press(person.at(one, "slow"), "It happened")
    person.until_task(one, "slow", "succeeded")


def stop_everything(person: Person) -> None:
    one = person.submit(person.stack.gated("wait", "stopped"))
    person.page.goto("/devices")
    person.press(person.page.locator("body"), "Stop everything", sure="Stop everything")
    person.stack.until_state(one, "cancelled")


JOURNEYS: dict[Callable[[Person], None], list[str]] = {
    steer_all: [f"POST {_C}/{action}" for action in ("pause", "resume", "cancel")],
    steer_task: [
        f"POST {_C}/tasks/{{task}}/{action}" for action in ("hold", "release", "skip", "cancel", "retry", "retry-from")
    ],
    change_plan: [f"PUT {_C}/draft", f"POST {_C}/edits", f"DELETE {_C}/draft"],
    go_back: [f"POST {_C}/undo", f"POST {_C}/fork"],
    answer_questions: [f"POST {V1}/approvals/{{approval}}/{answer}" for answer in ("approve", "deny", "answer")],
    rule_a_device: [
        *(f"POST {V1}/asks/{{ask}}/{answer}" for answer in ("approve", "deny")),
        *(f"POST {V1}/devices/{{device}}/{action}" for action in ("drain", "resume", "reserve", "share", "revoke")),
        f"POST {_C}/tasks/{{task}}/mark",
    ],
    stop_everything: [f"POST {V1}/stop-all"],
}


@pytest.fixture
def person(stack: Stack, session: StorageState, sample: Seen, new_context: NewContext) -> Iterator[Person]:
    context = new_context("wide", session)
    made = Person(context.new_page(), stack)
    made.page.on("request", made.ask)
    made.page.on("response", made.note)
    made.page.on("requestfailed", made.lose)
    yield made
    context.close()


def test_every_operation_on_live_work_has_a_journey_in_the_page(stack: Stack) -> None:
    operations = operations_of(stack.client.get("/openapi.json"))
    parts = {one.partition(V1 + "/")[2].partition("/")[0] for one in operations if V1 in one}
    assert not set(ELSEWHERE) - parts, "these parts of the API are gone; take them from the list"
    walked = {operation for journey in JOURNEYS.values() for operation in journey}
    assert on_live_work(operations) == walked


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.__name__)
def test_a_person_performs_it_from_the_page(journey: Callable[[Person], None], person: Person) -> None:
    journey(person)
    for operation in JOURNEYS[journey]:
        person.until_sent(operation)
