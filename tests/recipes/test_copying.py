"""`copy-folder`, `photo-backup`, `collect-files`: files go from device to device; disks and ledgers are the proof."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any

from starloom_agent.toolkit.pictures.png import encode
from tests.planner.drawing import speckled
from tests.recipes.fleet import Fleet, Running
from tests.waiting import PATIENCE_S


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
    assert server.started(answer) == {"copy.0": 1, "folders": 1}


def test_a_folder_is_copied_to_several_devices_and_taken_back(fleet: Fleet) -> None:
    laptop, server, phone = fleet.device("laptop"), fleet.device("server"), fleet.device("phone")
    laptop.write("results/a.txt", "one")
    laptop.write("results/deep/b.txt", "two")
    server.write("results/a.txt", "one")
    answer = fleet.submit("copy results from laptop to the others")
    assert answer.state == "succeeded", answer.told()
    assert server.files("results") == phone.files("results") == laptop.files("results")
    assert {row["path"] for row in answer.rows("Copies, read back")} == {"results/a.txt", "results/deep/b.txt"}
    assert "phone" in answer.sentence
    assert "server" in answer.sentence
    told = " ".join(fleet.cli("undo", answer.id, "--wait").split())
    assert "On server 1 file went from 'results/deep' to the trash" in told, told
    assert "On phone 2 files went from 'results' to the trash" in told, told
    assert "before it was undone" not in told, told
    assert set(server.files("results")) == {"a.txt"}
    assert not (phone.folder / "results").exists()


def test_a_file_of_the_same_name_is_replaced_when_the_words_say_so(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("results/a.txt", "new")
    server.write("results/a.txt", "old")
    words = "copy results from laptop to server"
    fleet.submit(words)
    assert set(server.files("results")) == {"a.txt", "a (2).txt"}
    again = fleet.submit(words).sentence
    assert "1 file is there already under a number, beside a file of that name with other contents" in again
    answer = fleet.submit(f"{words} and overwrite the old ones")
    assert answer.state == "succeeded", answer.told()
    assert server.files("results")["a.txt"] == laptop.files("results")["a.txt"]
    fleet.cli("undo", answer.id, "--wait")
    assert server.files("results")["a.txt"] != laptop.files("results")["a.txt"]


def test_the_room_is_looked_for_where_the_copy_goes(fleet: Fleet) -> None:
    # A folder below a granted one may be a disk of its own.
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("results/a.txt", "one")
    server.write("shelf/there.txt", "x")
    answer = fleet.submit("copy results from laptop to shelf on server")
    assert answer.state == "succeeded", answer.told()
    (space,) = answer.attempts("space")
    assert json.loads(space.value or "{}")["path"].endswith("/shelf"), space.value


def test_a_file_that_grows_holds_up_no_other_and_comes_with_a_retry(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("results/a.txt", "one")
    growing = laptop.write("results/grows.log", "two")
    laptop.write("results/z.txt", "three")
    ended = threading.Event()

    def grow() -> None:
        while not ended.wait(0.001):
            with growing.open("a") as file:
                file.write("more\n")

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        answer = fleet.submit("copy results from laptop to server")
    finally:
        ended.set()
        writer.join()
    assert set(server.files("results")) == {"a.txt", "z.txt"}, answer.told()
    (row,) = answer.rows("Not copied")
    assert row["path"] == "results/grows.log"
    assert row["why"] == "it changed while it was sent; send it again when nothing writes it"
    fleet.cli("retry-from", answer.id, "send.0")
    again = answer.wait()
    assert again.rows("Not copied") == [], again.told()
    assert server.files("results") == laptop.files("results")


def git(folder: Path, *argv: str) -> str:
    """Return what git says in a folder, as its owner's own git."""
    own = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@example.org", *argv]
    ran = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return ran.stdout


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file and folder below by its path: permission bits, and the contents of files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0
        found[str(path.relative_to(folder))] = (mode, path.read_bytes() if path.is_file() else b"")
    return found


