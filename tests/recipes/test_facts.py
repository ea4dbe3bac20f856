"""What a fleet tells of itself: how machines are and rank, their disks, files, commands and logs."""

from __future__ import annotations

import re

from tests.recipes.fleet import Fleet

NOTHING = "#!/bin/sh\nexit 0\n"


def test_the_worst_machine_comes_first_with_its_reason(fleet: Fleet) -> None:
    for name in ("laptop", "phone", "server"):
        fleet.device(name).program("apt", NOTHING)
    waits = "libc6/stable-security 2.36-10 amd64 [upgradable from: 2.36-9]"
    fleet.device("server").program("apt", f"#!/bin/sh\necho '{waits}'\n")
    answer = fleet.submit("How are my machines?")
    assert answer.state == "succeeded", answer.told()
    rows = answer.rows("Machines")
    assert {row["device"] for row in rows} == {"laptop", "phone", "server"}
    assert (rows[0]["device"], rows[0]["severity"]) == ("server", max(row["severity"] for row in rows))
    assert "1 security update waits" in rows[0]["why"]
    in_short = answer.value("In short")
    assert f"server: {rows[0]['why']}" in in_short
    assert all(row["device"] in in_short for row in rows if row["why"])
    assert all(part in in_short.casefold() for row in rows for part in (row["unseen"] or "").casefold().split("; "))
    titles = [column["title"] for column in answer.value("Machines")["columns"]]
    assert titles[:4] == ["Device", "Severity", "Why", "Not looked at"]


def test_the_machine_with_least_free_disk_comes_first(fleet: Fleet) -> None:
    answer = fleet.submit("which of my machines has the least free disk?")
    assert answer.state == "succeeded", answer.told()
    rows = answer.rows("Machines, least free disk first")
    assert {row["device"] for row in rows} == {"laptop", "phone", "server"}
    free = [row["disk_free_bytes"] for row in rows]
    assert free == sorted(free)
    # The three share one machine: figures that are equal to the byte have no order.
    least = rf"Least disk is free on '?(\S+ and )*{rows[0]['device']}\b"
    assert re.search(rf"^All machines that answered have the same room|{least}", answer.sentence), answer.sentence
    assert re.search(r"(load \(?\d+|highest load is \d+)", answer.sentence), answer.sentence


def test_a_busy_package_manager_does_not_hide_the_rest(fleet: Fleet) -> None:
    for name in ("laptop", "phone", "server"):
        fleet.device(name).program("apt", NOTHING)
    fleet.device("phone").program("apt", "#!/bin/sh\necho 'the lock is held' >&2\nexit 100\n")
    answer = fleet.submit("how are my machines")
    assert answer.state == "succeeded", answer.told()
    assert len(answer.rows("Machines")) == 3


def test_a_machine_that_is_off_has_a_line_that_says_since_when(fleet: Fleet) -> None:
    for name in ("laptop", "phone", "server"):
        fleet.device(name).program("apt", NOTHING)
    fleet.device("phone").stop()
    try:
        seen = fleet.preview("how are my machines")
        assert "phone is off; the answer says since when." in seen["warnings"]
        answer = fleet.submit("how are my machines")
    finally:
        fleet.device("phone").start()
        fleet.until_online("phone")
    assert answer.state == "succeeded", answer.told()
    why = {row["device"]: row["why"] for row in answer.rows("Machines")}
    assert set(why) == {"laptop", "phone", "server"}
    assert why["phone"].startswith("off since ")
    assert "; not asked: phone (off since " in answer.sentence.partition(". ")[0]


def test_what_fills_the_disks_by_folder(fleet: Fleet) -> None:
    big = fleet.device("laptop").write("Stuff/films/a.bin", b"x" * 3_000_000).parent.parent
    answer = fleet.run("disk-space", {"where": "laptop", "path": str(big)})
    assert answer.state == "succeeded", answer.told()
    (row,) = answer.rows("Biggest folders")
    assert (row["device"], row["folder"].rpartition("/")[2]) == ("laptop", "films")
    assert row["bytes"] >= 3_000_000
    (disk,) = answer.rows("Disks")
    assert disk["unread"] == ""
    assert disk["days_left"] is None
    assert disk["outlook"] == "measured for less than a day; ask again tomorrow"


def test_a_file_is_found_wherever_it_is(fleet: Fleet) -> None:
    fleet.device("laptop").write("Papers/March invoice.pdf", "x")
    fleet.device("phone").write("Download/2026-03 invoice.txt", "y")
    fleet.device("server").write("other.txt", "z")
    answer = fleet.submit("where is the March invoice")
    assert answer.state == "succeeded", answer.told()
    assert {(row["device"], row["name"]) for row in answer.rows("Found")} == {
        ("laptop", "March invoice.pdf"),
        ("phone", "2026-03 invoice.txt"),
    }


