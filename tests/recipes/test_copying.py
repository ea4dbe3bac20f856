"""`copy-folder`, `photo-backup`, `collect-files`: files go from device to device; disks and ledgers are the proof."""

from __future__ import annotations

import hashlib

from starloom_agent.tools.png import encode
from tests.planner.drawing import speckled
from tests.recipes.fleet import Fleet


def test_copy_folder_sends_what_differs_and_says_so(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("results/a.txt", "one")
    laptop.write("results/deep/b.txt", "two")
    server.write("results/a.txt", "one")
    answer = fleet.submit("copy results from laptop to server")
    assert answer.state == "succeeded", answer.told()
    assert server.files("results") == laptop.files("results")
    assert [row["path"] for row in answer.rows("Copied")] == ["results/deep/b.txt"]
    assert answer.value("Already there") == 1
    assert laptop.started(answer) == {"send.0": 1}
    assert server.started(answer) == {"copy.0": 1}


def test_photo_backup_keeps_each_picture_once(fleet: Fleet) -> None:
    phone, server, laptop = fleet.device("phone"), fleet.device("server"), fleet.device("laptop")
    for path, seed in {"June/a.png": 1, "June/b.png": 2, "Copies/a.png": 1, "Copies/b.png": 2}.items():
        phone.write(f"Pictures/{path}", encode(speckled(seed)))
    answer = fleet.submit(
        "back up the pictures of my phone to the server, check every copy, and put a contact sheet on my laptop"
    )
    assert answer.state == "succeeded", answer.told()
    wanted = {hashlib.sha256(data).hexdigest() for data in phone.files("Pictures").values()}
    kept = server.files("Pictures")
    assert {hashlib.sha256(data).hexdigest() for data in kept.values()} == wanted
    assert len(kept) == len(wanted) == 2
    assert b"<img" in laptop.files("Pictures")["index.html"]


def test_collected_files_are_named_by_origin_and_equal_ones_are_one(fleet: Fleet) -> None:
    laptop, server, phone = fleet.device("laptop"), fleet.device("server"), fleet.device("phone")
    laptop.write("Downloads/report.pdf", "the report")
    laptop.write("Downloads/notes.txt", "not asked for")
    phone.write("Downloads/2026/copy of report.pdf", "the report")
    phone.write("Downloads/letter.pdf", "a letter")
    words = "collect all PDFs from Downloads everywhere on the server"
    answer = fleet.submit(words)
    assert answer.state == "succeeded", answer.told()
    collected = {"laptop - report.pdf": b"the report", "phone - letter.pdf": b"a letter"}
    assert server.files("Collected") == collected
    assert [(row["path"], row["each_device"], row["count"]) for row in answer.rows("Collected")] == [
        ("Collected/laptop - report.pdf", "laptop, phone", 2),
        ("Collected/phone - letter.pdf", "phone", 1),
    ]
    assert b"laptop - report.pdf" in answer.file("As a file")
    assert set(server.started(answer)) >= {"store"}
    again = fleet.submit(words)
    assert (again.state, server.files("Collected")) == ("succeeded", collected), again.told()
