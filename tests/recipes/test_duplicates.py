"""`find-duplicates`: what a device has twice, how much room that takes, and a trash that gives everything back."""

from __future__ import annotations

import json
import os

import pytest

from tests.recipes.fleet import Fleet, Running
from tests.waiting import until


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
    assert (row["path"], row["why"]) == ("a.txt", "its folder does not say copy")
    assert row["others"] == "copies/a again.txt, copies/a third.txt"
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
    assert "On laptop 2 files came back to " in answer.sentence
    assert "copies'" in answer.sentence


def test_a_file_that_changes_while_the_question_is_open_stays(doubled: Fleet) -> None:
    laptop = doubled.device("laptop")
    laptop.write("b.txt", "twice as well")
    laptop.write("copies/b again.txt", "twice as well")
    asked = doubled.begin(
        "which files do I have twice on the laptop, put the extra ones into the trash", choose={"ask": "trash"}
    )
    until(lambda: asked.look() and bool(asked.view.open_questions), "the question")
    laptop.write("copies/a third.txt", "changed by now")
    (laptop.folder / "b.txt").unlink()
    answer = asked.wait()
    assert answer.state == "succeeded", answer.told()
    assert [row["path"] for row in answer.rows("Put into the trash")] == ["copies/a again.txt"]
    why = {row["path"]: row["why"] for row in answer.rows("Not put into the trash")}
    assert why == {
        "copies/a third.txt": "it was changed since it was found",
        "copies/b again.txt": "b.txt, which was to stay, is not there with the same contents any more",
    }
    assert "1 extra copy put into the trash" in answer.sentence
    assert "2 not: changed since the question" in answer.sentence
    assert (laptop.folder / "copies/b again.txt").read_text() == "twice as well"


def test_the_original_stays_whatever_its_name_and_the_question_says_so(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    originals = ("IMG_1.jpg", "IMG_2.jpg", "zoo/IMG_3.jpg")
    copies = ("IMG_1 (copy).jpg", "Backup/IMG_2.jpg", "IMG_3.jpg")
    for number, (original, copy) in enumerate(zip(originals, copies, strict=True)):
        os.utime(laptop.write(original, f"picture {number}"), (1_600_000_000, 1_600_000_000))
        laptop.write(copy, f"picture {number}")
    words = "find duplicates on the laptop and put the extra ones into the trash"
    running = fleet.begin(words, choose={"ask": "trash"})
    until(lambda: running.look() and running.view.open_questions, "it asks")
    asked = fleet.cli("approvals")
    assert "Put these extra copies into the trash? One of each stays, and all can be brought back." in asked
    assert "laptop  3 extra copies of 3 files, 27 bytes  one of each" in asked
    assert "laptop  'IMG_1 (copy).jpg'  'IMG_1.jpg', as its name does not say copy" in asked
    assert "laptop  'Backup/IMG_2.jpg'  'IMG_2.jpg', as its folder does not say copy" in asked
    assert "laptop  'IMG_3.jpg'  'zoo/IMG_3.jpg', as it was changed longest ago" in asked
    assert set(laptop.files()) == {*originals, *copies}
    assert running.wait().state == "succeeded", running.told()
    assert {path for path in laptop.files() if not path.startswith(".starloom-trash/")} == set(originals)
    stays = {row["path"]: row["others"] for row in running.rows("Twice on one device")}
    assert stays == dict(zip(originals, copies, strict=True))


def test_a_folder_that_is_named_keeps_its_copies(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    laptop.write("a.txt", "the same words")
    laptop.write("Albums/a (copy).txt", "the same words")
    words = "find duplicates on the laptop, keep those in Albums and put the extra ones into the trash"
    answer = fleet.submit(words, choose={"ask": "trash"})
    assert answer.state == "succeeded", answer.told()
    (row,) = answer.rows("Twice on one device")
    assert (row["path"], row["why"]) == ("Albums/a (copy).txt", "it lies in 'Albums'")
    assert "Albums/a (copy).txt" in laptop.files()
    assert "a.txt" not in laptop.files()


def test_without_duplicates_nobody_is_asked(fleet: Fleet) -> None:
    for name in ("laptop", "server"):
        fleet.device(name).write(f"{name}.txt", "one")
    told = fleet.submit("which files do I have twice").sentence
    assert "No file was found more than once on one device. Files of different devices are not compared." in told
    answer = fleet.submit("which files do I have twice on the laptop, put the extra ones into the trash")
    assert answer.state == "succeeded", answer.told()
    assert answer.rows("Twice on one device") == []


def test_files_that_two_devices_have_are_told_with_both_places(doubled: Fleet) -> None:
    answer = doubled.submit("which files are twice on the laptop and the server")
    assert answer.state == "succeeded", answer.told()
    (row,) = answer.rows("On several devices")
    places = {f"{row['device']}: {row['path']}", *row["others"].split(", ")}
    assert places == {
        "laptop: a.txt",
        "laptop: copies/a again.txt",
        "laptop: copies/a third.txt",
        "server: only here.txt",
    }
    assert answer.sentence.startswith("1 file is on both laptop and server, by the contents.")


def test_a_plan_file_that_trashes_a_folder_asks_first(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    laptop.write("Clients/Ann/IMG_1.jpg", "a picture")
    clear = {"id": "clear", "tool": "fs.trash", "device": {"name": "laptop"}, "args": {"paths": ["Clients"]}}
    plan = {"starloom": 1, "name": "Tidy up", "tasks": [clear]}
    running = Running(fleet, str(fleet.client.create("/constellations", {"plan": plan})["id"]), {})
    until(lambda: running.look() and running.state == "awaiting_approval", "it asks")
    asked = fleet.cli("approvals")
    assert "Run Tidy up? It may move 'Clients' to the trash on laptop." in asked
    assert "(moves to the trash)" in asked
    assert laptop.files() == {"Clients/Ann/IMG_1.jpg": b"a picture"}
    fleet.cli("approve", f"{running.id}:approve-plan")
    assert running.wait().state == "succeeded", running.told()
    assert not laptop.files("Clients")
