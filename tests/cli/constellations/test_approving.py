"""`approvals | approve | deny`: four answers, several at once, who answered what, and what is allowed for good."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from starloom.cli.text.constellation_text import how_to_answer
from starloom.client.terminal.typed import typed
from starloom_protocol.api.schedules import NoticeRow
from starloom_protocol.records.entities import Choice, Question
from tests.cli.test_commands import SOME_ID, StubHub, starloom

CALL = {"task": "restart", "tool": "service.restart", "args": {"name": "nginx"}, "devices": ["vps"], "effects": []}


@pytest.fixture
def hub(hub: StubHub) -> StubHub:
    hub.answers["GET", "/enrollments"] = (200, {"items": []})
    hub.answers["GET", "/session"] = (200, {"role": "owner", "scopes": [], "approves": True})
    for path in ("/asks", "/constellations", "/schedules", "/devices"):
        hub.answers["GET", path] = (200, {"items": []})
    return hub


def asked(**more: Any) -> dict[str, Any]:
    soon = (datetime.now(UTC) + timedelta(hours=5, minutes=1)).isoformat()
    row = {
        "id": "c1:approve-plan",
        "kind": "approval",
        "text": "Run it?",
        "constellation": "c1",
        "constellation_name": "web",
    }
    return {**row, "expires_at": soon, "choices": [], "calls": [CALL], "once_because": "", **more}


@pytest.mark.parametrize(
    ("kind", "values", "told"),
    [
        ("person", [], "starloom approve c-1:ask-1, or starloom deny c-1:ask-1"),
        ("person", ["allow", "deny"], "starloom approve c-1:ask-1, or starloom deny c-1:ask-1"),
        (
            "person",
            ["trash", "leave it"],
            "starloom approve c-1:ask-1 --value trash - or: starloom approve c-1:ask-1 --value 'leave it'",
        ),
        (
            "planner",
            ["nas"],
            "starloom approve c-1:ask-1 --value nas - or: starloom approve c-1:ask-1 --value WORDS",
        ),
    ],
)
def test_an_open_question_tells_lines_that_answer_it(kind: str, values: list[str], told: str) -> None:
    choices = [Choice(label=value.title(), value=value) for value in values]
    question = Question(id="ask-1", kind=kind, opened_ms=1, text="What now?", choices=choices)
    assert how_to_answer("c-1:ask-1", question, approves=True) == told


def test_a_device_that_is_let_in_is_called_by_its_name(hub: StubHub) -> None:
    hub.answers["POST", "/enrollments/e-1/approve"] = (200, {"id": "e-1", "name": "Große Kiste", "state": "approved"})
    assert starloom(hub, "approve", "e-1") == (0, "Große Kiste is let in\n")


def test_what_waits_says_until_when_and_what_always_would_allow(hub: StubHub) -> None:
    once = asked(id="c2:approve-plan", calls=[], once_because="its policy asks each time", expires_at=None)
    hub.answers["GET", "/approvals"] = (200, {"items": [asked(), once]})
    risky = {
        **CALL,
        "task": "go",
        "tool": "shell.run",
        "args": {"argv": ["rm", "-rf", "x" * 400]},
        "effects": ["destroy"],
    }
    steering = {**CALL, "args": {"name": "ng\x1b[2Jinx", "of": [{"mtime_s": 1795597200}]}, "effects": ["change"]}
    hub.answers["GET", "/approvals/c1:approve-plan/calls"] = (
        200,
        {"items": [steering, risky], "more": 3, "held": ["vps does not allow net:reach for go yet"]},
    )
    hub.answers["GET", "/approvals/c2:approve-plan/calls"] = (200, {"items": [], "more": 0})
    code, said = starloom(hub, "approvals")
    assert code == 0
    assert "\x1b" not in said
    assert "    restart: service.restart " in said
    assert '"mtime_s": "2026-11-25 ' in said
    assert '    go: shell.run {"argv": ["rm", "-rf", "xxxx' in said
    assert "x ... (427 characters) on vps  (destroy)" in said
    assert "and 3 more; all of them: " in said
    assert "    vps does not allow net:reach for go yet\n" in said
    assert "starloom approvals c1:approve-plan" in said
    assert "c1:approve-plan  Run it?  (web; denied without an answer in 5 h)" in said
    assert '--always allows from now on: service.restart {"name": "nginx"} on vps' in said
    assert "only this once: its policy asks each time" in said


def test_a_person_who_may_not_approve_reads_who_answers(hub: StubHub) -> None:
    hub.answers["GET", "/session"] = (200, {"role": "viewer", "scopes": [], "approves": False})
    hub.answers["GET", "/approvals"] = (200, {"items": [asked(kind="task")]})
    code, said = starloom(hub, "approvals")
    assert code == 0
    assert said.splitlines()[0] == "Only somebody who may approve can answer; your sign-in or token may not."


def test_one_approval_is_shown_with_each_call_whole(hub: StubHub) -> None:
    calls = [{**CALL, "task": f"go-{number}", "args": {"path": "x" * 400}, "effects": ["write"]} for number in range(9)]
    hub.answers["GET", "/approvals/c1:approve-plan/calls"] = (200, {"items": calls, "more": 2})
    code, said = starloom(hub, "approvals", "c1:approve-plan")
    assert code == 0
    assert said.count("x" * 400) == 9
    assert "and 2 more calls, which only the plan lists" in said


@pytest.mark.parametrize(
    ("role", "scopes", "asks"), [("viewer", [], 0), ("owner", ["run"], 0), ("operator", ["fleet"], 1)]
)
def test_devices_that_ask_to_join_are_looked_for_by_those_who_may(
    hub: StubHub, role: str, scopes: list[str], asks: int
) -> None:
    hub.answers["GET", "/session"] = (200, {"role": role, "scopes": scopes, "approves": True})
    hub.answers["GET", "/approvals"] = (200, {"items": []})
    assert starloom(hub, "approvals") == (0, "Nothing waits for you.\n")
    assert [path for _, path, _ in hub.asked].count("/enrollments") == asks


def test_the_four_answers(hub: StubHub) -> None:
    for action in ("approve", "deny"):
        hub.answers["POST", f"/approvals/c1:q/{action}"] = (200, {"answer": action})
    assert starloom(hub, "approve", "c1:q")[0] == 0
    assert (
        starloom(hub, "approve", "c1:q", "--always", "--reason", "weekly")[1] == "c1:q answered: approve (for good)\n"
    )
    assert starloom(hub, "deny", "c1:q")[0] == 0
    assert starloom(hub, "deny", "c1:q", "--reason", "not today")[0] == 0
    bodies = [body for command, _, body in hub.asked if command == "POST"]
    assert bodies == [{}, {"always": True, "reason": "weekly"}, {"reason": ""}, {"reason": "not today"}]
    assert starloom(hub, "approve", "c1:q", "--always", "--value", "go")[0] == 2


def test_several_are_answered_at_once_and_the_first_refusal_ends_it(hub: StubHub) -> None:
    hub.answers["POST", "/approvals/c1:q/approve"] = (200, {"answer": "allow"})
    hub.answers["POST", "/approvals/c3:q/approve"] = (200, {"answer": "allow"})
    assert starloom(hub, "approve", "c1:q", "c3:q")[1] == "c1:q answered: allow\nc3:q answered: allow\n"
    code, said = starloom(hub, "approve", "c1:q", "c2:q", "c3:q")
    assert code != 0
    assert "c3:q answered" not in said


def test_who_answered_what(hub: StubHub) -> None:
    row = asked(answer="deny", answered_by="person:ann", answered_at="2026-01-02T03:04:05Z", reason="not today")
    hub.answers["GET", "/approvals"] = (200, {"items": [row]})
    assert "Run it?  denied by ann, 2026-01-02" in starloom(hub, "approvals", "--answered")[1]
    hub.answers["GET", "/approvals"] = (200, {"items": []})
    assert starloom(hub, "approvals", "--answered")[1] == "Nothing was answered lately.\n"


def test_what_is_allowed_for_good_is_listed_and_taken_back(hub: StubHub) -> None:
    standing: dict[str, Any] = {**CALL, "id": "s-1", "by": "person:ann", "at": "2026-01-02T03:04:05Z"}
    standing["devices"] = [{"id": "d-1", "name": "vps"}]
    hub.answers["GET", "/standing-approvals"] = (200, {"items": [standing]})
    hub.answers["DELETE", "/standing-approvals/s-1"] = (200, {"id": "s-1"})
    said = starloom(hub, "approvals", "--always")[1]
    assert 's-1  service.restart {"name": "nginx"} on vps  (by person:ann' in said
    assert starloom(hub, "approvals", "--revoke", "s-1") == (0, "s-1 is asked again from now on\n")
    assert starloom(hub, "approvals", "--revoke", "s-2")[0] != 0


def test_an_answer_is_told_by_the_label_of_its_choice(hub: StubHub) -> None:
    choices = [{"label": "Go on", "value": "go_on"}, {"label": "Stop", "value": "stop"}]
    row = asked(answer="stop", answered_by="person:root#55ajh5", answered_at="2026-01-02T03:04:05Z", choices=choices)
    hub.answers["GET", "/approvals"] = (200, {"items": [row], "next": None})
    assert "answered “Stop” by root, 2026-01-02" in starloom(hub, "approvals", "--answered")[1]


def test_a_devices_question_is_listed_and_answered_like_the_others(hub: StubHub) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=5, minutes=1)).isoformat()
    ask = {
        "id": "d-vps:1f2e3d4c",
        "answer": None,
        "answers": "hub",
        "args": '{"name":"nginx"}',
        "constellation": "c1",
        "constellation_name": "web",
        "device": {"id": "d-vps", "name": "vps"},
        "expires_at": soon,
        "line": "starloom-agent approve 1f2e3d4c",
        "tool": "service.restart",
    }
    hub.answers["GET", "/approvals"] = (200, {"items": []})
    there = {**ask, "id": "d-pi:00000000", "answers": "here", "device": {"id": "d-pi", "name": "pi"}}
    hub.answers["GET", "/asks"] = (200, {"items": [ask, there, {**ask, "answer": "allow"}]})
    said = starloom(hub, "approvals")[1]
    assert said.count("d-vps:1f2e3d4c") == 1
    assert 'vps asks before service.restart {"name":"nginx"} for web  (denied without an answer in 5 h)' in said
    assert "only its owner answers, on pi: starloom-agent approve 1f2e3d4c" in said
    for action in ("approve", "deny"):
        hub.answers["POST", f"/asks/d-vps:1f2e3d4c/{action}"] = (200, {})
    assert starloom(hub, "approve", "d-vps:1f2e3d4c")[0] == 0
    assert starloom(hub, "deny", "d-vps:1f2e3d4c", "--reason", "no")[0] == 0
    assert starloom(hub, "approve", "d-vps:1f2e3d4c", "--always")[0] == 2
    posted = [path for command, path, _ in hub.asked if command == "POST"]
    assert posted == ["/asks/d-vps:1f2e3d4c/approve", "/asks/d-vps:1f2e3d4c/deny"]


def test_work_that_cannot_go_on_waits_for_a_person_too(hub: StubHub) -> None:
    hub.answers["GET", "/approvals"] = (200, {"items": []})
    rows = [
        {"id": "c-1", "name": "Zip", "state": "active", "attention": ["no_capable_device"]},
        {"id": "c-2", "name": "Quiet", "state": "active", "attention": []},
        {"id": "c-3", "name": "Over", "state": "failed", "attention": ["no_capable_device"]},
    ]
    hub.answers["GET", "/constellations"] = (200, {"items": rows})
    items = [
        {
            "task": "pack",
            "state": "ready",
            "reason": "no_capable_device",
            "sentence": "pack waits for nas, which left.",
        },
        {"task": "send", "state": "waiting", "reason": None, "sentence": "send waits for pack."},
    ]
    attention = [
        {"reason": "no_capable_device", "sentence": "A task fits no device."},
        {"reason": "stalled", "sentence": "It stands still."},
    ]
    hub.answers["GET", "/constellations/c-1/why"] = (200, {"items": items, "attention": attention})
    notice = NoticeRow(at=None, constellation=None, count=1, text="It was paused.")
    hub.answers["GET", "/schedules"] = (200, {"items": [{"name": "every evening", "notice": notice}]})
    hub.answers["GET", "/devices"] = (200, {"items": [{"id": "d-1", "name": "vps", "remembers": "It remembers more."}]})
    code, said = starloom(hub, "approvals")
    assert code == 0
    lines = [
        "pack waits for nas, which left.  (Zip; the way out: starloom why pack c-1)",
        "It stands still.  (Zip; the way out: starloom why c-1)",
        "It was paused.  (every evening; the way out: starloom schedule seen 'every evening')",
        "It remembers more.  (vps; the way out: starloom device seen vps)",
    ]
    assert said.splitlines() == [typed(line) for line in lines]


@pytest.mark.parametrize(
    ("link", "revoked", "waits"), [("offline", False, 1), ("online", False, 0), ("offline", True, 0)]
)
def test_work_for_a_page_that_is_asleep_waits_with_its_address(
    hub: StubHub, link: str, revoked: bool, waits: int
) -> None:
    hub.answers["GET", "/approvals"] = (200, {"items": []})
    row = {"id": "c-1", "name": "Picture", "state": "active", "attention": []}
    hub.answers["GET", "/constellations"] = (200, {"items": [row]})
    phone = {"id": "d-1", "name": "phone", "os": "browser", "link": link, "revoked": revoked, "remembers": ""}
    hub.answers["GET", "/devices"] = (200, {"items": [phone]})
    item = {"task": "take", "state": "ready", "reason": "device_away", "sentence": "take waits for phone."}
    asleep = {**item, "asleep": ["phone"], "open": {"url": "https://hub.lan:8471/tab/", "qr": None}}
    hub.answers["GET", "/constellations/c-1/why"] = (200, {"items": [asleep], "attention": []})
    said = starloom(hub, "approvals")[1]
    assert said.count("take waits for phone.  (Picture; the way out: open https://hub.lan:8471/tab/ on phone)") == waits
    assert ("Nothing waits for you." in said) is (waits == 0)


def test_an_approval_whose_devices_are_gone_says_so(hub: StubHub) -> None:
    hub.answers["GET", "/approvals"] = (200, {"items": [asked(calls=[])]})
    gone = "vps, which was revoked on 1 May, 10:00 UTC, is gone: restart cannot run"
    shown = {"items": [{**CALL, "devices": [], "effects": ["change"]}], "more": 0, "gone": [gone]}
    hub.answers["GET", "/approvals/c1:approve-plan/calls"] = (200, shown)
    _, said = starloom(hub, "approvals")
    assert 'service.restart {"name": "nginx"} on no device that is here  (change)' in said
    assert typed(f"    {gone}; deny it, or change the plan: starloom edit c1 --editor") in said
    hub.answers["POST", "/approvals/c1:q/approve"] = (200, {"answer": "allow"})
    assert starloom(hub, "approve", "c1:q", "--anyway")[0] == 0
    assert hub.asked[-1][2] == {"anyway": True}


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_the_id_of_a_run_is_answered_with_those_of_its_questions(hub: StubHub, verb: str) -> None:
    row = {"id": f"{SOME_ID}:approve-plan", "constellation": SOME_ID}
    hub.answers["GET", "/approvals"] = (200, {"items": [row, {"id": "c-2:q", "constellation": "c-2"}]})
    code, said = starloom(hub, verb, SOME_ID)
    assert (code, typed(f"Type `starloom {verb} {SOME_ID}:approve-plan`.") in said) == (2, True)
    hub.answers["GET", "/approvals"] = (200, {"items": []})
    assert "is a run, and it asks nothing" in starloom(hub, verb, SOME_ID)[1]
    assert {method for method, _, _ in hub.asked} == {"GET"}