def test_a_command_runs_where_a_rule_allows_it_and_differences_are_marked(fleet: Fleet) -> None:
    for name, said in (("laptop", "2.1"), ("server", "2.1"), ("phone", "1.9")):
        fleet.device(name).grant("shell:run", "--", "tool-version")
        fleet.device(name).program("tool-version", f"#!/bin/sh\necho {said}\n")
    answer = fleet.submit("run `tool-version` everywhere")
    assert answer.state == "succeeded", answer.told()
    assert [(row["device"], row["stdout"].strip(), row["differs"]) for row in answer.rows("Runs")] == [
        ("laptop", "2.1", False),
        ("phone", "1.9", True),
        ("server", "2.1", False),
    ]
    assert fleet.device("phone").started(answer) == {f"run.{answer.device_id('phone')}": 1}


def test_a_program_that_ends_with_another_code_than_0_has_failed(fleet: Fleet) -> None:
    for name, code in (("laptop", 0), ("phone", 0), ("server", 3)):
        fleet.device(name).grant("shell:run", "--", "print-it")
        script = f"#!/bin/sh\necho tried\necho 'looking for it' >&2\necho 'printer not found' >&2\nexit {code}\n"
        fleet.device(name).program("print-it", script)
    answer = fleet.submit("run `print-it` everywhere")
    assert answer.state == "partial", answer.told()
    assert [(row["device"], row["exit_code"]) for row in answer.rows("Runs")] == [
        ("laptop", 0),
        ("phone", 0),
        ("server", 3),
    ]
    assert [row["stderr"] for row in answer.rows("Runs")][2] == "looking for it\nprinter not found\n"
    assert answer.value("Ends") == "server: ended with 3: printer not found"
    assert "server: ended with 3: printer not found" in answer.sentence, answer.sentence

    alone = fleet.submit("run `print-it` on server")
    assert alone.state == "failed", alone.told()
    assert "server: ended with 3: printer not found" in alone.sentence, alone.sentence
    assert [row["exit_code"] for row in alone.rows("Runs")] == [3]


def test_errors_of_all_devices_are_one_timeline(fleet: Fleet) -> None:
    laptop, server, phone = fleet.device("laptop"), fleet.device("server"), fleet.device("phone")
    laptop.write("logs/app.log", "2026-03-01T10:00:07Z error: no answer from 10.0.0.7\n2026-03-01T10:00:09Z fine\n")
    server.write("logs/app.log", "2026-03-01T11:00:01+01:00 disk error on sector 77\n")
    phone.write(
        "logs/app.log", "2026-03-01T10:00:08Z error: no answer from 10.0.0.8\n2025-01-01T00:00:00Z error: old\n"
    )
    answer = fleet.run("log-hunt", {"since": "2026-01-01", "path": "logs"})
    assert answer.state == "succeeded", answer.told()
    assert [row["device"] for row in answer.rows("Timeline")] == ["server", "laptop", "phone"]
    first, second = answer.rows("First occurrences")
    assert (first["each_device"], second["each_device"], second["count"]) == ("server", "laptop, phone", 2)
    assert answer.value("It began with").startswith("server: ")
    assert b"sector 77" in answer.file("As a file")


def test_a_word_in_a_file_without_times_is_found(fleet: Fleet) -> None:
    fleet.device("laptop").write("notes/notatki.log", "milk\nthe password is on paper\n")
    answer = fleet.submit("search the logs in notes on laptop for the word password")
    assert answer.state == "succeeded", answer.told()
    told = (
        "1 line was found with 'password', in 1 log without known times ('notatki.log'), so nobody knows when. No line"
    )
    assert answer.sentence.startswith(told), answer.sentence
    assert [row["text"] for row in answer.rows("Lines without a known time")] == ["the password is on paper"]
    assert answer.rows("Timeline") == []

    fleet.device("server").write("notes/notatki.txt", "the password is on paper\n")
    answer = fleet.submit("search the logs in notes on server for the word password")
    assert answer.sentence.startswith("1 other file was not searched, as a folder is searched for"), answer.sentence
    answer = fleet.submit("search the logs in notes/notatki.txt on server for the word password")
    assert "in 1 log without known times ('notatki.txt')" in answer.sentence


def test_errors_beyond_the_limit_are_counted_and_told(fleet: Fleet) -> None:
    lines = "".join(f"2026/03/01 10:{n // 60:02}:{n % 60:02} [error] connect() failed\n" for n in range(600))
    fleet.device("laptop").write("nginx/error.log", lines)
    fleet.device("laptop").write("nginx/odd.log", "error without a time\n")
    answer = fleet.run("log-hunt", {"since": "2026-01-01", "path": "nginx", "where": {"name": "laptop"}})
    assert answer.sentence.startswith("600 lines were found in the last "), answer.sentence
    assert "of which the oldest 100 are not shown" in answer.sentence
    (alike,) = answer.rows("First occurrences")
    assert alike["count"] == 500
    (read,) = answer.rows("Logs that were read")
    assert read["lines"] == 600
