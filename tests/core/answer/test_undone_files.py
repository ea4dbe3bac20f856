"""The answer after an undo: how many files went where on which device, and what could not be taken back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Answer, FileOut, Policy, ResultSpec, UndoCall
from starloom_protocol.vocabulary import Attention, Code, Outcome
from starloom_protocol.wire.frames import ResultFrame
from tests.builders import TOOLS, Driver, edge, plan, task

TRASH = UndoCall(tool="fs.trash", outputs={"paths": "/added"})
MOVING = ("fs.trash", "fs.restore")
RESTORE = UndoCall(tool="fs.restore", outputs={"tickets": "/tickets"})


def undone(driver: Driver, given: dict[str, Any], reported: dict[str, Any]) -> str:
    """Run the plan, undo all of it, and return the answer's sentence; a code in `reported` is a failure."""
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.result(dispatch, given.get(dispatch.at.task))
    driver.do(i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", reason="", tasks=[]))
    while dispatches := driver.take():
        for dispatch in dispatches:
            value = reported[dispatch.at.task]
            if isinstance(value, Code):
                driver.result(dispatch, outcome=Outcome.ERROR, code=value, detail="a.txt was changed since")
            else:
                driver.result(dispatch, value)
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, Answer)
    driver.folded_equals_state()
    return answer.sentence


def world() -> Driver:
    driver = Driver()
    tools = [*TOOLS, *(msgspec.structs.replace(TOOLS[2], name=name) for name in MOVING)]
    driver.add_device("one", tools=tools, grants=["files:write"])
    return driver


def test_it_counts_the_files_of_an_undo_with_their_folder_and_device() -> None:
    driver = world()
    driver.submit(plan(task("copy", tool="t.never", undo=TRASH)))
    names = ["backup/2024/a.jpg", "backup/2024/b.jpg", "backup/2025/c.jpg"]
    said = undone(
        driver,
        {"copy": {"added": [{"path": name} for name in [*names, "backup/gone.jpg"]]}},
        {
            "undo-copy": {
                "count": 3,
                "items": [{"path": name, "ticket": "t"} for name in names],
                "missing": ["backup/gone.jpg"],
                "restored": ["backup/2024/a.jpg"],
                "tickets": ["t", "t", "t"],
            }
        },
    )
    assert said.startswith("test was done and then taken back: copy.")
    assert (
        "On one 3 files went from 'backup' to the trash, 1 file came back to 'backup/2024' "
        "and 1 was not there any more." in said
    )


def test_it_tells_empty_folders_from_files_and_names_a_folder_that_stays() -> None:
    driver = world()
    driver.submit(plan(task("copy", tool="t.never", undo=TRASH)))
    made = [{"path": name, "folder": True, "on_way": True} for name in ("Docs", "Docs/sub")]
    said = undone(
        driver,
        {"copy": {"added": [*made, {"path": "Docs/sub/x.txt", "wrote": "0"}]}},
        {
            "undo-copy": {
                "count": 2,
                "items": [
                    {"path": "Docs/sub", "ticket": "t", "folder": True},
                    {"path": "Docs/sub/x.txt", "ticket": "u"},
                ],
                "left_out": [{"path": "Docs", "why": "it holds theirs"}],
                "missing": [],
                "restored": [],
                "tickets": ["t", "u"],
            }
        },
    )
    assert (
        "On one 1 file went from 'Docs/sub' to the trash, 1 empty folder went there too "
        "and 'Docs' stays, since it holds other files." in said
    )


def test_it_counts_the_files_that_came_with_a_folder() -> None:
    driver = world()
    driver.submit(plan(task("unpack", tool="t.never", undo=TRASH)))
    made = {"path": "out/photos", "folder": True, "holds": "0", "files": 11}
    item = {"path": "out/photos", "ticket": "t", "folder": True, "files": 11}
    trashed = {"count": 1, "items": [item], "left_out": [], "missing": [], "restored": [], "tickets": ["t"]}
    said = undone(driver, {"unpack": {"added": [made]}}, {"undo-unpack": trashed})
    assert "On one 11 files went from 'out/photos' to the trash." in said
    assert "empty" not in said


def test_it_says_to_which_folder_files_came_back() -> None:
    driver = world()
    driver.submit(plan(task("tidy", tool="t.never", undo=RESTORE)))
    items = [{"path": f"/home/ann/notes/{name}", "ticket": name, "moved": name != "c"} for name in "abc"]
    said = undone(driver, {"tidy": {"tickets": ["a", "b", "c"]}}, {"undo-tidy": {"items": items, "count": 3}})
    assert "On one 2 files came back to '/home/ann/notes' and 1 had come back before." in said


def test_it_counts_the_files_that_could_not_be_taken_back() -> None:
    """Those that the plan says how to take back, and those of which the tool does."""
    driver = world()
    out = [FileOut(output="/x", to="c.txt")]
    driver.submit(
        plan(task("first", tool="t.never", undo=TRASH), task("next", files_out=out, tool="t.never"), edge("first>next"))
    )
    added = {"added": [{"path": "a.txt"}, {"path": "b.txt"}]}
    said = undone(driver, {"first": added, "next": {"added": [{"path": "c.txt"}]}}, {"undo-next": Code.CONFLICT})
    assert "Not taken back: next (1 file), first (2 files)." in said
    assert "a.txt was changed since" in said
    assert said.startswith("test was not taken back: its undo failed.")


