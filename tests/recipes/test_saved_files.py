"""A file that a program in the sandbox makes and its task saves: on real agents, its undo brings the old one back."""

from __future__ import annotations

from typing import Any

from starloom_protocol.vocabulary import ConstellationState
from tests.recipes.fleet import Fleet, Running

CODE = 'open("out/sizes.csv", "w").write("name,bytes\\n")'
OLD, NEW = "of last week\n", "name,bytes\n"


def _saving(fleet: Fleet, *places: str, tool: str = "python.run", **args: Any) -> Running:
    task = {"id": "sizes", "tool": tool, "device": {"name": "laptop"}, "args": args or {"code": CODE}}
    saved = [{"output": "/files/0", "to": place} for place in places]
    plan = {"starloom": 1, "name": "Sizes", "tasks": [{**task, "files_out": saved}]}
    made = fleet.client.create("/constellations", {"plan": plan})
    answer = Running(fleet, str(made["id"]), {}).wait()
    assert answer.state == ConstellationState.SUCCEEDED, answer.told()
    return answer


def _told(fleet: Fleet, answer: Running) -> str:
    return " ".join(fleet.cli("undo", answer.id, "--wait").split())


def test_a_saved_file_that_replaced_another_is_named_and_taken_back(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    laptop.write("Reports/sizes.csv", OLD)
    answer = _saving(fleet, "Reports/sizes.csv", "new/")
    assert laptop.read("Reports/sizes.csv") == laptop.read("new/sizes.csv") == NEW
    assert "The file that was at 'Reports/sizes.csv' on laptop lies in its trash." in answer.sentence
    deeds = fleet.cli("activity", "--device", "laptop")
    assert "Reports/sizes.csv" in deeds
    assert "new/sizes.csv" in deeds
    told = _told(fleet, answer)
    assert "Sizes was done and then taken back: sizes." in told, told
    assert "1 file came back to 'Reports'" in told, told
    assert laptop.read("Reports/sizes.csv") == OLD
    assert not (laptop.folder / "new").exists()


def test_a_saved_file_goes_through_a_link_of_the_folder_and_back(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    real = laptop.write("archive/2026.csv", OLD)
    link = laptop.folder / "latest.csv"
    link.symlink_to("archive/2026.csv")
    answer = _saving(fleet, "latest.csv")
    assert (real.read_text(), link.is_symlink()) == (NEW, True)
    assert "/archive/2026.csv' on laptop lies in its trash." in answer.sentence
    _told(fleet, answer)
    assert (real.read_text(), link.is_symlink()) == (OLD, True)


def test_a_saved_file_that_somebody_changed_stays(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    laptop.write("sizes.csv", OLD)
    answer = _saving(fleet, "sizes.csv")
    laptop.write("sizes.csv", "mine")
    fleet.cli("undo", answer.id)
    assert "sizes.csv was changed since it was written" in answer.wait().sentence, answer.told()
    assert "Not taken back: sizes (1 file)." in answer.sentence
    assert laptop.read("sizes.csv") == "mine"
    (laptop.folder / "sizes.csv").rename(laptop.folder / "mine.csv")
    assert "Sizes was done and then taken back: sizes." in _told(fleet, answer)
    assert (laptop.read("sizes.csv"), laptop.read("mine.csv")) == (OLD, "mine")
