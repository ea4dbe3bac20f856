"""Checks notice damage: right end states made by hand, each then spoiled in one way; and the figures of a run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from starloom.lab.nebula.scoring.damage import damaged, unnoticed
from starloom.lab.nebula.scoring.score import score
from starloom.lab.nebula.task import Task, chosen
from starloom.lab.nebula.world.checked_world import AnswerSeen, Call, CheckedWorld, Snapshot
from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Facts

pytestmark = pytest.mark.quick
WORDS = Facts(1, date(2026, 11, 25)).words()


def task_of(number: int) -> Task:
    return chosen([str(number)])[0]


def with_file(snapshot: Snapshot, device: str, path: str, data: bytes) -> Snapshot:
    return replace(snapshot, files={**snapshot.files, device: {**snapshot.files[device], path: data}})


def errors_collected(base: Snapshot) -> CheckedWorld:
    today = WORDS["today"]
    logs = [base.files[server]["logs/app.log"].decode().splitlines() for server in SERVERS]
    lines = [line for log in logs for line in log if line.startswith(today) and " ERROR " in line]
    text = "".join(line + "\n" for line in sorted(lines, key=lambda line: line[:20]))
    after = with_file(base, "desk", "Reports/errors.txt", text.encode())
    return CheckedWorld(base, after, AnswerSeen("succeeded"), {}, WORDS)


def top_ten(base: Snapshot) -> CheckedWorld:
    ask = "SELECT customer, count(*) AS n FROM orders GROUP BY customer ORDER BY n DESC, customer LIMIT 10"
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(base.files["srv-a"]["orders.db"])
        rows = [{"customer": customer, "orders": count} for customer, count in database.execute(ask)]
    return CheckedWorld(base, base, AnswerSeen("succeeded", "", [("Top ten", rows)]), {}, WORDS)


def tomorrow_sent(base: Snapshot) -> CheckedWorld:
    rows = base.states["desk"]["cal"]["events"]
    text = "; ".join(f"{row['start']} {row['title']}" for row in rows)
    call = Call("phone", "msg.send", {"to": "me", "text": text})
    return CheckedWorld(base, replace(base, calls=[call]), AnswerSeen("succeeded"), {}, WORDS)


RIGHT = [(1, errors_collected), (18, top_ten), (35, tomorrow_sent)]


@pytest.mark.parametrize(("number", "make"), RIGHT)
def test_a_right_end_state_is_met_and_every_damage_is_noticed(base: Snapshot, number: int, make: Any) -> None:
    task, seen = task_of(number), make(base)
    assert score(task, seen).missed == []
    assert unnoticed(task, seen) == []
    assert len(list(damaged(seen))) >= 10


def test_damage_that_a_blind_check_does_not_see_is_told(base: Snapshot) -> None:
    task = task_of(1)
    blind = replace(task, checks=lambda _: iter([("always", True, 1)]))
    said = unnoticed(blind, errors_collected(base))
    assert "Reports/errors.txt of desk is empty" in said
    assert "Reports/errors.txt of desk was left as it was" in said


def test_an_answer_that_is_not_looked_at_is_told(base: Snapshot) -> None:
    blind = replace(task_of(18), checks=lambda _: iter([("always", True, 1)]))
    assert unnoticed(blind, top_ten(base)) == ["the answer is empty"]


def test_what_may_not_change_or_be_called_is_damage(base: Snapshot) -> None:
    task, seen = task_of(18), top_ten(base)
    touched = replace(seen, after=with_file(base, "gpu", "train.py", b""))
    assert score(task, touched).missed == ["nothing else changed: gpu:train.py"]
    sent = replace(seen, after=replace(base, calls=[Call("desk", "mail.send", {"to": "a@example.org"})]))
    assert score(task, sent).missed == ["no other effect: mail.send x1"]


def test_a_call_that_was_refused_and_one_that_only_looks_count_as_no_effect(base: Snapshot) -> None:
    calls = [Call("desk", "mail.send", {}, "no such address"), Call("desk", "mail.list", {})]
    seen = top_ten(base)
    assert score(task_of(18), replace(seen, after=replace(base, calls=calls))).met


def test_a_check_that_stumbles_is_not_met_and_says_over_what(base: Snapshot) -> None:
    def stumbles(w: CheckedWorld) -> Any:
        yield "first", True, 1
        yield "second", w.had("desk", "no-such-file") == b"", 1

    scored = score(replace(task_of(18), checks=stumbles), top_ten(base))
    assert not scored.met
    assert scored.missed == ["the end state can be read (KeyError: 'no-such-file')"]


def test_the_trash_and_gits_index_are_no_change(base: Snapshot) -> None:
    seen = top_ten(base)
    for path in (".starloom-trash/t-1/from.json", "shop/.git/index"):
        seen = replace(seen, after=with_file(seen.after, "desk", path, b"other"))
    assert seen.changed("desk") == []


def test_an_answer_is_read_by_its_values_not_by_its_titles() -> None:
    rows = [{"server": "srv-a", "n": 1}]
    answer = AnswerSeen("succeeded", "Done.", [("Whatever", {"rows": rows}), ("Note", "all is well")])
    assert answer.tables == [rows]
    assert answer.rows("server", "n") == rows
    assert answer.rows("server", "absent") == []
    assert answer.says("SRV-A", "Well")
    assert not answer.says("srv-b")


@pytest.mark.parametrize(("prices", "met"), [([11.7, 22.81, 82], True), ([82, 22.81, 11.7], False)])
def test_a_whole_price_is_a_price(base: Snapshot, prices: list[float], met: bool) -> None:
    # JSON has no 82.00: a whole number of euros comes back without a fraction.
    rows = [{"article": f"Article {number}", "price": price} for number, price in enumerate(prices)]
    answer = AnswerSeen("succeeded", "", [("Prices", rows)])
    seen = CheckedWorld(base, base, answer, {"prices": [82.0, 11.7, 22.81]}, WORDS)
    assert score(task_of(31), seen).met is met
