"""`find-duplicates`: what a device has twice, how much room that takes, and a trash that gives everything back."""

from __future__ import annotations

import json

import pytest

from tests.recipes.fleet import Fleet


@pytest.fixture
def doubled(fleet: Fleet) -> Fleet:
    laptop = fleet.device("laptop")
    laptop.write("a.txt", "the same words")
    laptop.write("copies/a again.txt", "the same words")
    laptop.write("copies/a third.txt", "the same words")
    laptop.write("other.txt", "other words!!!")
    fleet.device("server").write("only here.txt", "the same words")
    fleet.device("server").write("~$only here.txt", "other words 12")
    return fleet


def test_files_that_are_there_twice_are_told_by_the_room_to_win(doubled: Fleet) -> None:
    answer = doubled.submit("Which files do I have twice?")
    assert answer.state == "succeeded", answer.told()
    (row,) = answer.rows("Twice on one device")
    assert (row["device"], row["count"], row["extra_bytes"]) == ("laptop", 3, 28)
    assert row["each_path"] == "a.txt, copies/a again.txt, copies/a third.txt"
    assert [(row["device"], row["total_extra_bytes"]) for row in answer.rows("Room to win")] == [("laptop", 28)]
    assert len(doubled.device("laptop").files()) == 4


def test_the_extra_ones_go_into_the_trash_only_when_a_person_says_so(doubled: Fleet) -> None:
    laptop = doubled.device("laptop")
    words = "which files do I have twice on the laptop, put the extra ones into the trash"
    left = doubled.submit(words, choose={"ask": "leave"})
    assert left.state == "succeeded", left.told()
    assert left.task("clear").state == "skipped" if "clear" in left.view.tasks else len(laptop.files()) == 4
    assert len(laptop.files()) == 4
    answer = doubled.submit(words, choose={"ask": "trash"})
    assert answer.state == "succeeded", answer.told()
    seen = {path for path in laptop.files() if not path.startswith(".starloom-trash/")}
    assert seen == {"a.txt", "other.txt"}
    rows = answer.rows("Put into the trash")
    assert [row["path"] for row in rows] == ["copies/a again.txt", "copies/a third.txt"]
    notes = [json.loads(data) for path, data in laptop.files(".starloom-trash").items() if path.endswith("from.json")]
    assert sorted(note["path"].rpartition("/")[2] for note in notes) == ["a again.txt", "a third.txt"]
    assert all(row["ticket"] for row in rows)
    said = doubled.cli("undo", answer.id)
    assert f"undoes, in this order: clear.{answer.device_id('laptop')}" in said
    assert answer.wait().state == "succeeded", answer.told()
    back = {path for path in laptop.files() if not path.startswith(".starloom-trash/")}
    assert back == {"a.txt", "copies/a again.txt", "copies/a third.txt", "other.txt"}


def test_without_duplicates_nobody_is_asked(fleet: Fleet) -> None:
    fleet.device("laptop").write("a.txt", "one")
    answer = fleet.submit("which files do I have twice on the laptop, put the extra ones into the trash")
    assert answer.state == "succeeded", answer.told()
    assert answer.rows("Twice on one device") == []
