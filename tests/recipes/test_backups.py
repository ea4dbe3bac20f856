"""`backup-folder` and `restore-drill`: copies proven on two devices, a restore that says what does not come back."""

from __future__ import annotations

import gzip
import io
import tarfile

from tests.recipes.fleet import Fleet

BACKUP = "back up Papers of the laptop to the server and the phone, keep 2"


def _archive_of(text: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        head = tarfile.TarInfo("a.txt")
        head.size = len(text)
        archive.addfile(head, io.BytesIO(text.encode()))
    return gzip.compress(out.getvalue(), mtime=0)


def test_a_backup_lies_on_two_devices_read_back_and_rotated(fleet: Fleet) -> None:
    laptop, server, phone = fleet.device("laptop"), fleet.device("server"), fleet.device("phone")
    laptop.write("Papers/tax.txt", "a letter")
    laptop.write("Papers/2026/invoice.txt", "an invoice")
    assert fleet.submit(BACKUP).state == "succeeded"
    (first,) = server.files("Backups")
    for device in (server, phone):
        (device.folder / "Backups" / first).unlink()
    series = first.rpartition("-")[0]
    old = [f"{series}-2025010{day}T000000Z.tar.gz" for day in (1, 2, 3)]
    for name in old:
        server.write(f"Backups/{name}", _archive_of(name))
    server.write("Backups/laptop-Music-20250101T000000Z.tar.gz", "of another folder")
    answer = fleet.submit(BACKUP)
    assert answer.state == "succeeded", answer.told()
    (new,) = {path for path in server.files("Backups") if path.startswith(f"{series}-2026")}
    assert set(phone.files("Backups")) == {new}
    assert phone.files("Backups")[new] == server.files("Backups")[new]
    copies = answer.rows("Copies, read back")
    assert [(row["device"], row["files"], row["ok"]) for row in copies] == [("phone", 2, True), ("server", 2, True)]
    kept = {row["archive"]: row["state"] for row in answer.rows("What is kept") if row["device"] == "server"}
    assert kept == {new: "new", old[2]: "kept", old[1]: "in the trash", old[0]: "in the trash"}
    listed = set(server.files("Backups"))
    assert listed == {new, old[2], "laptop-Music-20250101T000000Z.tar.gz"}
    trashed = {path.rpartition("/")[2] for path in server.files() if path.startswith(".starloom-trash/")}
    assert trashed >= {old[0], old[1]}
    assert all(count == 1 for count in server.started(answer).values())


def test_a_copy_that_is_damaged_on_the_way_to_the_disk_rotates_nothing(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("Papers/tax.txt", "a letter")
    first = fleet.submit("back up Papers of the laptop to the server, keep 1")
    assert first.state == "succeeded", first.told()
    (name,) = server.files("Backups")
    server.write(f"Backups/{name}", b"damaged" + server.files("Backups")[name][7:])
    drill = fleet.submit("prove that the backup on the server can be restored on the phone")
    assert drill.state in ("failed", "partial"), drill.told()
    assert "unpack" in drill.sentence
    assert "cannot be read as an archive" in drill.sentence


def test_a_restore_is_proven_file_by_file_and_leaves_nothing(fleet: Fleet) -> None:
    laptop, phone = fleet.device("laptop"), fleet.device("phone")
    laptop.write("Papers/tax.txt", "a letter")
    laptop.write("Papers/2026/invoice.txt", "an invoice")
    assert fleet.submit(BACKUP).state == "succeeded"
    answer = fleet.submit("prove that the backup on the server can be restored on the phone")
    assert answer.state == "succeeded", answer.told()
    assert [(row["name"], row["same"]) for row in answer.rows("Files")] == [
        ("2026/invoice.txt", True),
        ("tax.txt", True),
    ]
    (backup,) = answer.rows("Backup")
    assert (backup["files"], backup["missing"], backup["left_out"]) == (2, 0, 0)
    assert backup["name"] in answer.sentence
    assert not [path for path in phone.files() if path.startswith("Restore drill")]
    assert "tidy" in phone.started(answer)


def test_the_backup_that_is_named_is_proven_before_a_newer_one(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    for folder in ("Work/Papers", "Zoo/Papers"):
        laptop.write(f"{folder}/tax.txt", folder)
        assert fleet.submit(BACKUP.replace("Papers", folder)).state == "succeeded"
    answer = fleet.submit("prove that the backup of Work Papers on the server can be restored on the phone")
    assert answer.state == "succeeded", answer.told()
    assert "Work-Papers" in answer.sentence


def test_without_a_backup_the_drill_says_so(fleet: Fleet) -> None:
    answer = fleet.submit("prove that the backup on the server can be restored on the phone")
    assert answer.state == "failed", answer.told()
    assert "Backups is not a folder on this device" in answer.sentence


def test_a_night_without_the_files_pushes_out_no_backup(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    letter = laptop.write("Papers/tax.txt", "a letter")
    assert fleet.submit("back up Papers of the laptop to the server, keep 1").state == "succeeded"
    (first,) = server.files("Backups")
    letter.unlink()
    answer = fleet.submit("back up Papers of the laptop to the server, keep 1")
    assert answer.state == "failed", answer.told()
    assert "The folder has no file that can be read" in answer.told()
    assert first in server.files("Backups")
