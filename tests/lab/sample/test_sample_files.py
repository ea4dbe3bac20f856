"""The sample's next start: its own files go or are replaced, and every other file stays."""

from __future__ import annotations

from pathlib import Path

from starloom.lab.sample import sample_files
from starloom.lab.sample.facts import Places
from starloom_agent.toolkit.pictures.demo_pictures import paths


def a_run(home: Path, content: str) -> Places:
    """Do with the files what one run of the sample does."""
    places = Places(home)
    sample_files.prepare(places)
    for name in paths():
        put(places.pictures / name, f"{content} {name}")
    sample_files.note_pictures(places)
    put(places.server / "Pictures" / "abc.png", f"{content} {paths()[0]}")
    for sheet in places.sheets:
        put(sheet, f"{content} {sheet.name}")
    sample_files.note_sheets(places)
    return places


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_files_of_a_person_stay_at_the_next_start(tmp_path: Path) -> None:
    places = a_run(tmp_path, "first")
    own = [
        places.desktop / "Keepsakes" / "diary.txt",
        places.desktop / "Pictures" / "holiday.png",
        places.server / "Zips" / "keepsakes.tar.gz",
        places.server / "Pictures" / "mine.png",
        places.phone / "note.txt",
    ]
    for file in own:
        put(file, f"own {file.name}")
    a_run(tmp_path, "second")
    assert [file.read_text() for file in own] == [f"own {file.name}" for file in own]


def test_copies_of_the_last_pictures_go(tmp_path: Path) -> None:
    places = a_run(tmp_path, "first")
    sample_files.prepare(places)
    assert list((places.server / "Pictures").iterdir()) == []


def test_copies_go_without_the_list_of_what_was_made(tmp_path: Path) -> None:
    places = a_run(tmp_path, "first")
    places.made.unlink()
    put(places.server / "mine.txt", "own")
    sample_files.prepare(places)
    assert [path.name for path in places.server.rglob("*") if path.is_file()] == ["mine.txt"]


def test_own_sheets_are_replaced_without_a_trace(tmp_path: Path) -> None:
    a_run(tmp_path, "first")
    places = a_run(tmp_path, "second")
    assert sorted(path.name for path in (places.desktop / "Pictures").iterdir()) == ["catalogue.csv", "index.html"]


def test_a_changed_file_in_a_place_of_the_sample_is_kept_under_another_name(tmp_path: Path) -> None:
    places = a_run(tmp_path, "first")
    sheet, _ = places.sheets
    picture = places.pictures / paths()[0]
    for file in (sheet, picture):
        put(file, "changed by a person")
    a_run(tmp_path, "second")
    assert sheet.with_name("index (kept 1).html").read_text() == "changed by a person"
    assert picture.with_name("coast-1 (kept 1).png").read_text() == "changed by a person"
    assert sheet.read_text() == "second index.html"


def test_this_computers_folder_is_no_demo_folder(tmp_path: Path) -> None:
    assert "demo" not in Places(tmp_path).desktop.relative_to(tmp_path).parts


def test_a_folder_that_was_granted_before_keeps_its_files(tmp_path: Path) -> None:
    put(tmp_path / "demo" / "desktop" / "note.txt", "do not lose me")
    places = a_run(tmp_path, "first")
    assert places.desktop == tmp_path / "demo" / "desktop"
    assert (places.desktop / "note.txt").read_text() == "do not lose me"
