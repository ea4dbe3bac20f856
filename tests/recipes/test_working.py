"""Recipes that compute: the tests of a repository everywhere, files split over machines, databases, pictures."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from starloom_agent.toolkit.pictures.png import encode
from tests.planner.drawing import speckled
from tests.recipes.fleet import Fleet
from tests.waiting import PATIENCE_S, until

TEST = """import pathlib, unittest

class Shop(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(sum([1, 2]), {expected})
"""


def repository(fleet: Fleet, expected: int) -> None:
    laptop = fleet.device("laptop")
    laptop.write("shop/test_shop.py", TEST.format(expected=expected))
    laptop.write("shop/.gitignore", "secret.txt\n")
    laptop.write("shop/secret.txt", "stays here")
    subprocess.run(["git", "init", "-q", str(laptop.folder / "shop")], check=True, timeout=PATIENCE_S)


def test_the_tests_pass_on_every_machine_that_can_run_them(fleet: Fleet) -> None:
    repository(fleet, 3)
    answer = fleet.submit("run the tests of shop from laptop everywhere")
    assert answer.state == "succeeded", answer.told()
    rows = [(row["device"], row["exit_code"], row["differs"]) for row in answer.rows("Tests")]
    assert rows == [("laptop", 0, False), ("server", 0, False)], "the phone has no grant for programs"
    assert answer.value("In short") == "The tests pass on every machine that ran them."
    assert "; not asked: phone (has not granted python:run)" in answer.sentence.partition(". ")[0]


def test_a_failing_test_is_shown_first_with_its_log(fleet: Fleet) -> None:
    repository(fleet, 4)
    answer = fleet.run("test-matrix", {"repo": "shop", "source": "laptop", "where": "server"})
    assert answer.state == "partial", answer.told()
    assert "every-test-passes" in answer.sentence
    (row,) = answer.rows("Tests")
    assert (row["device"], row["exit_code"]) == ("server", 1)
    assert row["stdout"].startswith("FAIL: test_sum")
    assert "AssertionError: 3 != 4" in row["stdout"]
    assert answer.value("In short").startswith("server: FAIL: test_sum")


def test_tests_that_no_machine_ran_are_no_success(fleet: Fleet) -> None:
    repository(fleet, 3)
    # The call has no result where the program leaves one that is no JSON.
    fleet.device("laptop").write("shop/test_end.py", "import pathlib; pathlib.Path('../result.json').write_text('{')")
    answer = fleet.run("test-matrix", {"repo": "shop", "source": "laptop", "where": "server"})
    assert answer.state == "failed", answer.told()
    assert "a-machine-ran-the-tests" in answer.sentence
    assert answer.view.tasks["every-test-passes"].state != "succeeded"
    assert answer.value("In short") == "No machine could run the tests."


# Slow enough that a machine can leave in the middle; what it says does not tell where it ran.
COUNT = """import json, sys, time
numbers = [int(line) for line in open(sys.argv[1])]
time.sleep(0.4)
print(json.dumps({"sum": sum(numbers)}))
"""
FILES = 10


def shared(fleet: Fleet) -> dict[str, int]:
    laptop = fleet.device("laptop")
    laptop.write("count.py", COUNT)
    sums = {}
    for number in range(FILES):
        laptop.write(f"data/{number:02d}.csv", "".join(f"{number * line}\n" for line in range(5)))
        sums[f"{number:02d}.csv"] = number * 10
    return sums


def test_work_is_spread_over_machines_and_merged(fleet: Fleet) -> None:
    sums = shared(fleet)
    answer = fleet.submit("run count.py over data/*.csv of laptop everywhere")
    assert answer.state == "succeeded", answer.told()
    assert {row["file"]: row["sum"] for row in answer.rows("Merged")} == sums
    worked = {answer.task(f"work.{number}").device for number in range(FILES)}
    assert len(worked) == 2, "both that may run programs took part"
    assert answer.file("As a file").decode().startswith("file,sum\r\n")


def test_a_pattern_that_no_file_fits_is_told_with_what_fits(fleet: Fleet) -> None:
    fleet.device("laptop").write("count.py", COUNT)
    answer = fleet.submit("run count.py over data/*.csv of laptop everywhere")
    assert answer.state == "failed"
    assert "fits the pattern, which is compared with names (*.csv) and with paths (data/*.csv)" in answer.sentence


def test_a_machine_that_leaves_takes_nothing_with_it(fleet: Fleet) -> None:
    sums = shared(fleet)
    running = fleet.begin("run count.py over data/*.csv of laptop everywhere")
    server = fleet.device("server")
    (identity,) = [item["id"] for item in fleet.client.get("/devices")["items"] if item["name"] == "server"]

    def at_work() -> bool:
        running.look()
        return any(task.state == "running" and task.device == identity for task in running.view.tasks.values())

    until(at_work, "the server works on a file")
    server.kill()
    server.start()
    answer = running.wait()
    assert any(len(answer.attempts(f"work.{number}")) > 1 for number in range(FILES)), "nothing was in its hands"
    assert answer.state == "succeeded", answer.told()
    assert {row["file"]: row["sum"] for row in answer.rows("Merged")} == sums


def test_a_database_is_copied_and_counted_while_it_is_in_use(fleet: Fleet) -> None:
    server = fleet.device("server")
    with closing(sqlite3.connect(server.folder / "shop.sqlite")) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        made.executemany("INSERT INTO orders VALUES (?)", [(number,) for number in range(42)])
        made.commit()
        answer = fleet.submit("dump the database shop.sqlite of server, check it, and keep it on laptop")
    assert answer.state == "succeeded", answer.told()
    assert answer.rows("Rows") == [{"table": "orders", "rows": 42}]
    assert list(fleet.device("laptop").files("Databases")) == ["shop.sqlite"]
    assert answer.task("whole").checked
    assert answer.task("opens").checked


def test_what_is_no_database_is_not_called_a_backup(fleet: Fleet) -> None:
    fleet.device("server").write("shop.sqlite", "this is a text " * 100)
    answer = fleet.run("database-copy", {"file": "shop.sqlite", "source": "server", "target": "laptop"})
    assert answer.state == "failed", answer.told()
    assert "not a whole SQLite database" in answer.sentence
    assert fleet.device("laptop").files() == {}


def picture(fleet: Fleet, name: str, seed: int, age_s: int) -> bytes:
    data = encode(speckled(seed))
    path: Path = fleet.device("phone").write(f"DCIM/{name}", data)
    os.utime(path, (time.time() - age_s,) * 2)
    return data


def test_the_newest_picture_of_the_phone_comes_to_the_desk(fleet: Fleet) -> None:
    picture(fleet, "old.png", 1, 5000)
    new = picture(fleet, "new.png", 2, 10)
    answer = fleet.submit("put the newest picture of my phone on the laptop")
    assert answer.state == "succeeded", answer.told()
    assert fleet.device("laptop").files("From phone") == {"new.png": new}
    assert answer.file("Picture") == new
    assert answer.file("Preview").startswith(b"\x89PNG")
    # Nobody sits before this phone: the notice fails, which fails nothing else.
    assert answer.task("receipt").state == "failed"
