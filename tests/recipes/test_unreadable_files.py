"""Files that a device's user may not read, or that are written to: the rest is done, and each is named."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from starloom_agent.toolkit.pictures.png import encode
from tests.planner.drawing import speckled
from tests.recipes.fleet import Fleet


@pytest.fixture
def guarded(fleet: Fleet) -> Fleet:
    """The laptop has two equal pictures and one that nobody may read; the server has one of them."""
    laptop = fleet.device("laptop")
    for name in ("a.png", "twin.png", "secret.png"):
        laptop.write(f"Pictures/{name}", encode(speckled(1)))
    (laptop.folder / "Pictures/secret.png").chmod(0)
    fleet.device("server").write("Shelf/a.png", encode(speckled(1)))
    return fleet


@pytest.mark.parametrize(
    ("words", "title", "says"),
    [
        (
            "copy Pictures from laptop to server",
            "Not copied",
            "2 files copied to server and read back, 1 path left out.",
        ),
        ("copy Pictures from laptop to the others", "Not copied", ", 1 path left out."),
        ("make a contact sheet of Pictures on laptop", "Left out", ", 2 with a preview; 1 path left out."),
        ("back up the pictures of laptop to server", "Left out", "1 picture on server, read back and equal; left out"),
        ("collect all pictures of laptop on server", "Not collected", "; 1 entry left out."),
        ("compare Pictures on laptop with Shelf on server", "Not looked at", "1 path not looked at."),
        (
            "which files do I have twice on laptop",
            "Not looked at",
            "1 file is there more than once; 1 entry not looked",
        ),
        ("make the pictures in Pictures on laptop smaller", "Not looked at", "; 1 path left out"),
    ],
)
def test_a_file_that_may_not_be_read_holds_up_no_other(guarded: Fleet, words: str, title: str, says: str) -> None:
    answer = guarded.submit(words)
    assert answer.state == "succeeded", answer.told()
    assert says in answer.sentence, answer.sentence
    named = str(answer.value(title))
    assert "Pictures/secret.png" in named
    assert "it cannot be read: Permission denied" in named
    assert "twin.png" not in named


@pytest.mark.parametrize("words", ["back up Pictures of laptop to server", "back up the pictures of laptop to server"])
def test_a_backup_that_left_a_file_out_raises_an_alarm(guarded: Fleet, words: str) -> None:
    answer = guarded.submit(words)
    assert (answer.state, answer.is_alarm, "left out on laptop" in answer.sentence) == ("succeeded", True, True)


def test_a_copy_beside_one_that_may_not_be_read_gets_a_number(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("results/a.txt", "one")
    server.write("results/a.txt", "two").chmod(0)
    answer = fleet.submit("copy results from laptop to server")
    assert answer.state == "succeeded", answer.told()
    assert server.read("results/a (2).txt") == "one"


@pytest.mark.parametrize("words", ["back up the pictures of laptop to server", "collect all pictures on server"])
def test_a_picture_that_grows_is_named_and_the_others_arrive(fleet: Fleet, words: str) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("Pictures/a.png", encode(speckled(1)))
    growing, ended = laptop.write("Pictures/b.png", encode(speckled(2))), threading.Event()

    def grow() -> None:
        while not ended.wait(0.001):
            with growing.open("ab") as file:
                file.write(b"more")

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        answer = fleet.submit(words)
    finally:
        ended.set()
        writer.join()
    assert answer.state == "succeeded", answer.told()
    assert encode(speckled(1)) in server.files().values()
    left: list[dict[str, Any]] = answer.rows("Left out" if "back up" in words else "Not collected")
    assert [row["path"] for row in left] == ["Pictures/b.png"]
    assert left[0]["why"] == "it changed while it was sent; send it again when nothing writes it"


def test_files_that_are_there_already_are_told_with_their_folder(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("results/a.txt", "one")
    here = server.write("results/a.txt", "one").parent
    answer = fleet.submit("copy results from laptop to server")
    assert answer.sentence.startswith(f"Nothing had to be copied: 1 file on server already, in '{here}'.")
    assert "Its files are in" not in answer.sentence, answer.sentence


def test_files_are_collected_into_a_whole_folder_of_the_target(fleet: Fleet) -> None:
    laptop, server = fleet.device("laptop"), fleet.device("server")
    laptop.write("Downloads/a.pdf", "one")
    into = server.folder / "Shelf"
    answer = fleet.run("collect-files", {"what": "PDFs", "where": "laptop", "target": "server", "into": str(into)})
    assert answer.state == "succeeded", answer.told()
    assert server.files("Shelf") == {"laptop - a.pdf": b"one"}
    assert f"Its files are in '{into}' on server." in answer.sentence, answer.sentence