def test_a_copied_git_repository_is_one(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    for path, text in {".env": "A=1", "what?.txt": "?", "what.txt": "plain", 'a "b" <c>: d*|e\\f': "odd"}.items():
        laptop.write(f"proj/{path}", text)
    laptop.write("proj/run.sh", "#!/bin/sh\n").chmod(0o755)
    laptop.write("proj/secret", "mine").chmod(0o600)
    (laptop.folder / "proj/empty/inner").mkdir(parents=True)
    git(laptop.folder / "proj", "init", "-q")
    git(laptop.folder / "proj", "add", "-A")
    git(laptop.folder / "proj", "commit", "-qm", "one")
    laptop.write("proj/run.sh", "#!/bin/sh\necho changed\n").chmod(0o755)
    before, after = laptop.folder / "proj", server.folder / "proj"
    # Git's own list of what it looked at is written again when it is asked.
    state = git(before, "status", "--porcelain")
    words = "copy proj from laptop to server"
    answer = fleet.submit(words)
    assert answer.state == "succeeded", answer.told()
    assert tree(after) == tree(before)
    assert answer.value("Not as it was") == "Every file has its name, mode and time."
    assert answer.value("Outcome") == "Every file that differed was copied and read back."
    again = fleet.submit(words)
    assert again.value("Outcome") == "Nothing had to be copied. No file differs."
    assert (again.state, again.rows("Copied")) == ("succeeded", []), again.told()
    assert again.value("Already there") == len([path for path in before.rglob("*") if path.is_file()])
    assert not set(server.started(again)) - {"folders"}
    (before / "what.txt").chmod(0o755)
    third = fleet.submit(words)
    assert [row["path"] for row in third.rows("Copied")] == ["proj/what.txt"]
    assert tree(after) == tree(before)
    assert state == " M run.sh\n"
    assert git(after, "status", "--porcelain") == git(before, "status", "--porcelain") == " M run.sh\n M what.txt\n"


def test_what_is_not_copied_as_it_was_is_told(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("docs/a.txt", "new")
    server.write("docs/a.txt", "old")
    (laptop.folder / "docs/link").symlink_to("a.txt")
    answer = fleet.submit("copy docs from laptop to server")
    assert answer.state == "succeeded", answer.told()
    beside = "1 of them beside a file of that name with other contents"
    assert answer.sentence.startswith(f"1 file copied to server and read back, {beside}, 1 path left out.")
    assert answer.value("Not as it was") == "docs/a.txt: another file has its name"
    assert answer.rows("Stored otherwise")[0]["path"] == "docs/a (2).txt"
    assert answer.value("Left out") == "docs/link: a link is not copied"
    again = fleet.submit("copy docs from laptop to server")
    assert (again.rows("Copied"), again.value("Already there")) == ([], 1), again.told()


def test_a_report_over_files_of_equal_names_is_right(fleet: Fleet) -> None:
    for name, euros in {"laptop": "100", "server": "20", "phone": "3"}.items():
        fleet.device(name).write("sales/2026-09.csv", euros)
    send = {"id": "send", "for_each": {"devices": {"tools": ["artifact.put"]}}, "tool": "artifact.put"}
    named = {"paths": ["sales/2026-09.csv"], "device_name": {"each": "/name"}}
    code = (
        "import json, pathlib\n"
        "found = {path.name: int(path.read_text()) for path in sorted(pathlib.Path().glob('*.csv'))}\n"
        "json.dump({'files': list(found), 'sum': sum(found.values())}, open('result.json', 'w'))"
    )
    report = {
        "id": "report",
        "tool": "python.run",
        "device": {"name": "laptop"},
        "inputs": {"files": {"from": "send", "output": "/files", "all": True, "flatten": True}},
        "args": {"code": code},
    }

    def asked(args: dict[str, Any]) -> Running:
        result = [{"title": "Report", "from": "report", "output": "/value", "show": "value"}]
        tasks = [{**send, "args": args}, report]
        plan = {"starloom": 1, "name": "Sales", "tasks": tasks, "result": result, "policy": {"approval": "never"}}
        return Running(fleet, str(fleet.client.create("/constellations", {"plan": plan})["id"]), {}).wait()

    answer = asked(named)
    assert answer.state == "succeeded", answer.told()
    names = [f"{name} - 2026-09.csv" for name in ("laptop", "phone", "server")]
    assert answer.value("Report") == {"files": names, "sum": 123}
    unnamed = asked({"paths": ["sales/2026-09.csv"]})
    assert unnamed.state == "failed"
    assert "2026-09.csv" in unnamed.told()


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


def test_photo_backup_keeps_the_names_that_cameras_repeat(fleet: Fleet) -> None:
    phone, server = fleet.device("phone"), fleet.device("server")
    for year, seed in {"2024": 1, "2025": 2}.items():
        phone.write(f"Pictures/{year}/IMG_0001.png", encode(speckled(seed)))
    server.write("Pictures/2025/IMG_0001.png", encode(speckled(3)))
    wanted = {**server.files("Pictures"), "2024/IMG_0001.png": encode(speckled(1))}
    for _ in range(2):
        answer = fleet.run("photo-backup", {"source": "phone", "target": "server", "names": "path"})
        assert answer.state == "succeeded", answer.told()
        assert server.files("Pictures") == {**wanted, "2025/IMG_0001 (2).png": encode(speckled(2))}


def test_photo_backup_names_pictures_that_are_empty_or_broken(fleet: Fleet) -> None:
    pictures = {f"{number}.png": encode(speckled(number)) for number in (1, 2)}
    broken = {"empty.jpg": b"", "words.png": b"no picture", "cut.png": pictures["1.png"][:-30]}
    phone = fleet.device("phone")
    for name, data in {**pictures, **broken}.items():
        phone.write(f"Pictures/{name}", data)
    answer = fleet.run("photo-backup", {"source": "phone", "target": "server"})
    assert answer.state == "succeeded", answer.told()
    total = len(pictures) + 3
    assert sorted(fleet.device("server").files("Pictures").values()) == sorted([*pictures.values(), *broken.values()])
    assert {row["name"]: row["why"] for row in answer.rows("Empty or broken")} == {
        "empty.jpg": "it is empty",
        "words.png": "it does not begin like a picture",
        "cut.png": "the PNG is cut off",
    }
    outcome = answer.value("Outcome")
    assert outcome.startswith(f"3 of {total} are empty or cannot be opened as pictures: '"), outcome
    assert outcome.endswith("Your other pictures are safe"), outcome
    assert f"{total} pictures on server, read back and equal, of which 3 are empty or broken" in answer.sentence


def test_photo_backup_of_a_server_has_no_failed_task(fleet: Fleet) -> None:
    fleet.device("server").write("Pictures/a.png", encode(speckled(1)))
    answer = fleet.run("photo-backup", {"source": "server", "target": "laptop"})
    assert answer.state == "succeeded", answer.told()
    assert answer.task("tell").state == "succeeded", answer.told()
    assert "notice" not in answer.sentence


def test_a_photo_backup_that_was_undone_calls_no_picture_safe(fleet: Fleet) -> None:
    phone, server = fleet.device("phone"), fleet.device("server")
    phone.write("Pictures/a.png", encode(speckled(1)))
    answer = fleet.run("photo-backup", {"source": "phone", "target": "server"})
    assert answer.value("Outcome").startswith("Your pictures are safe")
    fleet.cli("undo", answer.id)
    assert answer.wait().state == "succeeded", answer.told()
    assert not [path for path in server.files("Pictures") if path.endswith(".png")]
    assert answer.sentence.startswith("Photo backup was done and then taken back: copy")
    told = answer.view.answer
    assert told is not None
    shown = {item.title: item.show for item in told.items}
    assert (shown.get("Outcome"), shown["Outcome, before it was undone"]) == (None, "value")
    assert "text" not in shown.values()


def test_a_backup_of_a_folder_and_of_one_below_it_both_succeed(fleet: Fleet) -> None:
    phone, server = fleet.device("phone"), fleet.device("server")
    for path, seed in {"June/a.png": 1, "June/b.png": 2, "July/c.png": 3}.items():
        phone.write(f"Pictures/{path}", encode(speckled(seed)))
    first = fleet.run("photo-backup", {"source": "phone", "target": "server", "folder": "Pictures/June"})
    assert first.state == "succeeded", first.told()
    answer = fleet.run("photo-backup", {"source": "phone", "target": "server"})
    assert answer.state == "succeeded", answer.told()
    said = "3 pictures on server, read back and equal; the folder holds 2 extra copies of them."
    assert answer.sentence.startswith(said)
    kept = {path for path in server.files("Pictures") if "/" not in path}
    assert len(kept) == 3


def test_the_newest_files_alone_are_collected_in_english_and_german(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    for number in range(1, 5):
        os.utime(laptop.write(f"Scans/{number}.pdf", f"page {number}"), (1000, 1000 * number))
    os.utime(laptop.write("Scans/later.txt", "no scan"), (9000, 9000))
    newest = {"laptop - 3.pdf": b"page 3", "laptop - 4.pdf": b"page 4"}
    answer = fleet.submit("collect the newest 2 PDFs from the laptop on the server")
    assert (answer.state, server.files("Collected")) == ("succeeded", newest), answer.told()
    answer = fleet.submit("hol die neuesten drei PDFs vom Laptop auf den Server")
    assert server.files("Collected") == newest | {"laptop - 2.pdf": b"page 2"}, answer.told()


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
    assert answer.sentence.startswith(
        "2 files together on server, each read back and equal. 1 device has no folder 'Downloads': server."
    ), answer.sentence
    again = fleet.submit(words)
    assert (again.state, server.files("Collected")) == ("succeeded", collected), again.told()
    nowhere = fleet.submit("collect all PDFs from Dwnloads everywhere on the server")
    said = "No such file was found, and 3 devices have no folder 'Dwnloads': '"
    assert nowhere.sentence.startswith(said), nowhere.sentence
    assert {name for name in ("laptop", "server", "phone") if name in nowhere.sentence} == {"laptop", "server", "phone"}
