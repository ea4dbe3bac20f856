"""`log.search` in a granted folder: since when, what comes again, what belongs together; and the ages of lists."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.text.durations import begin_of
from starloom_agent.tools.system import logs
from starloom_agent.tools.system.logs import shape_of
from starloom_agent.tools.system.packages import list_of, updates_words
from tests.device_agents.toolkit.text.test_moments import clock_of
from tests.device_agents.tools.conftest import Device

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def test_a_clock_time_is_the_last_time_that_it_was_shown() -> None:
    local = NOW.astimezone()
    before, after = local - timedelta(hours=1), local + timedelta(hours=1)
    assert begin_of(before.strftime("%H:%M"), NOW) == before.timestamp()
    assert begin_of(after.strftime("%H:%M"), NOW) == (after - timedelta(days=1)).timestamp()


@pytest.mark.parametrize(
    ("since", "begin"),
    [
        ("2h", NOW - timedelta(hours=2)),
        ("2 hours", NOW - timedelta(hours=2)),
        ("15 minutes", NOW - timedelta(minutes=15)),
        (60, NOW - timedelta(minutes=1)),
        ("2026-03-09T10:00:00+00:00", NOW - timedelta(hours=26)),
    ],
)
def test_a_duration_or_a_moment_is_a_beginning(since: str | int, begin: datetime) -> None:
    assert begin_of(since, NOW) == begin.timestamp()


@pytest.mark.parametrize(("since", "day"), [("7y", "2017-02-28"), ("1 year", "2023-02-28"), ("4 Years", "2020-02-29")])
def test_years_are_those_of_the_calendar(since: str, day: str) -> None:
    leap = datetime(2024, 2, 29, 12, 0).astimezone()
    assert begin_of(since, leap) == datetime.fromisoformat(f"{day}T12:00").astimezone().timestamp()


def test_what_is_no_age_says_how_one_is_written() -> None:
    for since in ("9999y", "soon", "7 Jahre"):
        with pytest.raises(ToolFailed, match=r"7y|before the year 1"):
            begin_of(since, NOW)


def test_days_begin_at_midnight_of_this_clock() -> None:
    midnight = NOW.astimezone().replace(hour=0, minute=0)
    assert begin_of("today", NOW) == midnight.timestamp()
    assert begin_of("Yesterday", NOW) == (midnight - timedelta(days=1)).timestamp()
    assert begin_of("2026-03-09", NOW) == datetime(2026, 3, 9).astimezone().timestamp()


@pytest.mark.parametrize(
    ("since", "now", "begin"),
    [
        # Berlin puts the clock back on 25 October 2026 at 03:00, and forward on 29 March at 02:00.
        ("today", "2026-10-25T13:00+01:00", "2026-10-25T00:00+02:00"),
        ("yesterday", "2026-10-25T13:00+01:00", "2026-10-24T00:00+02:00"),
        ("yesterday", "2026-10-26T08:00+01:00", "2026-10-25T00:00+02:00"),
        ("01:00", "2026-10-25T13:00+01:00", "2026-10-25T01:00+02:00"),
        ("02:45", "2026-10-25T02:30+01:00", "2026-10-25T02:45+02:00"),
        ("22:00", "2026-10-26T08:00+01:00", "2026-10-25T22:00+01:00"),
        ("14:00", "2026-10-25T13:00+01:00", "2026-10-24T14:00+02:00"),
        ("today", "2026-03-29T14:00+02:00", "2026-03-29T00:00+01:00"),
        ("yesterday", "2026-03-30T08:00+02:00", "2026-03-29T00:00+01:00"),
        ("1y", "2026-10-25T13:00+01:00", "2025-10-25T13:00+02:00"),
        ("24h", "2026-10-25T13:00+01:00", "2026-10-24T14:00+02:00"),
    ],
)
def test_a_day_has_the_clock_of_that_day(since: str, now: str, begin: str) -> None:
    with clock_of("Europe/Berlin"):
        told = begin_of(since, datetime.fromisoformat(now).astimezone(UTC))
        assert told == datetime.fromisoformat(begin).timestamp()


@pytest.mark.parametrize("since", ["2026-13-01", "25:00", "ages"])
def test_what_is_no_time_is_refused(since: str) -> None:
    with pytest.raises(ToolFailed, match="not a "):
        begin_of(since, NOW)


def test_lines_that_differ_in_numbers_have_one_shape() -> None:
    first = shape_of("2026-03-01T10:00:07Z worker 12 failed: job 0x7f8a of 9f86d081884c7d65")
    second = shape_of("Mar  1 10:00:09 worker 7 failed: job 0x11 of 2c26b46b68ffc68f")
    assert first == second == "worker # failed: job # of #"


def test_a_granted_log_is_read_and_its_trouble_is_a_finding(device: Device) -> None:
    device.write(
        "logs/app.log",
        "2026-03-01T10:00:00Z started\n2026-03-01T10:00:07Z error: no answer\n  at line 3 of failed.py\n"
        "2026-03-01T10:00:09+00:00 error: no answer from 10.0.0.8\n",
    )
    device.write("logs/other.txt", "2026-03-01T10:00:07Z error: not a log")
    found = device.call("log.search", since="2026-01-01", path="logs", device_name="box")
    assert [row["at_s"] - found["rows"][0]["at_s"] for row in found["rows"]] == [0, 0, 2]
    assert {row["source"] for row in found["rows"]} == {"app.log"}
    assert found["findings"] == [
        {
            "device": "box",
            "looked_at": "log",
            "severity": 1,
            "why": "trouble in the log: 3 lines, the last: error: no answer from 10.0.0.8",
        }
    ]
    one = device.call("log.search", since="2026-01-01", path="logs/other.txt", level="any")
    assert one["count"] == 1
    with pytest.raises(ToolFailed, match="is not there on this device"):
        device.call("log.search", path="nowhere")
    with pytest.raises(ToolFailed, match="outside the folders"):
        device.call("log.search", path="/etc")


def test_a_text_is_searched_in_all_lines_and_nothing_else_is_trouble(device: Device) -> None:
    device.write("logs/app.log", "2026-03-01T10:00:00Z Restart of the pump\n2026-03-01T10:00:07Z error: no answer\n")
    found = device.call("log.search", since="2026-01-01", path="logs", contains="restart")
    assert [row["text"] for row in found["rows"]] == ["2026-03-01T10:00:00Z Restart of the pump"]
    assert found["findings"] == []
    assert device.call("log.search", since="2026-01-01", path="logs", contains="restart", level="error")["count"] == 0
    assert device.call("log.search", since="2026-01-01", path="logs", contains="")["count"] == 1


def test_a_log_whose_times_have_no_seconds_is_read(device: Device) -> None:
    device.write("boiler/boiler.log", "2026-03-01 21:30 info  1.4 bar\n2026-03-01 22:10 error E09 0.3 bar\n")
    found = device.call("log.search", since="2026-01-01", path="boiler/boiler.log")
    assert [row["text"] for row in found["rows"]] == ["2026-03-01 22:10 error E09 0.3 bar"]
    assert found["rows"][0]["shape"] == "error E# #.# bar"


def test_a_log_without_times_is_told_as_unseen(device: Device) -> None:
    device.write("odd.log", "one error\nanother error\n")
    found = device.call("log.search", since="2026-01-01", path="odd.log", device_name="box")
    assert found["count"] == 0
    assert found["summary"]["unseen"] == "could not tell the times of odd.log on box"


@pytest.mark.parametrize("name", ["notatki.txt", "notatki.log"])
def test_a_word_is_found_in_a_file_without_times(device: Device, name: str) -> None:
    device.write(f"notes/{name}", "milk\nthe password is on paper\n")
    found = device.call("log.search", path=f"notes/{name}", contains="Password", device_name="box")
    assert (found["count"], found["rows"]) == (0, []), "nobody knows whether it is of the last day"
    assert found["untimed"] == [{"device": "box", "source": name, "text": "the password is on paper"}]
    assert found["summary"]["unseen"] == f"could not tell the times of {name} on box"
    window = {part: found["window"][part] for part in ("untimed", "undated", "names")}
    assert window == {"untimed": 1, "undated": 1, "names": name}
    none = device.call("log.search", path=f"notes/{name}", contains="bread", device_name="box")
    assert (none["count"], none["summary"]["unseen"]) == (0, "")


def test_a_log_of_nginx_counts_by_its_own_times(device: Device) -> None:
    now = datetime.now().astimezone()
    lines = [
        f"{now - timedelta(hours=hour):%Y/%m/%d %H:%M:%S} [error] 812#812: *{hour} connect() failed"
        for hour in range(40, 0, -1)
    ]
    device.write("nginx/error.log", "\n".join(lines) + "\n")
    found = device.call("log.search", since="24h", path="nginx/error.log")
    assert 23 <= found["count"] <= 24
    assert found["summary"]["unseen"] == ""
    assert len({row["shape"] for row in found["rows"]}) == 1
    assert found["rows"][0]["at_s"] < now.timestamp() - 22 * 3600


def test_lines_beyond_the_limit_are_told(device: Device) -> None:
    device.write("app.log", "".join(f"2026-03-01T10:{n // 60:02}:{n % 60:02}Z error {n}\n" for n in range(600)))
    found = device.call("log.search", since="2026-01-01", path="app.log", limit=500)
    assert (found["count"], len(found["rows"])) == (600, 500)
    assert (found["window"]["lines"], found["window"]["left_out"]) == (600, 100)


def test_a_word_is_found_before_the_first_time(device: Device) -> None:
    device.write("app.log", "password asked\n2026-03-01T10:00:00Z started\n")
    assert device.call("log.search", since="2026-01-01", path="app.log", contains="password")["count"] == 1
    assert device.call("log.search", since="2026-04-01", path="app.log", contains="password")["count"] == 0


def test_a_folder_says_which_files_were_not_searched(device: Device) -> None:
    device.write("notes/notatki.txt", "the password is on paper\n")
    device.write("notes/new.log", "all is well\n")
    os.utime(device.write("notes/old.log", "the password was here\n"), (1000, 1000))
    found = device.call("log.search", path="notes", contains="password", device_name="box")
    assert found["count"] == 0
    assert found["summary"]["unseen"] == (
        "only *.log, syslog, messages and auth.log were searched in notes on box, and 1 other file was not; "
        "1 log on box was last written before that time, and not searched"
    )
    assert {name: found["window"][name] for name in ("others", "older")} == {"others": 1, "older": 1}


def test_the_age_of_a_list_of_updates_is_part_of_what_is_told(tmp_path: Path) -> None:
    assert list_of(tmp_path / "nowhere") is None
    assert list_of(tmp_path) is None
    (tmp_path / "lists").write_text("x")
    os.utime(tmp_path / "lists", (1000, 1000))
    assert list_of(tmp_path) == 1000
    assert updates_words(0, 0, 1000, 2000) == ""
    assert updates_words(1, 0, None, 2000) == "1 update waits"
    assert (
        updates_words(9, 2, 1000, 1000 + 30 * 86_400) == "2 security updates wait; the list of updates is 30 days old"
    )


def test_logs_that_cannot_be_read_are_told(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.log", "b.log", "c.log"):
        device.write(f"logs/{name}", "2026-03-01T10:00:00Z started\n")
    real = Beneath.open

    def refuse(files: Beneath, path: Path) -> Any:
        if path.name != "c.log":
            raise PermissionError(13, "Permission denied", str(path))
        return real(files, path)

    monkeypatch.setattr(Beneath, "open", refuse)
    found = device.call("log.search", since="2026-01-01", path="logs", device_name="lap")
    assert found["unreadable"] == 2
    assert found["summary"]["unseen"] == "could not read 2 logs on lap"
    assert found["summary"]["why"] == ""


@pytest.mark.parametrize(
    ("hint", "unseen"), [(True, "could not read the journal of the system and of other users"), (False, "")]
)
def test_a_journal_of_others_that_is_hidden_is_told(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hint: bool, unseen: str
) -> None:
    program = tmp_path / "journalctl"
    said = "Hint: You are currently not seeing messages from other users and the system."
    program.write_text(
        f"#!/bin/sh\necho '-- No entries --'\n{f'echo {said!r} >&2' if hint else ''}\n", encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(logs, "_has_journal", lambda: True)
    found = device.call("log.search", since="2026-01-01")
    assert (found["rows"], found["summary"]["unseen"]) == ([], unseen)


def line_of(minutes: int, text: str) -> str:
    return f"{datetime.now().astimezone() - timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%S} {text}\n"


def test_a_word_is_found_far_from_the_end_of_a_log(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_STEP_BYTES", 4_000)
    monkeypatch.setattr(logs, "_SAMPLE_BYTES", 1_000)
    old = "".join(line_of(600, f"payment lost {n}") for n in range(200))
    new = "".join(line_of(40, f"GET /health 200 {n}") for n in range(400))
    device.write("app.log", old + line_of(50, "PAYMENT lost for order 4711\n   and its detail") + new)
    found = device.call("log.search", path="app.log", since="2h", contains="payment lost")
    assert [row["text"][20:] for row in found["rows"]] == ["PAYMENT lost for order 4711"]
    assert found["summary"]["unseen"] == ""
    monkeypatch.setattr(logs, "_READ_BYTES_MOST", 4_000)
    cut = device.call("log.search", path="app.log", since="2h", contains="payment lost", device_name="box")
    assert (cut["count"], cut["summary"]["unseen"]) == (
        0,
        "only the end of app.log was read on box: what is asked for may begin before it",
    )


def test_a_word_far_within_a_line_is_found_and_shown(device: Device) -> None:
    ends = '","level":"ERROR","msg":"PAYMENT lost"}'
    device.write("json.log", line_of(5, '{"ctx":"' + "y" * 620 + ends) + line_of(4, "x" * 390 + "payment lost"))
    both: tuple[dict[str, Any], ...] = ({"contains": "payment lost"}, {})
    for asked in both:
        found = device.call("log.search", path="json.log", since="2h", **asked)
        assert found["count"] == (2 if asked else 1)
        assert all(
            ("payment lost" if asked else "ERROR") in row["text"].replace("PAYMENT", "payment") for row in found["rows"]
        )
    found = device.call("log.search", path="json.log", since="2h", contains="payment lost")
    assert all("payment lost" in row["text"].lower() and len(row["text"]) <= 400 for row in found["rows"])
    assert found["rows"][0]["text"].startswith(line_of(5, "")[:16])


def test_of_many_lines_the_newest_come_and_all_are_counted(device: Device) -> None:
    device.write("b.log", "".join(line_of(60 - n % 60, f"error b{n}") for n in range(300)))
    device.write("a.log", "".join(line_of(300 - n, f"error a{n}") for n in range(250)))
    found = device.call("log.search", path=".", since="10h", limit=3)
    assert (found["count"], found["window"]["left_out"], found["truncated"]) == (550, 547, True)
    assert sorted(row["text"][-4:] for row in found["rows"]) == ["b179", "b239", "b299"]


@pytest.mark.parametrize("word", ["", "Müll"])
def test_the_journal_is_searched_to_its_beginning_for_a_word(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr(logs, "_JOURNAL_LINES", 3)
    monkeypatch.setattr(logs, "_JOURNAL_END", "--lines=3")
    all_lines = "".join(line_of(10 - n, f"box app[7]: {'Müll ' if not n else ''}{n}") for n in range(5))
    (tmp_path / "all").write_text(all_lines + "    more of it\n", encoding="utf-8")
    program = tmp_path / "journalctl"
    script = f'case "$*" in *--lines=3*) tail -n 3 {tmp_path}/all;; *) cat {tmp_path}/all;; esac'
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(logs, "_has_journal", lambda: True)
    found = device.call("log.search", since="2h", level="any", contains=word)
    assert found["count"] == (1 if word else 3)
    assert found["summary"]["unseen"] == (
        "" if word else "only the end of the journal was read: what is asked for may begin before it"
    )
