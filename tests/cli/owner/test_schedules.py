"""`starloom schedule` against a stub of the API: what is sent, what is said, what is refused unsent."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from starloom.cli import invocation
from starloom.client.terminal.typed import typed
from tests.cli.test_commands import StubHub, starloom

NEXT = ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00"]


def shown(**fields: Any) -> dict[str, Any]:
    return {
        "approved": None,
        "author": "person:root#t1",
        "devices": [],
        "catch_up": "last",
        "cron": "30 2 * * *",
        "fired": 3,
        "id": "s-1",
        "in_words": "At 02:30 every day",
        "last": {"state": "succeeded"},
        "name": "Nightly",
        "next": NEXT,
        "notice": None,
        "notify": "failure",
        "notify_device": None,
        "overlap": "skip",
        "params": {"folder": "Books", "source": "laptop"},
        "recipe": "disk-space",
        "request": "",
        "running": [],
        "skipped": 1,
        "state": "active",
        "stopped": None,
        "zone": "Europe/Vienna",
        **fields,
    }


def test_add_sends_what_was_said_and_shows_the_next_firings(hub: StubHub) -> None:
    hub.answers["POST", "/schedules"] = (201, shown())
    code, said = starloom(
        hub, "schedule", "add", "-r", "disk-space", "-p", "top:=3", "--cron", "30 2 * * *", "--zone", "Europe/Vienna",
        "--overlap", "queue", "--notify-on", "desk", "--deadline", "30m",
    )  # fmt: skip
    assert code == 0
    assert hub.asked[-1][2] == {
        "catch_up": "last",
        "cron": "30 2 * * *",
        "deadline_s": 1800,
        "name": "",
        "notify": "failure",
        "notify_device": "desk",
        "overlap": "queue",
        "params": {"top": 3},
        "recipe": "disk-space",
        "zone": "Europe/Vienna",
    }
    assert "Nightly (s-1): at 02:30 every day, Europe/Vienna." in said
    assert "Sat 2026-03-28 02:30  (UTC+0100)" in said
    assert "Sun 2026-03-29 03:00  (UTC+0200)" in said


def test_days_off_are_sent_and_shown_between_the_firings(hub: StubHub, tmp_path: Path) -> None:
    left_out = [{"at": "2026-03-28T12:00:00+01:00", "why": "28 March 2026"}]
    hub.answers["POST", "/schedules"] = (201, shown(left_out=left_out, except_days="28 March 2026"))
    hub.answers["POST", "/schedule-preview"] = (200, {"except_days": "1 May", "next": [], "left_out": []})
    calendar = tmp_path / "days.ics"
    calendar.write_text("BEGIN:VCALENDAR", encoding="utf-8")
    code, said = starloom(
        hub, "schedule", "add", "-r", "disk-space", "--cron", "@daily", "--zone", "Europe/Vienna",
        "--except", "28 March 2026", "--except", "25 December", "--except-file", str(calendar),
    )  # fmt: skip
    assert code == 0
    assert [body.get("except_days") for _, _, body in hub.asked] == [
        "BEGIN:VCALENDAR",
        "28 March 2026, 25 December, 1 May",
    ]
    times = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    assert [line.partition("  left out: ")[2] for line in times] == ["", "28 March 2026", ""]
    hub.answers["PATCH", "/schedules/Nightly"] = (200, shown())
    assert starloom(hub, "schedule", "edit", "Nightly", "--except", "")[0] == 0
    assert [body for method, _, body in hub.asked if method == "PATCH"] == [{"except_days": ""}]


def test_without_a_clock_or_with_two_things_to_run_nothing_is_sent(hub: StubHub) -> None:
    assert starloom(hub, "schedule", "add", "-r", "disk-space")[0] == 2
    code, said = starloom(hub, "schedule", "add", "words", "-r", "disk-space", "--cron", "@daily")
    assert code == 2
    assert "exactly one" in said
    assert hub.asked == []


def test_words_may_say_the_clock_themselves(hub: StubHub) -> None:
    hub.answers["POST", "/schedules"] = (201, shown())
    code, _ = starloom(hub, "schedule", "add", "every night at 02:30 how are my machines")
    assert code == 0
    assert (hub.asked[-1][2]["cron"], hub.asked[-1][2]["request"]) == ("", "every night at 02:30 how are my machines")


def test_what_needs_an_approval_is_shown_with_the_hash_to_give(hub: StubHub) -> None:
    preview = {
        "asks_approval": True,
        "effects": ["change"],
        "missing_grants": [],
        "name": "Restart",
        "plan_hash": "abc",
        "tasks": [{"device": "srv", "devices": [], "effects": ["change"], "id": "go", "tool": "x", "why": "named"}],
        "warnings": [],
    }
    clock = {"in_words": "At 05:00 on Fridays", "left_out": [], "next": ["2026-06-05T05:00:00+02:00"], "zone": "Z"}
    problem = {
        "clock": clock,
        "code": "needs_approval",
        "hint": "--approve",
        "preview": preview,
        "reason": "it may change",
        "title": "T",
    }
    hub.answers["POST", "/schedules"] = (409, problem)
    code, said = starloom(hub, "schedule", "add", "restart it", "--cron", "@daily")
    assert code == 4
    assert "plan hash abc" in said
    assert "At 05:00 on Fridays, Z. The next firings:\n  Fri 2026-06-05 05:00" in said
    assert "starloom schedule add 'restart it' --cron @daily --approve abc" in " ".join(said.split())
    code, said = starloom(
        hub, "schedule", "add", "--repeat", "c-1", "--cron", "0 3 * * *", "--name", "nachts", "--overlap", "queue"
    )
    assert code == 4
    line = "starloom schedule add --repeat c-1 --name nachts --cron '0 3 * * *' --overlap queue --approve abc"
    assert line in " ".join(said.split())
    hub.answers["POST", "/schedules"] = (201, shown())
    assert starloom(hub, "schedule", "add", "restart it", "--cron", "@daily", "--approve", "abc")[0] == 0
    assert hub.asked[-1][2]["plan_hash"] == "abc"


def test_an_edit_sends_only_what_is_given(hub: StubHub) -> None:
    hub.answers["PATCH", "/schedules/Nightly"] = (200, shown(cron="0 7 * * 1-5", in_words="At 07:00 on weekdays"))
    hub.answers["GET", "/schedules/Nightly"] = (200, shown())
    code, said = starloom(hub, "schedule", "edit", "Nightly", "--cron", "every weekday at 7", "--name", "Early")
    assert code == 0
    assert hub.asked[0] == ("PATCH", "/schedules/Nightly", {"cron": "every weekday at 7", "name": "Early"})
    assert "at 07:00 on weekdays" in said
    assert "Sat 2026-03-28 02:30" in said
    assert starloom(hub, "schedule", "edit", "Nightly", "-p", "source=nas", "-p", "keep:=3")[0] == 0
    assert hub.asked[-1][2] == {"params": {"folder": "Books", "source": "nas", "keep": 3}}
    assert starloom(hub, "schedule", "edit", "Nightly", "how", "is", "vm", "--notify-on", "", "--deadline", "")[0] == 0
    assert hub.asked[-1][2] == {"request": "how is vm", "notify_device": None, "deadline_s": 0}


def test_an_edit_without_a_change_or_with_two_works_sends_nothing(hub: StubHub) -> None:
    code, said = starloom(hub, "schedule", "edit", "Morning look")
    assert (code, hub.asked) == (2, [])
    assert "starloom schedule edit 'Morning look' --cron 'every weekday at 7'" in " ".join(said.split())
    assert starloom(hub, "schedule", "edit", "Nightly", "words", "-r", "disk-space")[0] == 2
    assert hub.asked == []


def test_an_edit_pauses_before_and_resumes_after_its_change(hub: StubHub) -> None:
    path = "/schedules/Nightly"
    hub.answers["GET", path] = (200, shown())
    hub.answers["PATCH", path] = (200, shown(state="paused", next=[]))
    hub.answers["POST", f"{path}/pause"] = (200, shown(state="paused", next=[]))
    code, said = starloom(hub, "schedule", "edit", "Nightly", "--pause", "--zone", "UTC")
    assert code == 0
    assert [(method, asked) for method, asked, _ in hub.asked if method != "GET"] == [
        ("POST", f"{path}/pause"),
        ("PATCH", path),
    ]
    assert "paused" in said
    assert "starloom schedule resume Nightly" in said
    hub.asked.clear()
    hub.answers["GET", path] = (200, shown(state="paused", next=[]))
    hub.answers["POST", "/schedules/s-1/resume"] = (200, shown())
    assert starloom(hub, "schedule", "edit", "Nightly", "--resume", "--zone", "UTC")[0] == 0
    assert [asked for method, asked, _ in hub.asked if method != "GET"] == [path, "/schedules/s-1/resume"]
    hub.asked.clear()
    assert starloom(hub, "schedule", "edit", "Nightly", "--pause")[0] == 0
    assert [method for method, _, _ in hub.asked if method != "GET"] == []


def test_an_edit_that_needs_an_approval_names_its_line(hub: StubHub) -> None:
    plan = {"asks_approval": True, "effects": ["change"], "missing_grants": [], "name": "Restart", "plan_hash": "abc"}
    refused = {"code": "needs_approval", "preview": {**plan, "tasks": [], "warnings": []}, "reason": "r", "title": "T"}
    hub.answers["PATCH", "/schedules/Nightly"] = (409, refused)
    code, said = starloom(hub, "schedule", "edit", "Nightly", "restart", "it", "--overlap", "skip", "--notify-on", "")
    assert code == 4
    assert "starloom schedule edit Nightly 'restart it' --overlap skip --notify-on '' --approve abc" in " ".join(
        said.split()
    )


@pytest.mark.parametrize(("approve", "expected"), [((), 4), (("--approve", "abc"), 0), (("--approve", "other"), 4)])
def test_a_preview_of_a_clock_ends_as_its_saving(hub: StubHub, approve: tuple[str, ...], expected: int) -> None:
    plan = {
        "asks_approval": True,
        "effects": ["change"],
        "missing_grants": [],
        "name": "Restart",
        "plan_hash": "abc",
        "tasks": [{"id": "restart", "tool": "service.restart"}],
        "warnings": [],
    }
    shown_plan = {"plan": plan, "in_words": "Daily", "zone": "UTC", "next": []}
    hub.answers["POST", "/schedule-preview"] = (200, shown_plan)
    assert starloom(hub, "schedule", "add", "restart it", "--cron", "@daily", "--preview", *approve)[0] == expected


def test_the_list_tells_what_stopped_and_what_is_new(hub: StubHub) -> None:
    stopped = shown(
        name="Old", state="stopped", next=[], stopped={"code": "rights_lost", "reason": "the token is gone"}
    )
    news = shown(
        name="Site",
        notice={"at": "2026-11-03T02:00:00Z", "count": 2, "text": "the answer has changed."},
        running=["c-1", "c-2"],
    )
    hub.answers["GET", "/schedules"] = (200, {"items": [stopped, news | {"asking": ["c-2"]}], "next": None})
    said = starloom(hub, "schedule", "ls")[1]
    assert "stopped: the token is gone" in said
    assert re.search(r"2026-11-0\d \d\d:00: the answer has changed\. \(2 notices\)", said)
    assert "running: c-1\n" in said
    assert "waits for an approval: c-2 (starloom why c-2)" in said
    assert "disk-space: folder Books, source laptop" in said
    hub.answers["GET", "/schedules"] = (200, {"items": [], "next": None})
    assert "Nothing is scheduled" in starloom(hub, "schedule", "ls")[1]


def test_a_schedule_names_who_made_it_and_where_it_tells(hub: StubHub) -> None:
    mine, theirs = shown(notify_device="iPhone of Ida"), shown(name="Watch", author="program:op#t9")
    hub.answers["GET", "/schedules"] = (200, {"items": [mine, theirs], "next": None})
    said = starloom(hub, "schedule", "ls")[1]
    assert "(of root)" in said
    assert "(of op)" in said
    hub.answers["GET", "/schedules"] = (200, {"items": [mine], "next": None})
    assert "(of " not in starloom(hub, "schedule", "ls")[1]
    hub.answers["GET", "/schedules"] = (200, {"items": [theirs], "next": None})
    assert "(of op)" in starloom(hub, "schedule", "ls")[1]
    hub.answers["GET", "/schedules/Nightly"] = (200, mine)
    said = starloom(hub, "schedule", "show", "Nightly")[1]
    assert "tells of failures, also on iPhone of Ida" in said
    assert "made by root" in said
    hub.answers["GET", "/schedules/Nightly"] = (200, mine | {"notify": "never"})
    assert "tells nothing\n" in starloom(hub, "schedule", "show", "Nightly")[1]


def test_a_schedule_whose_device_is_gone_says_so(hub: StubHub) -> None:
    named = {"item": shown(params={"source": "laptop", "to": ["web 1"]}), "words": shown(request="copy it to Web 1!")}
    fleet = [("web 1", True), ("laptop", True), ("laptop", False)]
    items = [{"name": name, "revoked": revoked} for name, revoked in fleet]
    hub.answers["GET", "/devices"] = (200, {"items": items, "next": None})
    hub.answers["GET", "/schedules"] = (200, {"items": list(named.values()), "next": None})
    said = starloom(hub, "schedule", "ls")[1]
    assert said.count("web 1, which it names, is no device of the fleet any more") == 2
    assert "laptop, which" not in said
    assert "schedule rm s-1" in said
    hub.answers["GET", "/schedules/Nightly"] = (200, named["item"])
    hub.answers["POST", "/schedules/Nightly/run"] = (200, named["item"])
    for command in ("show", "run"):
        assert "web 1, which it names, is no device" in starloom(hub, "schedule", command, "Nightly")[1]
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(params={}, request="copy web 11 to my-web"))
    assert "which it names" not in starloom(hub, "schedule", "show", "Nightly")[1]


def test_a_schedule_tells_its_devices_and_another_of_their_name(hub: StubHub) -> None:
    bound = [{"name": "nas", "left": False, "another": False}, {"name": "web 1", "left": True, "another": True}]
    hub.answers["GET", "/devices"] = (200, {"items": [{"name": "web 1", "revoked": False}], "next": None})
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(params={}, devices=bound))
    said = starloom(hub, "schedule", "show", "Nightly")[1]
    assert "bound to nas, web 1" in said
    assert "the name web 1 now belongs to another device than the one that was approved: its next firing asks" in said


def test_show_preview_and_controls(hub: StubHub) -> None:
    approved = {"by": "person:ann", "computing": [], "devices": ["srv"], "effects": ["change"]}
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(approved=approved))
    said = starloom(hub, "schedule", "show", "Nightly")[1]
    assert "approved by ann: change on srv" in said
    helped = approved | {"computing": ["sala-12", "sala-13"]}
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(approved=helped))
    said = starloom(hub, "schedule", "show", "Nightly")[1]
    assert "approved by ann: change on srv; sala-12, sala-13 only compute on values" in said
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(approved=approved, params={}, recipe=None))
    assert "active: a plan: on srv" in starloom(hub, "schedule", "show", "Nightly")[1]
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(approved=approved))
    said = starloom(hub, "schedule", "show", "Nightly")[1]
    assert "fired 3, left out 1, the last succeeded" in said
    paused = {"at": "2026-03-27T12:00:00.000Z", "by": "person:ann#k1", "reason": "holi\x1bday"}
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(next=[], paused=paused, state="paused"))
    said = starloom(hub, "schedule", "show", "Nightly")[1]
    assert "paused by ann at 2026-03-27 " in said
    assert r"holi\x1bday" in said
    hub.answers["GET", "/schedules/Nightly"] = (200, shown())
    for action, says in (("pause", "is paused"), ("resume", "fires again"), ("run", "fires now")):
        hub.answers["POST", f"/schedules/Nightly/{action}"] = (200, shown())
        code, said = starloom(hub, "schedule", action, "Nightly")
        assert code == 0
        assert says in said
    hub.answers["POST", "/schedule-notices/seen"] = (200, {"items": [shown(), shown(name="Hourly")], "next": None})
    assert "seen: Nightly and Hourly" in starloom(hub, "schedule", "seen", "Nightly", "Hourly")[1]
    assert hub.asked[-1] == ("POST", "/schedule-notices/seen", {"schedules": ["Nightly", "Hourly"]})
    hub.answers["DELETE", "/schedules/Nightly"] = (200, {"name": "Nightly", "running": ["c-1"]})
    assert "Nightly is removed; c-1 goes on" in starloom(hub, "schedule", "rm", "Nightly", "--yes")[1]


class AtATerminal:
    """The module `sys` of a command whose input is a terminal."""

    stdin = SimpleNamespace(isatty=lambda: True)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


def test_the_removal_of_a_schedule_asks_first(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.answers["GET", "/schedules/s-1"] = (200, shown())
    code, said = starloom(hub, "schedule", "rm", "s-1")
    assert (code, "this removes the schedule Nightly for good" in said) == (2, True)
    assert "starloom schedule rm s-1 --yes" in said
    monkeypatch.setattr(invocation, "sys", AtATerminal())
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda question, **_: asked.append(question))
    assert starloom(hub, "schedule", "rm", "s-1") == (0, "Nothing was removed.\n")
    assert asked == ["Remove Nightly for good? Running work goes on."]
    assert [method for method, *_ in hub.asked] == ["GET", "GET"]


def test_a_schedule_says_whether_it_asks_before_the_trash(hub: StubHub) -> None:
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(unseen_trash=False))
    said = " ".join(starloom(hub, "schedule", "show", "Nightly")[1].split())
    assert "asks each time before files go to the trash" in said
    assert "starloom schedule edit s-1 --no-lists" in said
    hub.answers["PATCH", "/schedules/Nightly"] = (200, shown(unseen_trash=True))
    code, said = starloom(hub, "schedule", "edit", "Nightly", "--no-lists", "--approve", "abc")
    assert (code, hub.asked[-1][2]) == (0, {"lists": False, "plan_hash": "abc"})
    assert "into the trash without asking" in said


def test_a_preview_without_a_clock_is_refused_as_its_saving_is(hub: StubHub) -> None:
    plan = {"tasks": [], "warnings": [], "plan_hash": "h"}
    hub.answers["POST", "/schedule-preview"] = (200, {"plan": plan, "in_words": "", "next": [], "zone": "Etc/UTC"})
    code, said = starloom(hub, "schedule", "add", "how are my machines", "--preview")
    assert (code, "a schedule needs a clock" in said, "firings" in said) == (2, True, False)


@pytest.mark.parametrize(
    ("running", "line"), [(["c-0", "c-1"], "starloom watch c-1"), (["c-0"], "starloom schedule show Nightly")]
)
def test_a_run_now_names_the_line_that_follows_it(hub: StubHub, running: list[str], line: str) -> None:
    hub.answers["GET", "/schedules/Nightly"] = (200, shown(running=["c-0"]))
    hub.answers["POST", "/schedules/Nightly/run"] = (200, shown(running=running))
    assert f"fires now; follow it: {typed(line)}\n" in starloom(hub, "schedule", "run", "Nightly")[1]