@pytest.mark.parametrize(("changed", "state"), [("first", "partial"), ("next", "failed")])
def test_an_undo_that_one_changed_file_stops_is_done_in_part(changed: str, state: str) -> None:
    """The undo of the last work is made first, and nothing behind one that failed is tried."""
    driver = world()
    tasks = [task(name, tool="t.never", undo=TRASH) for name in ("first", "next")]
    driver.submit(plan(*tasks, edge("first>next")))
    trashed = {"items": [{"path": "b.txt", "ticket": "t"}], "count": 1, "tickets": ["t"]}
    ends = {"undo-next": trashed, "undo-first": trashed} | {f"undo-{changed}": Code.CONFLICT}
    done = {"first": {"added": [{"path": "a.txt"}]}, "next": {"added": [{"path": "b.txt"}]}}
    said = undone(driver, done, ends)
    head = driver.shard.constellations["c1"].head
    assert (head.state, head.attention) == (state, [Attention.UNDO_FAILED])
    assert ("test was only in part taken back" in said, "test was not taken back" in said) == (
        state == "partial",
        state == "failed",
    )
    assert "a.txt was changed since" in said
    assert "Not taken back: " in said


@pytest.mark.parametrize(
    ("partial", "opening"),
    [
        (False, "test failed and was then taken back: copy."),
        (True, "test was done in part and then taken back: copy."),
    ],
)
def test_a_run_that_failed_by_itself_says_that_its_undo_did_not_fail(partial: bool, opening: str) -> None:
    driver = world()
    tasks = task("copy", tool="t.never", undo=TRASH), task("check", tool="t.never")
    driver.submit(plan(*tasks, policy=Policy(partial=partial)))
    copy, check = sorted(driver.take(), key=lambda dispatch: dispatch.at.task == "check")
    driver.result(copy, {"added": [{"path": "Docs/a.txt"}]})
    driver.result(check, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="the site is down")
    items = [{"path": "Docs/a.txt", "ticket": "t"}]
    said = undone(driver, {}, {"undo-copy": {"count": 1, "items": items, "tickets": ["t"]}})
    assert said.startswith(opening)
    assert "its undo failed" not in said
    assert "On one 1 file went from 'Docs' to the trash" in said
    assert "the site is down" in said
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, Answer)
    assert [item.title for item in answer.items] == ["copy, before it was undone"]


def test_no_text_of_the_run_opens_an_answer_whose_undo_failed() -> None:
    driver = world()
    shown = ResultSpec(show="text", source="copy", title="Outcome")
    driver.submit(plan(task("copy", tool="t.never", undo=TRASH), results=[shown]))
    undone(driver, {"copy": {"added": [{"path": "a.txt"}]}}, {"undo-copy": Code.CONFLICT})
    (item,) = driver.shard.constellations["c1"].tables["answer"][""].items
    assert item.show == "value"


def test_an_undo_of_another_kind_tells_no_files() -> None:
    driver = world()
    driver.submit(plan(task("send", tool="t.never", undo=UndoCall(tool="fs.restore", args='{"tickets":["x"]}'))))
    said = undone(driver, {"send": {}}, {"undo-send": {"anything": 1}})
    assert said == "test was done and then taken back: send."


def test_a_report_too_large_to_be_brought_is_counted() -> None:
    driver = world()
    made = task("copy", tool="t.never", args='{"under":"Backup"}', undo=TRASH)
    driver.submit(plan(made))
    driver.result(driver.take()[0], {"added": [{"path": "x"}]})
    driver.do(i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", reason="", tasks=[]))
    (dispatch,) = driver.take()
    assert {"/count", "/missing"} <= set(dispatch.wants)
    frame = ResultFrame(
        artifact="0" * 64,
        at=dispatch.at,
        bytes=40_000,
        facts={"/count": "312", "/missing": "[]"},
        outcome=Outcome.OK,
        report=1,
    )
    driver.do(i.ResultReported(id=driver.ident(), by="device:d-one", device="d-one", frame=frame))
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, Answer)
    assert "On one 312 files went from 'Backup' to the trash." in answer.sentence


def test_folders_of_windows_have_their_marks() -> None:
    driver = world()
    driver.submit(plan(task("copy", tool="t.never", undo=TRASH)))
    items = [{"path": f"C:\\Users\\ann\\Backup\\{name}", "ticket": "t"} for name in ("a\\1.jpg", "ab\\2.jpg")]
    said = undone(driver, {"copy": {"added": [{"path": "x"}]}}, {"undo-copy": {"items": items, "count": 2}})
    assert "On one 2 files went from 'C:\\Users\\ann\\Backup' to the trash." in said


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"items": [{"path": "a.txt"}], "count": 1}, "'a.txt' went to the trash on one."),
        ({"items": [{"path": one} for one in "dcba"]}, "4 files went to the trash on one: 'a', 'b', 'c'"),
        ({"items": [{"path": "b"}, {"path": "old", "folder": True, "files": 7}]}, "8 files went to the trash on one: "),
        ({"items": [{"path": "old", "folder": True}]}, "'old/' went to the trash on one."),
        ({"items": [], "count": 0, "missing": ["a.txt"]}, ""),
    ],
)
def test_the_answer_of_a_trash_names_its_files(value: dict[str, Any], words: str) -> None:
    """Its undo named them, and the answer itself said no more than the number of tasks."""
    driver = world()
    driver.submit(plan(task("away", tool="fs.trash")))
    for dispatch in driver.take():
        driver.result(dispatch, value)
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, Answer)
    assert words in answer.sentence
    assert ("to the trash" in answer.sentence) == bool(words)
